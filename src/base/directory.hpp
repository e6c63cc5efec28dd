#pragma once
#include <string>
#include <vector>

namespace tessera {

/// The names in a directory, but for . and .., in any order; none where it cannot be read. Throws
/// std::bad_alloc: the iterators of std::filesystem end the program where memory is refused
/// (libstdc++ 12).
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);

}  // namespace tessera
