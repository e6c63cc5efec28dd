// The probe of the fast Fourier transform.

#include "kernels/forkjoin/fft.hpp"

#include "kernels/forkjoin/variants.hpp"

namespace tessera::inline v1::forkjoin {

std::unique_ptr<Problem> fft(index_t n, index_t threshold) {
  return std::make_unique<Fft<double>>(n, threshold);
}

}  // namespace tessera::inline v1::forkjoin
