#include "machine/cuda_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/version.hpp"

namespace tessera::inline v1::machine {
namespace {

constexpr const char* entry_name = "tessera_cuda_library";
constexpr const char* file_name = "libtessera_cuda.so";

/// Returns the file in the libraries' folder of the prefix that the running program is in; "" if
/// the system does not tell which.
std::string in_prefix_of_program() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  return program.parent_path().parent_path() / TESSERA_LIBRARIES / file_name;
}

/// Returns dlopen()'s handle; nullptr with the reason in `why`.
void* open_library(std::string& why) {
  const char* const named = std::getenv("TESSERA_CUDA_LIBRARY");
  if (named != nullptr) {
    void* const file = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (file == nullptr) why = dlerror();
    return file;
  }
  const std::array<std::string, 3> names{file_name, in_prefix_of_program(),
                                         std::string(TESSERA_INSTALLED_LIBRARIES "/") + file_name};
  for (const std::string& name : names) {
    if (void* const file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return file;
    if (why.empty()) why = dlerror();
  }
  return nullptr;
}

FoundLibrary load() {
  if (tessera_cuda_library != nullptr) return {tessera_cuda_library(), {}};
  if (!built_with_cuda())
    return {nullptr, "this build has no CUDA (nvcc was not found, or -DTESSERA_CUDA=OFF)"};
  std::string why;
  void* const file = open_library(why);
  if (file == nullptr) return {nullptr, why};
  using Entry = const CudaLibrary*();
  auto* const entry = reinterpret_cast<Entry*>(dlsym(file, entry_name));
  if (entry == nullptr) return {nullptr, dlerror()};
  const CudaLibrary* const library = entry();
  if (std::strcmp(library->build, interface_build()) != 0) {
    return {nullptr, std::string("libtessera_cuda.so is of ") + library->build +
                         ", this program of " + interface_build()};
  }
  library->adopt(shared_state());
  return {library, {}};
}

}  // namespace

const FoundLibrary& find_cuda_library() {
  static const FoundLibrary found = load();
  return found;
}

const char* interface_build() { return "version " TESSERA_VERSION ", compiler " __VERSION__; }

}  // namespace tessera::inline v1::machine
