// Products in the memory of the ranks' GPUs, for the element types with device kernels.

#include "dist/matmul/on_devices.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

template <class T>
class ProductOnGpus : public OnGpus<T> {
 public:
  using Product = dist::matmul::DeviceProduct<T>;
  ProductOnGpus(const Problem& problem, const typename Product::Formula& formula)
      : product_(*problem.gpus, formula, problem.method) {}
  void put_operands(const MatrixView<const T>& a, const MatrixView<const T>& b) override {
    product_.put_a(a);
    product_.put_b(b);
  }
  void put_c(const MatrixView<const T>& c) override { product_.put_c(c); }
  void get_c(const MatrixView<T>& c) override { product_.get_c(c); }
  void run(mpi::Phases& phases) override { product_.run(phases); }

 private:
  Product product_;
};

}  // namespace

template <class T>
std::unique_ptr<OnGpus<T>> on_gpus(const Problem& problem,
                                   const dist::matmul::Product<T>& product) {
  if constexpr (is_complex<T>) {
    throw Error(ExitCode::internal, "complex numbers are not supported by GPU kernels");
  } else {
    const auto& q = problem.shape;
    return std::make_unique<ProductOnGpus<T>>(
        problem, typename ProductOnGpus<T>::Product::Formula{q.m, q.n, q.k, q.op_a, q.op_b,
                                                             product.alpha, product.beta});
  }
}

template std::unique_ptr<OnGpus<float>> on_gpus(const Problem&,
                                                const dist::matmul::Product<float>&);
template std::unique_ptr<OnGpus<double>> on_gpus(const Problem&,
                                                 const dist::matmul::Product<double>&);
template std::unique_ptr<OnGpus<Complex<float>>> on_gpus(
    const Problem&, const dist::matmul::Product<Complex<float>>&);
template std::unique_ptr<OnGpus<Complex<double>>> on_gpus(
    const Problem&, const dist::matmul::Product<Complex<double>>&);

}  // namespace tessera::inline v1::workloads::matmul
