// The host's form of indexed moves, element by element.

#include "kernels/relayout/move_indexed.hpp"

#include <cstring>

#include "kernels/relayout/update.hpp"

namespace tessera::inline v1::relayout {
namespace {

/// Calls f(place in from, place in to), counted in elements.
template <class F>
void each_place(const IndexedMove& move, const F& f) {
  const auto& [rows, cols, from, to, turn] = move;
  for (index_t i = 0; i < rows.n; ++i) {
    for (index_t j = 0; j < cols.n; ++j) {
      const index_t row = rows.from[i], col = cols.from[j];
      f(turn == Turn::yes ? col * from.ld + row : row * from.ld + col,
        rows.to[i] * to.ld + cols.to[j]);
    }
  }
}

}  // namespace

void move_indexed(const IndexedMove& move, const ElementKind& kind, const Factors& factors,
                  machine::device::StreamHandle) {
  if (factors.plain()) {
    each_place(move, [&](index_t a, index_t b) {
      std::memcpy(move.to.data + b * kind.bytes, move.from.data + a * kind.bytes,
                  static_cast<std::size_t>(kind.bytes));
    });
    return;
  }
  dispatch_field(kind.number, [&]<class T>(Type<T>) {
    const Scaling<T> update(factors);
    const auto* const from = reinterpret_cast<const T*>(move.from.data);
    auto* const to = reinterpret_cast<T*>(move.to.data);
    each_place(move, [&](index_t a, index_t b) {
      update(update.reads_from ? from + a : nullptr, to + b);
    });
  });
}

}  // namespace tessera::inline v1::relayout
