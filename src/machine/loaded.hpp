#pragma once
// Functions of libraries that are loaded at run time.

#include <dlfcn.h>

#include <string>

namespace tessera::inline v1::machine {

/// Sets `function` to the library's function of that name; to nullptr if it has none, which
/// `missing` then says unless it already names another reason.
template <class Function>
void find_function(void* library, const char* name, Function& function, std::string& missing) {
  void* const symbol = dlsym(library, name);
  function = reinterpret_cast<Function>(symbol);
  if (symbol == nullptr && missing.empty()) missing = std::string("the library has no ") + name;
}

}  // namespace tessera::inline v1::machine
