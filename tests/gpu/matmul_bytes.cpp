// Products of operands of 8 bits compared with those of cublasLt.

#include <cublasLt.h>

#include "kernels/cuda_code.hpp"
#include "kernels/matmul/cuda_quantised.hpp"
#include "matmul_errors.hpp"

namespace tessera::matmul {
namespace {

void check(cublasStatus_t rc, const char* call) {
  require(rc == CUBLAS_STATUS_SUCCESS, ExitCode::internal,
          std::string(call) + " failed: " + cublasGetStatusString(rc));
}

/// cublasLt's product a b^T of (n, n): int8 with results in int32, or fp8 with results in f32.
template <class T>
class Vendor {
 public:
  enum class Sums { precise, fast };
  static constexpr bool integers = std::is_same_v<T, std::int8_t>;
  using Result = std::conditional_t<integers, int, float>;

  Vendor(index_t n, Sums sums) : work_(index_t{64} << 20) {
    constexpr auto operand = integers ? CUDA_R_8I : CUDA_R_8F_E4M3,
                   result = integers ? CUDA_R_32I : CUDA_R_32F;
    check(cublasLtCreate(&handle_), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(&product_, integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                   result),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (!integers) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{sums == Sums::fast});
    const auto size = static_cast<std::uint64_t>(n);
    check(cublasLtMatrixLayoutCreate(&in_, operand, size, size, n), "cublasLtMatrixLayoutCreate");
    check(cublasLtMatrixLayoutCreate(&out_, result, size, size, n), "cublasLtMatrixLayoutCreate");
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    const auto bytes = static_cast<std::size_t>(work_.size());
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &bytes, sizeof(bytes)),
          "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle_, product_, in_, in_, out_, out_, preference, 1,
                                         &chosen_, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    require(found == 1, ExitCode::internal, "cublasLt has no such product");
    cublasLtMatmulPreferenceDestroy(preference);
  }
  ~Vendor() {
    cublasLtMatrixLayoutDestroy(out_);
    cublasLtMatrixLayoutDestroy(in_);
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  void run(const T* a, const T* b, void* c, DeviceStream stream) const {
    const Result one = 1, zero = 0;
    check(
        cublasLtMatmul(handle_, product_, &one, b, in_, a, in_, &zero, c, out_, c, out_,
                       &chosen_.algo, work_.data(), static_cast<std::size_t>(work_.size()), stream),
        "cublasLtMatmul");
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t in_ = nullptr, out_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
  gpu::cuda::DeviceBuffer<std::byte> work_;
};

/// Operands and results in turn, and the units 1.
template <class T>
struct Bytes {
  index_t n;
  std::vector<gpu::cuda::DeviceBuffer<T>> operands;
  std::vector<gpu::cuda::DeviceBuffer<float>> results;
  gpu::cuda::DeviceBuffer<float> units;

  explicit Bytes(index_t size) : n(size), units(size) {
    for (std::uint64_t set = 0; set < gpu::sets; ++set) {
      for (std::uint64_t number = 0; number < 2; ++number)
        operands.push_back(gpu::random_on_device<T>(n * n, 2 * set + number));
      results.emplace_back(n * n);
    }
    const std::vector<float> ones(static_cast<std::size_t>(n), 1.0F);
    gpu::cuda::upload(units.data(), ones.data(), ones.size());
  }
  [[nodiscard]] const T* a(std::size_t set) const { return operands[2 * set].data(); }
  [[nodiscard]] const T* b(std::size_t set) const { return operands[2 * set + 1].data(); }
  [[nodiscard]] QuantisedGemm<T> problem(std::size_t set) const {
    return {1,
            {a(set), n, n, n},
            {b(set), n, n, n},
            units.data(),
            units.data(),
            0,
            {results[set].data(), n, n, n}};
  }
};

template <class T>
void measure(Table& table, const char* type, index_t n) {
  using Sums = typename Vendor<T>::Sums;
  if (kernels::device_code().architecture < (Vendor<T>::integers ? 80 : 89)) return;
  const Bytes<T> bytes(n);
  const Reference<double> reference(n, bytes.a(0), bytes.b(0), Op::transpose);
  const auto text = [](double error) { return fmt::format("{:.1e}", error); };
  const auto add = [&](const char* name, Sums sums, auto run) {
    const Vendor<T> vendor(n, sums);
    const gpu::cuda::Stream stream;
    run(bytes.problem(0), stream);
    stream.wait();
    const double error = reference.error_of(bytes.results[0].data());
    vendor.run(bytes.a(0), bytes.b(0), bytes.results[0].data(), stream);
    stream.wait();
    const double of_vendor = reference.error_of(
        reinterpret_cast<const typename Vendor<T>::Result*>(bytes.results[0].data()));
    const auto [theirs, ours] = gpu::median_seconds_in_turn(
        [&](std::size_t set, DeviceStream on) {
          vendor.run(bytes.a(set), bytes.b(set), bytes.results[set].data(), on);
        },
        [&](std::size_t set, DeviceStream on) { run(bytes.problem(set), on); });
    table.add({name, type, std::to_string(n), human_seconds(ours),
               human_number(flops_of(n) / ours / 1e12), sums == Sums::fast ? "fast" : "precise",
               human_number(flops_of(n) / theirs / 1e12), fmt::format("{:.3f}", theirs / ours),
               text(error), text(of_vendor)});
  };
  const auto best = [](const QuantisedGemm<T>& g, DeviceStream stream) {
    cuda_quantised_product(g, stream);
  };
  add("cuda_tensor", Sums::precise, best);
  if (!Vendor<T>::integers) add("cuda_tensor", Sums::fast, best);
  add("mma.sync", Sums::precise,
      [](const QuantisedGemm<T>& g, DeviceStream stream) { cuda_quantised_mma(g, stream); });
}

}  // namespace

void print_bytes(index_t n) {
  Table table({"8 bits", "type", "n", "median", "TOP/s", "cublasLt's sums", "its TOP/s",
               "of cublasLt", "error of sums", "cublasLt's"});
  measure<std::int8_t>(table, "int8", n);
  measure<__nv_fp8_e4m3>(table, "fp8", n);
  fmt::print("{}", table.text());
}

}  // namespace tessera::matmul
