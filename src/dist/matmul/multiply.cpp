#include "dist/matmul/multiply.hpp"

#include "dist/matmul/algorithms.hpp"

namespace tessera::dist::matmul {

const std::vector<AlgorithmInfo>& algorithms() {
  static const std::vector<AlgorithmInfo> table{
      {"recursive", Algorithm::recursive,
       "uneven recursive cuts of m, n, k, good at any number of ranks (after Demmel et al. 2013)"},
      {"summa", Algorithm::summa, "panels broadcast along a grid of ranks (van de Geijn and Watts 1997)"}};
  return table;
}

template <class T>
void multiply(const mpi::Communicator& comm, const Product<T>& product, const Method& method,
              mpi::Phases& phases) {
  TESSERA_EXPECTS(product.a.layout().ranks() == comm.size() && product.c.layout().ranks() == comm.size());
  Method resolved = method;
  if (resolved.kernel == nullptr) resolved.kernel = &tessera::matmul::best();
  if (resolved.algorithm == Algorithm::summa) {
    summa(comm, product, resolved, phases);
  } else {
    recursive(comm, product, resolved, phases);
  }
}

template void multiply<float>(const mpi::Communicator&, const Product<float>&, const Method&, mpi::Phases&);
template void multiply<double>(const mpi::Communicator&, const Product<double>&, const Method&, mpi::Phases&);
template void multiply<Complex<float>>(const mpi::Communicator&, const Product<Complex<float>>&,
                                       const Method&, mpi::Phases&);
template void multiply<Complex<double>>(const mpi::Communicator&, const Product<Complex<double>>&,
                                        const Method&, mpi::Phases&);

}  // namespace tessera::dist::matmul
