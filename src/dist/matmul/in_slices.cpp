// The recursive product in slices of k with double buffering: receives the next slice during the
// arithmetic of the current one. Memory: two slices of each operand that is sent.

#include <algorithm>
#include <optional>

#include "dist/matmul/leaf_stack.hpp"
#include "dist/matmul/product_parts.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "mpi/progress.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::MatrixLayout;
using layout::Range;
using tessera::matmul::Gemm;

/// An operand with double buffering of its slices: one slice is present, the next in flight. A view
/// of the whole operand if it is at home or in shared memory.
template <class T, class S>
class SlicedOperand {
 public:
  enum class Side { a, b };
  SlicedOperand(const Round<T, S>& round, const Slices& slices, Side side)
      : comm_(round.comm),
        matrix_(side == Side::a ? round.product.a : round.product.b),
        op_(side == Side::a ? round.product.op_a : round.product.op_b),
        k_is_cols_when_(side == Side::a ? Op::none : Op::transpose) {
    const Plan& plan = round.plan;
    const auto rank = static_cast<std::size_t>(comm_.rank());
    for (const auto& k : slices) k_.push_back(k[rank]);
    all_ = plan.k_range(plan.cuboids[rank]);
    const auto need = [&](const std::vector<Range>& k) {
      return side == Side::a ? a_layout(plan, op_, k) : b_layout(plan, op_, k);
    };
    if (need(slices_of_k(plan, 1).front()) == matrix_.layout()) return;
    index_t most = 0;
    for (const auto& k : slices)
      most = std::max(most, needs_.emplace_back(need(k)).of(comm_.rank()).area());
    if (matrix_.shared()) return;
    here_ = machine::Buffer<S>(most);
    next_ = machine::Buffer<S>(most);
  }

  /// Starts receiving a slice, to be completed by finish(); its messages join the request.
  void begin(std::size_t slice, mpi::Request& request) {
    if (needs_.empty() || matrix_.shared()) return;
    moving_.emplace(comm_, matrix_.layout(), matrix_.view(), needs_[slice], view(next_, slice),
                    scratch_);
    request.join(std::move(moving_->request()));
  }
  /// Returns the slice. Precondition: its messages are complete.
  MatrixView<const S> finish(std::size_t slice) {
    if (needs_.empty())
      return along_k(matrix_.view(), op_, k_is_cols_when_, k_[slice].begin - all_.begin,
                     k_[slice].size());
    if (matrix_.shared()) {
      const layout::Box& box = needs_[slice].of(comm_.rank());
      return matrix_.whole().block(box.rows.begin, box.cols.begin, box.rows.size(),
                                   box.cols.size());
    }
    moving_->finish();
    std::swap(here_, next_);
    return view(here_, slice);
  }

 private:
  MatrixView<S> view(machine::Buffer<S>& buffer, std::size_t slice) const {
    const layout::Box& box = needs_[slice].of(comm_.rank());
    return matrix_view(buffer.data(), box.rows.size(), box.cols.size());
  }

  const mpi::Communicator& comm_;
  const DistributedMatrix<S>& matrix_;
  Op op_, k_is_cols_when_;
  Range all_;                        // of k
  std::vector<Range> k_;             // by slice
  std::vector<MatrixLayout> needs_;  // by slice; empty if at home
  machine::Buffer<S> here_, next_, scratch_;
  std::optional<mpi::Redistribution<S>> moving_;
};

/// The leaves of a rank, accumulated slice by slice.
template <class T, class S>
class Growth {
 public:
  Growth(const Product<T, S>& product, const Method& method, const Plan& plan, const Cuboid& mine,
         MatrixView<T> first)
      : product_(product),
        method_(method),
        leaves_(plan.shape.leaves),
        mine_(mine),
        sums_(leaves_, first.rows * first.cols) {
    sums_.start(first, mine.leaves.begin);
  }

  /// Adds the product of a and b, the slices of the range k.
  void add(MatrixView<const S> a, MatrixView<const S> b, Range k, mpi::Phases& phases) {
    if (k.empty()) return;
    for (index_t leaf = mine_.leaves.begin; leaf < mine_.leaves.end; ++leaf) {
      const Range whole{leaves_.begin(leaf), leaves_.begin(leaf + 1)};
      const Range part = intersect(whole, k);
      if (part.empty()) continue;
      const bool begins = part.begin == whole.begin;
      if (begins) sum_ = sums_.begin(leaf);
      const Gemm<T, S> gemm{
          product_.alpha,
          along_k(a, product_.op_a, Op::none, part.begin - k.begin, part.size()),
          product_.op_a,
          along_k(b, product_.op_b, Op::transpose, part.begin - k.begin, part.size()),
          product_.op_b,
          !begins     ? T{1}
          : leaf == 0 ? product_.beta
                      : T{0},
          sum_};
      compute(gemm, method_, phases, [&] { chain(gemm); });
      if (part.end == whole.end) machine::parallel(method_.threads, [&] { sums_.end(); });
    }
  }
  std::vector<NodeValue<T>> values() { return sums_.values(); }

 private:
  const Product<T, S>& product_;
  const Method& method_;
  Leaves leaves_;
  Cuboid mine_;
  LeafStack<T> sums_;
  MatrixView<T> sum_;
};

}  // namespace

template <class T, class S>
std::vector<NodeValue<T>> compute_in_slices(const Round<T, S>& round, const Slices& slices,
                                            MatrixView<T> first, mpi::Phases& phases) {
  const mpi::Communicator& comm = round.comm;
  const auto rank = static_cast<std::size_t>(comm.rank());
  using Operand = SlicedOperand<T, S>;
  Operand a(round, slices, Operand::Side::a), b(round, slices, Operand::Side::b);
  Growth<T, S> growth(round.product, round.method, round.plan, round.plan.cuboids[rank], first);
  mpi::Request request;
  const auto begin = [&](std::size_t slice) {
    a.begin(slice, request);
    b.begin(slice, request);
  };
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    MatrixView<const S> a_slice, b_slice;
    {
      const mpi::PhaseScope scope(phases, "exchange");
      const mpi::InFlight flight(phases, comm.size());
      if (slice == 0) begin(slice);
      request.wait();
      a_slice = a.finish(slice);
      b_slice = b.finish(slice);
      if (slice + 1 < slices.size()) begin(slice + 1);
    }
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::InFlight flight(phases, comm.size());
    mpi::ProgressThread progress(request);
    growth.add(a_slice, b_slice, slices[slice][rank], phases);
    progress.stop();
  }
  return growth.values();
}

#define TESSERA_INSTANTIATE(T, S)                                                         \
  template std::vector<NodeValue<T>> compute_in_slices(const Round<T, S>&, const Slices&, \
                                                       MatrixView<T>, mpi::Phases&)

TESSERA_INSTANTIATE(float, float);
TESSERA_INSTANTIATE(double, double);
TESSERA_INSTANTIATE(Complex<float>, Complex<float>);
TESSERA_INSTANTIATE(Complex<double>, Complex<double>);
TESSERA_INSTANTIATE(float, Half);
TESSERA_INSTANTIATE(float, BFloat16);
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::dist::matmul
