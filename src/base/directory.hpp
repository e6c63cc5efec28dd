#pragma once
#include <string>
#include <vector>

namespace tessera::inline v1 {

/// Returns the names in a directory except . and .., in any order; an empty list if it cannot be
/// read. Throws std::bad_alloc; the iterators of std::filesystem (libstdc++ 12) terminate the
/// program instead when memory is insufficient.
[[nodiscard]] std::vector<std::string> names_in(const std::string& directory);

}  // namespace tessera::inline v1
