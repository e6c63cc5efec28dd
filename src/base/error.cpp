#include "base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace tessera::inline v1::detail {

void expectation_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "tessera: internal error: expected %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace tessera::inline v1::detail
