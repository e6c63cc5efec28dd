#pragma once
// The recursion of cache_oblivious over one product: halves of the longer side of C (Frigo et al.
// 1999) over packed chunks of k. A template for plain and traced elements.

#include <algorithm>
#include <optional>
#include <utility>

#include "base/instrument.hpp"
#include "base/work_done.hpp"
#include "kernels/matmul/cache_oblivious.hpp"
#include "kernels/matmul/chunk.hpp"
#include "kernels/matmul/leaf.hpp"
#include "kernels/matmul/scratch.hpp"
#include "machine/depth_first.hpp"

namespace tessera::inline v1::matmul {

/// The product of operands of S; halves S are converted to T while they are packed.
template <class T, class S = T>
class Product {
 public:
  Product(const Gemm<T, S>& g, const Leaves& leaves, Subtree node)
      : alpha_(g.alpha),
        a_(operand(g.a, g.op_a)),
        b_(operand(g.b, g.op_b)),
        m_(g.m()),
        n_(g.n()),
        leaves_(leaves),
        offset_(leaves.begin(node.first)),
        leaf_(leaf_kernels<T>(machine::isa())),
        share_(choose_share(node.count)),
        rows_(tile_rows),
        columns_(is_slim()                        ? slim<T>
                 : !is_complex<T> && n_ <= direct ? direct
                                                  : tile_columns<T>) {
    while (share_ == Share::c && rows_ > leaf_.mr &&
           ceil_div(m_, rows_) * ceil_div(n_, columns_) < 4 * team()) {
      rows_ = std::max(leaf_.mr, round_up(std::min(rows_, m_) / 2, leaf_.mr));
    }
  }

  static constexpr bool converts = !std::is_same_v<T, S>;

  /// The operands to pack. A complex b is always packed, which separates its parts; those of a are
  /// broadcast one by one.
  struct Packs {
    bool a, b;
  };
  [[nodiscard]] Packs packs() const {
    if (converts) return {true, true};
    if (is_complex<T>) return {!(has_plain_rows(a_) && reads_rows_of_a()), true};
    const bool free = reads_in_place();
    return {n_ > direct && !free && !reads_rows_of_a(),
            b_.step != 1 || is_slim() || (m_ > direct && !free)};
  }

  /// Computes c = the node, from beta * c.
  void tree(Subtree node, MatrixView<T> c, T beta) const {
    [[maybe_unused]] const Subproblem<T> here;
    if (node.count == 1) return leaf(node.first, c, beta, {});
    Scratch<T> partial(m_ * n_);
    const auto other = matrix_view(partial.data(), m_, n_);
    if (share_ == Share::k) {
      machine::fork_join([&] { tree(left(node), c, beta); },
                         [&] { tree(right(node), other, T{0}); });
      return add<T>(other, c);
    }
    tree(left(node), c, beta);
    if (right(node).count == 1) return leaf(right(node).first, other, T{0}, c);
    tree(right(node), other, T{0});
    add<T>(other, c);
  }

  /// Computes c = alpha * a[:, begin:end] * b[begin:end, :] + beta * c, chunk after chunk; the last
  /// one is added to `onto`, if any.
  void chain(index_t begin, index_t end, MatrixView<T> c, T beta, MatrixView<T> onto) const {
    const Packs packed = packs();
    const index_t longest = std::min(chunk_length<T>, end - begin);
    Scratch<T> a(packed.a ? round_up(m_, leaf_.mr) * longest : 0);
    Scratch<T> b(packed.b ? round_up(n_, leaf_.nr) * longest : 0);
    for (index_t p = begin; p < end; p += longest) {
      Chunk<T> chunk = unpacked(p, std::min(longest, end - p));
      chunk.k_next = std::min(longest, end - p - chunk.k);
      if constexpr (!converts) {
        if (chunk.k_next > 0 && is_slim() && share_ != Share::c) {
          chunk.a_next = a_.at(0, p + chunk.k).data;
          if (b_.step == 1 && b_.row == n_) chunk.b_next = b_.at(p + chunk.k, 0).data;
        }
      }
      pack(chunk, p, packed.a ? a.data() : nullptr, packed.b ? b.data() : nullptr);
      const bool last = p + chunk.k == end;
      const Target target{.c = c,
                          .beta = p == begin ? beta : T{1},
                          .onto = last ? onto : MatrixView<T>{},
                          .store = p == begin && last && beta == T{0} && onto.empty()
                                       ? store_of(c)
                                       : Store::cached};
      const Part all{.block = {0, 0, m_, n_}, .backwards = false};
      const bool on_team = share_ == Share::c && machine::recorder() == nullptr;
      on_team ? share_tiles(chunk, all, target) : tiles(chunk, all, target, {});
      if (!counts_tiles(chunk)) count_multiplied(m_ * n_ * chunk.k);
    }
  }

 private:
  struct Block {
    index_t i = 0, j = 0, m = 0, n = 0;
  };
  /// A node of the recursion over C.
  struct Part {
    Block block;
    bool backwards;  ///< visits the last tile first
  };
  /// The destination of a chunk's product.
  struct Target {
    MatrixView<T> c;
    T beta;
    MatrixView<T> onto;
    Store store;
  };

  /// Returns the store for a c that is written once.
  static Store store_of(const MatrixView<T>& c) {
    constexpr auto element = static_cast<index_t>(sizeof(T));
    constexpr index_t line = 64;
    const bool whole_lines =
        reinterpret_cast<std::uintptr_t>(c.data) % line == 0 && c.ld * element % line == 0;
    return whole_lines && c.rows * c.cols * element >= past_caches_bytes ? Store::past_caches
                                                                         : Store::cached;
  }

  void leaf(index_t which, MatrixView<T> c, T beta, MatrixView<T> onto) const {
    chain(leaves_.begin(which) - offset_, leaves_.begin(which + 1) - offset_, c, beta, onto);
  }

  [[nodiscard]] static index_t team() { return machine::team(); }

  [[nodiscard]] Share choose_share(index_t leaf_count) const {
    if (team() == 1) return Share::nothing;
    const index_t tiles = ceil_div(m_, tile_rows) * ceil_div(n_, tile_columns<T>);
    const bool small = m_ * n_ * static_cast<index_t>(sizeof(T)) <= small_c_bytes;
    const bool shares_k =
        tiles < 2 * team() ? leaf_count >= 2 * team() : small && leaf_count >= many_leaves * team();
    return shares_k ? Share::k : Share::c;
  }

  /// Returns whether rows of both operands are so short that the kernel runs unpacked as fast as
  /// packed. 512 rows of a strip of B must fit the second-level cache, where rows at equal page
  /// offsets have few sets. Unaligned rows cost two loads each, which matters for long rows: f64 n
  /// = 641, 0.87 of peak instead of 0.92. Instruction sets with fewer registers and slow partial
  /// loads run up to 1.3 times as long.
  [[nodiscard]] bool reads_in_place() const {
    if (machine::isa() != machine::Isa::bits512 || (m_ > tallest_in_place && !is_tiny_b()))
      return false;
    constexpr index_t page = 4096, line = 64;
    const index_t row = b_.row * static_cast<index_t>(sizeof(T));
    if (a_.step != 1 || b_.step != 1 || a_.row > 1024 || row > page * 3 / 2) return false;
    const bool whole_lines = row % line == 0 && b_.data != nullptr &&
                             reinterpret_cast<std::uintptr_t>(b_.data) % line == 0;
    return row <= page * 3 / 4 || (whole_lines && row != page);
  }

  /// Returns whether b is one or two vectors wide, and short. Rows of a tall a then stream past it
  /// in one kernel call per tile; with one call per sliver, as with packed b, the call costs as
  /// much as the sums.
  [[nodiscard]] bool is_tiny_b() const {
    constexpr index_t lanes = 64 / static_cast<index_t>(sizeof(T));
    return a_.row <= 32 && (n_ <= lanes || n_ == 16);
  }

  /// Returns whether so few columns of tiles reuse the rows of a that these, prefetched a sliver
  /// ahead, cost less than a packed copy. Both wider products and longer rows lose 1 to 3 %: rows
  /// of a tile conflict in the second-level cache.
  [[nodiscard]] bool reads_rows_of_a() const {
    return machine::isa() == machine::Isa::bits512 && a_.step == 1 &&
           (is_slim() || (a_.row <= 1200 && n_ <= 1200));
  }

  /// Returns whether a has long rows and C few columns: a sliver of rows stays in the first-level
  /// cache while all of packed b streams past, and the next one is prefetched. A packed copy of a
  /// would cost as much as for a square, with less reuse.
  [[nodiscard]] bool is_slim() const {
    constexpr index_t least = direct / 2;  // 64: unpacked b is as fast
    return !is_complex<T> && !converts && machine::isa() == machine::Isa::bits512 && a_.step == 1 &&
           a_.row > 1200 && m_ >= direct && least < n_ && n_ <= slim<T>;
  }

  template <class First, class Second>
  void fork(const First& first, const Second& second) const {
    if (share_ == Share::c) {
      machine::fork_join(first, second);
    } else {
      first();
      second();
    }
  }

  /// Returns a chunk of the operands where they are; without operands if they are to be converted.
  [[nodiscard]] Chunk<T> unpacked(index_t p, index_t k) const {
    Chunk<T> chunk{.k = k,
                   .k_next = 0,
                   .a = nullptr,
                   .a_row = a_.row,
                   .a_step = a_.step,
                   .a_sliver = leaf_.mr * a_.row,
                   .b = nullptr,
                   .b_step = b_.row,
                   .b_panel = leaf_.nr};
    if constexpr (!converts) {
      chunk.a = a_.at(0, p).data;
      chunk.b = b_.at(p, 0).data;
    }
    return chunk;
  }

  /// Returns the functions that pack operands.
  static const auto& packing() {
    if constexpr (converts) {
      return half_kernels<S>(machine::isa());
    } else {
      return leaf_kernels<T>(machine::isa());
    }
  }

  template <class Body>
  void for_each(index_t count, index_t grain, const Body& body) const {
    if (share_ == Share::c) {
      machine::parallel_for(0, count, grain, body);
    } else {
      body(0, count);
    }
  }

  /// Packs the operands whose destination is not null; one loop for both.
  void pack(Chunk<T>& chunk, index_t p, T* a, T* b) const {
    constexpr index_t slivers = 16, panels = 8;  // per piece of work
    const index_t of_a = a == nullptr ? 0 : ceil_div(m_, slivers * leaf_.mr);
    const index_t of_b = b == nullptr ? 0 : ceil_div(n_, panels * leaf_.nr);
    const auto& packing = Product::packing();
    for_each(of_a + of_b, 1, [&](index_t first, index_t last) {
      for (index_t piece = first; piece < last; ++piece) {
        if (piece < of_a) {
          const index_t i = piece * slivers * leaf_.mr;
          packing.pack_a(a_.at(i, p), std::min(m_ - i, slivers * leaf_.mr), chunk.k,
                         a + i * chunk.k);
        } else {
          const index_t j = (piece - of_a) * panels * leaf_.nr;
          packing.pack_b(b_.at(p, j), chunk.k, std::min(n_ - j, panels * leaf_.nr),
                         b + j * chunk.k);
        }
      }
    });
    if (a != nullptr) {
      chunk.a = a;
      chunk.a_row = 1;
      chunk.a_step = leaf_.mr;
      chunk.a_sliver = leaf_.mr * chunk.k;
    }
    if (b != nullptr) {
      chunk.b = b;
      chunk.b_step = leaf_.nr;
      chunk.b_panel = leaf_.nr * chunk.k;
    }
  }

  [[nodiscard]] bool counts_tiles(const Chunk<T>& chunk) const {
    return rows_ * columns_ * chunk.k >= counted_products;
  }

  [[nodiscard]] bool is_tile(const Part& part) const {
    return part.block.m <= rows_ && part.block.n <= columns_;
  }

  /// Returns the halves of the longer side, in the order of execution. The second one runs
  /// backwards, so every tile shares rows or columns with the previous one.
  [[nodiscard]] std::pair<Part, Part> halves(const Part& whole) const {
    Part first{whole.block, false};
    Part second{whole.block, false};
    if (whole.block.m * columns_ >= whole.block.n * rows_) {
      first.block.m = round_up(whole.block.m / 2, leaf_.mr);
      second.block.i += first.block.m;
      second.block.m -= first.block.m;
    } else {
      first.block.n = round_up(whole.block.n / 2, leaf_.nr);
      second.block.j += first.block.n;
      second.block.n -= first.block.n;
    }
    if (whole.backwards) std::swap(first, second);
    second.backwards = true;
    return {first, second};
  }

  /// Returns a block that begins where the first tile of the part begins.
  [[nodiscard]] Block begin(const Part& part) const {
    return part.backwards && !is_tile(part) ? halves(part).first.block : part.block;
  }

  /// Computes the tiles of a part: the leaf multiplies, an inner node recurses into both halves.
  /// `after`: the next block of this thread, empty at the end.
  void tiles(const Chunk<T>& chunk, const Part& part, const Target& target,
             const Block& after) const {
    [[maybe_unused]] const Subproblem<T> here;
    if (is_tile(part)) return tile(chunk, part.block, target, after);
    const std::pair<Part, Part> half = halves(part);
    fork([&] { tiles(chunk, half.first, target, begin(half.second)); },
         [&] { tiles(chunk, half.second, target, after); });
  }

  /// Computes the tiles of a part, shared by the team.
  void share_tiles(const Chunk<T>& chunk, const Part& all, const Target& target) const {
    machine::depth_first(all, [&](Part part, auto& rest) {
      while (!is_tile(part)) {
        const std::pair<Part, Part> half = halves(part);
        rest.put(half.second);
        part = half.first;
      }
      const std::optional<Part> next = rest.next();
      tile(chunk, part.block, target, next ? begin(*next) : Block{});
    });
  }

  void tile(const Chunk<T>& chunk, const Block& block, const Target& target,
            const Block& after) const {
    const auto a_of = [&](const Block& x) { return chunk.a + x.i / leaf_.mr * chunk.a_sliver; };
    const auto b_of = [&](const Block& x) { return chunk.b + x.j / leaf_.nr * chunk.b_panel; };
    const bool ends = after.m == 0;
    const bool other_a = !ends && after.i != block.i;
    const bool other_b = !ends && after.j != block.j;
    leaf_.multiply({.m = block.m,
                    .n = block.n,
                    .k = chunk.k,
                    .alpha = alpha_,
                    .a = a_of(block),
                    .a_row = chunk.a_row,
                    .a_step = chunk.a_step,
                    .a_sliver = chunk.a_sliver,
                    .b = b_of(block),
                    .b_step = chunk.b_step,
                    .b_panel = chunk.b_panel,
                    .beta = target.beta,
                    .c = &target.c(block.i, block.j),
                    .ldc = target.c.ld,
                    .onto = target.onto.empty() ? nullptr : &target.onto(block.i, block.j),
                    .ldonto = target.onto.ld},
                   {.begin = chunk.k + chunk.k_next * block.j / n_,
                    .end = chunk.k + chunk.k_next,
                    .a = other_a ? a_of(after)
                         : ends  ? chunk.a_next
                                 : nullptr,
                    .b = other_b ? b_of(after)
                         : ends  ? chunk.b_next
                                 : nullptr},
                   target.store);
    if (counts_tiles(chunk)) count_multiplied(block.m * block.n * chunk.k);
  }

  T alpha_;
  Operand<S> a_;
  Operand<S> b_;
  index_t m_;
  index_t n_;
  Leaves leaves_;
  index_t offset_;  ///< of the slices in the whole k
  const LeafKernels<T>& leaf_;
  Share share_;
  index_t rows_;  ///< of a tile: fewer if a team needs more tiles
  index_t columns_;
};

}  // namespace tessera::inline v1::matmul
