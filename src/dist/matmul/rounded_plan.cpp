// Planned products of halves.

#include <array>

#include "base/error.hpp"
#include "dist/matmul/multiply_plan.hpp"
#include "dist/relayout/local_arrays.hpp"
#include "kernels/matmul/rounded.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

using layout::Box;
using relayout::LocalArray;

template <class T>
MatrixView<T> block(const LocalArray<T>& x, const Box& box) {
  return {x.data + box.rows.begin * x.ld + box.cols.begin, box.rows.size(), box.cols.size(), x.ld};
}

std::vector<Box> boxes_here(const mpi::Communicator& comm, const StoredMatrix& x) {
  return relayout::stored_boxes(x.distribution, x.order, comm.rank());
}

}  // namespace

template <class T>
requires is_stored_half<T> MultiplyPlan<T, T>::MultiplyPlan(const mpi::Communicator& comm,
                                                            const ProductLayouts& layouts,
                                                            const Method& method)
    : plan_(comm, layouts, method),
      threads_(method.threads),
      needed_{boxes_here(comm, layouts.a), boxes_here(comm, layouts.b),
              boxes_here(comm, layouts.c)} {
  for (const Box& box : needed_[2]) {
    const index_t ld = box.empty() ? 0 : box.cols.end;
    arrays_.push_back({sums_.emplace_back(box.empty() ? 0 : box.rows.end * ld).data(), ld});
  }
}

template <class T>
requires is_stored_half<T>
void MultiplyPlan<T, T>::check(const ProductMemory<T>& memory) const {
  relayout::check_arrays(memory.c, needed_[2], [] { return "c"; });
  plan_.check({memory.alpha, memory.a, memory.b, memory.beta, arrays_});
  if (memory.alpha == 0) return;
  if (relayout::overlap(memory.a, needed_[0], memory.c, needed_[2]))
    throw Error::of_argument("c", "overlaps a");
  if (relayout::overlap(memory.b, needed_[1], memory.c, needed_[2]))
    throw Error::of_argument("c", "overlaps b");
}

template <class T>
requires is_stored_half<T>
void MultiplyPlan<T, T>::execute(const ProductMemory<T>& memory) {
  check(memory);
  const auto for_each_block = [&](const auto& body) {
    machine::parallel(threads_, [&] {
      for (std::size_t k = 0; k < arrays_.size(); ++k) {
        const Box& box = needed_[2][k];
        if (!box.empty()) body(block(memory.c[k], box), block(arrays_[k], box));
      }
    });
  };
  if (memory.beta != 0)
    for_each_block(
        [](MatrixView<T> c, MatrixView<float> sum) { tessera::matmul::widen<T>(c, sum); });
  plan_.execute({memory.alpha, memory.a, memory.b, memory.beta, arrays_});
  for_each_block(
      [](MatrixView<T> c, MatrixView<float> sum) { tessera::matmul::narrow<T>(sum, c); });
}

template <class T>
requires is_stored_half<T> index_t MultiplyPlan<T, T>::workspace_bytes(
    const mpi::Communicator& comm, const ProductLayouts& layouts, const Method& method) {
  const machine::WithoutMemory scope;
  return MultiplyPlan(comm, layouts, method).workspace_bytes();
}

template <class T>
requires is_stored_half<T> index_t MultiplyPlan<T, T>::workspace_bytes()
const {
  index_t sums = 0;
  for (const auto& each : sums_) sums += each.size();
  return plan_.workspace_bytes() + sums * static_cast<index_t>(sizeof(float));
}

template class MultiplyPlan<Half, Half>;
template class MultiplyPlan<BFloat16, BFloat16>;

}  // namespace tessera::inline v1::dist::matmul
