// Moves and updates of blocks by the method's kernel.

#include "dist/transpose/blocks.hpp"

#include <algorithm>

#include "machine/fork_join.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

void copy_rows(const ConstRecords& a, const Records& b, int threads) {
  const auto row_bytes = static_cast<std::size_t>(a.cols * a.bytes);
  const index_t grain =
      std::max<index_t>(1, (index_t{256} << 10) / std::max<index_t>(1, a.cols * a.bytes));
  machine::parallel(threads, [&] {
    machine::parallel_for(0, a.rows, grain, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) std::memcpy(b.at(i, 0), a.at(i, 0), row_bytes);
    });
  });
}

template <class T>
void update_as(const Method& method, const Scale& scale, Op op, const ConstRecords& a,
               const Records& b) {
  using Factor = tessera::transpose::Real<T>;
  update(tessera::transpose::Update<T>{static_cast<Factor>(scale.alpha),
                                       {reinterpret_cast<const T*>(a.data), a.rows, a.cols, a.ld},
                                       op,
                                       static_cast<Factor>(scale.beta),
                                       {reinterpret_cast<T*>(b.data), b.rows, b.cols, b.ld},
                                       scale.conjugate},
         method.tuning);
}

}  // namespace

layout::MatrixLayout source_layout(const DistributedRecords& a, Op op) {
  return op == Op::transpose ? layout::transposed(a.layout()) : a.layout();
}

ConstRecords source_part(const DistributedRecords& a, Op op, const layout::Box& box) {
  return part(a.view(), a.box(), op == Op::transpose ? layout::transposed(box) : box);
}

void move_block(const Method& method, Op op, const ConstRecords& a, const Records& b) {
  if (a.empty()) return;
  const mpi::Computing computing;
  if (op == Op::none) {
    copy_rows(a, b, threads_of(method.tuning));
    return;
  }
  const Variant& kernel =
      method.kernel != nullptr ? *method.kernel : tessera::transpose::best(a, b);
  kernel.out_of_place(a, b, method.tuning);
}

void update_block(const Method& method, const Scale& scale, Op op, const ConstRecords& a,
                  const Records& b) {
  const mpi::Computing computing;
  if (scale.plain()) return move_block(method, op, a, b);
  dispatch_number(scale.number, [&]<class T>(Type<T>) { update_as<T>(method, scale, op, a, b); });
}

}  // namespace tessera::inline v1::dist::transpose
