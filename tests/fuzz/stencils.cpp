// Fuzzer of the stencil parsers: an input is the text.

#include <cstdint>

#include "stencil_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::fuzz::check_stencil_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
