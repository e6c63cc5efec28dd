#include "lab/forkjoin/programs.hpp"

#include <fmt/core.h>

#include <cmath>

#include "base/text.hpp"
#include "kernels/forkjoin/bfs.hpp"
#include "kernels/forkjoin/fft.hpp"
#include "kernels/forkjoin/fib.hpp"
#include "kernels/forkjoin/histogram.hpp"
#include "kernels/forkjoin/loops.hpp"
#include "kernels/forkjoin/lu.hpp"
#include "kernels/forkjoin/mergesort.hpp"
#include "kernels/forkjoin/quicksort.hpp"
#include "kernels/forkjoin/scan.hpp"
#include "kernels/forkjoin/strassen.hpp"
#include "kernels/forkjoin/tableau.hpp"
#include "lab/forkjoin/counted.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1::microscope {
namespace {

using forkjoin::Problem;
using Real = locality::Traced<double>;
using Word = locality::Traced<std::uint64_t>;
using Half = locality::Traced<std::uint32_t>;

template <class Probe>
std::unique_ptr<Problem> make(index_t n, index_t threshold) {
  return std::make_unique<Probe>(n, threshold);
}

template <forkjoin::Merge merge>
std::unique_ptr<Problem> mergesort(index_t n, index_t threshold) {
  return std::make_unique<forkjoin::Mergesort<Word>>(n,
                                                     forkjoin::MergesortMethod{threshold, merge});
}

const std::vector<Program>& table() {
  const std::vector<index_t> keys{1024, 4096, 16384, 65536}, edges{16, 32, 64, 128};
  static const std::vector<Program> all{
      {"fib", make<forkjoin::Fib<Word>>, 1, {10, 14, 18, 22}},
      {"quicksort", make<forkjoin::Quicksort<Word>>, 32, keys},
      {"mergesort_serial_merge", mergesort<forkjoin::Merge::serial>, 32, keys},
      {"mergesort_parallel_merge", mergesort<forkjoin::Merge::forked>, 32, keys},
      {"matmul_recursive", make<forkjoin::MatmulRecursive<Real>>, 4, edges},
      {"matmul_iterative", make<forkjoin::MatmulIterative<Real>>, 1, edges},
      {"matmul_temporaries", make<forkjoin::MatmulTemporaries<Real>>, 1, {8, 16, 32, 64}},
      {"strassen", make<forkjoin::Strassen<Real>>, 4, edges},
      {"lu", make<forkjoin::Lu<Real>>, 4, edges},
      {"tableau", make<forkjoin::Tableau<Half>>, 4, {64, 128, 256, 512}},
      {"fft", make<forkjoin::Fft<Real>>, 4, keys},
      {"bfs", make<forkjoin::Bfs<Half>>, 8, keys},
      {"histogram", make<forkjoin::Histogram<Word>>, 256, {4096, 16384, 65536, 262144}},
      {"scan", make<forkjoin::Scan<Word>>, 8, {1024, 8192, 65536, 524288}},
      {"loops_parallel_inside", make<forkjoin::LoopsInside<Word>>, 1, {64, 256, 1024, 4096}},
      {"loops_parallel_outside", make<forkjoin::LoopsOutside<Word>>, 1, {64, 256, 1024, 4096}}};
  return all;
}

/// Returns slope and explained share of the variance of the line through (x, y).
std::pair<double, double> line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  double sx = 0, sy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i] / count;
    sy += y[i] / count;
  }
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - sx) * (x[i] - sx);
    xy += (x[i] - sx) * (y[i] - sy);
    yy += (y[i] - sy) * (y[i] - sy);
  }
  return {xy / xx, xy * xy / (xx * yy)};
}

std::vector<double> logs(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

}  // namespace

double Program::scale(index_t n) const {
  const auto size = static_cast<double>(n);
  return kernel == "fib" ? variant().one.of(size) : size;
}

std::span<const Program> programs() { return table(); }

const Program& program(std::string_view kernel) {
  std::vector<std::string> names;
  for (const Program& one : table()) {
    if (one.kernel == kernel) return one;
    names.emplace_back(one.kernel);
  }
  throw Error(ExitCode::usage,
              fmt::format("forkjoin has no kernel '{}'{}", kernel, suggestion(kernel, names)));
}

GrowthFit fit(const std::vector<double>& sizes, const std::vector<double>& counts,
              const std::vector<double>& theory) {
  const std::vector<double> x = logs(sizes);
  return {line_through(x, logs(counts)).first, line_through(x, logs(theory)).first,
          line_through(theory, counts).second};
}

}  // namespace tessera::inline v1::microscope
