#include "base/directory.hpp"

#include <dirent.h>

#include <memory>

namespace tessera::inline v1 {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const auto close = [](DIR* at) { closedir(at); };
  const std::unique_ptr<DIR, decltype(close)> open(opendir(directory.c_str()), close);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace tessera::inline v1
