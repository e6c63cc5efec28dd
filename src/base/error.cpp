#include "base/error.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/index.hpp"

namespace tessera::inline v1::detail {

void expectation_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "tessera: internal error: expected %s (%s:%d)\n", condition, file, line);
  std::abort();
}

void product_overflows(index_t a, index_t b, const char* what) {
  throw Error::of_argument(what, "overflows 64 bits (" + std::to_string(a) + " x " +
                                     std::to_string(b) + "); choose smaller sizes");
}

}  // namespace tessera::inline v1::detail
