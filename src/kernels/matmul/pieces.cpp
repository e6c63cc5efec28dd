// Plans of out-of-core products: the tiling of least estimated time, and its schedule with the
// replacement of Belady (1966).

#include "kernels/matmul/pieces.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/option_names.hpp"
#include "base/text.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::matmul {
namespace {

// Rates of an H200, by which tilings are compared: on other devices the chosen tiles are as good or
// nearly so.
constexpr double link_rate = 5e10, memory_rate = 4e12;  // bytes a second
constexpr double launch_seconds = 1e-5;
constexpr index_t multiprocessors = 132, kernel_tile = 128;
double flop_rate(const PiecesRequest& r) {
  if (r.rounded_bytes > 0) return 6e14;
  return r.element_bytes == 8 ? 6e13 : 5e13;
}

// The prefetch distance of tiles, in steps: a panel of 512 MiB takes 10 ms to transfer, a product
// of 2048 x 2048 x 32768 takes 5.
constexpr index_t ahead = 8;
// Places beyond those of the held tiles, for the next ones.
constexpr index_t spare = 2;
// Columns of tiles that begin together: during the first transfers, each tile serves as many
// products.
constexpr index_t most_together = 6;
// One tile of C is computed, one is copied back, one is free for the next.
constexpr index_t most_c_places = 3;
// Bounds the length of the list of steps.
constexpr index_t most_products = index_t{1} << 22;

double real(index_t x) { return static_cast<double>(x); }

/// Returns the bytes of a stored operand's tile on the device, a multiple of 256.
index_t tile_bytes(const PiecesRequest& r, index_t rows, index_t cols, Op op) {
  if (turns(op)) std::swap(rows, cols);
  return round_up(checked_mul(rows, machine::device_ld(cols, r.element_bytes) * r.element_bytes,
                              "size of a tile"),
                  256);
}

/// Returns the edge of the fewest tiles of at most `most` that cover the length, equal except for
/// rounding to a multiple of `unit`.
index_t even_edge(index_t length, index_t most, index_t unit) {
  if (length <= most) return length;
  return std::min(most, round_up(ceil_div(length, ceil_div(length, most)), unit));
}

/// The order of the tiles of C. Rows (columns, if `by_columns`) of tiles form groups of `held`,
/// whose operand stays on the device while the columns pass: first `together` at once, then one by
/// one.
struct Walk {
  bool by_columns = false;
  index_t held = 1, together = 1;
};

struct Candidate {
  Pieces pieces;
  Walk walk;
  double seconds = std::numeric_limits<double>::infinity();
};

/// The number of tiles sent of the held and of the passing operand, for `rows` x `cols` tiles of C
/// with `depth` tiles each along k.
struct Sent {
  index_t held, passing;
};

/// Chooses the widest walk that `places` places permit; returns its transfers.
Sent choose_walk(index_t rows, index_t cols, index_t depth, index_t places, Walk& walk) {
  const index_t fit = (places - spare) / depth;  // rows and columns of tiles
  walk.together = std::clamp<index_t>(fit - rows, 1, std::min(most_together, cols));
  walk.held = std::clamp<index_t>(fit - walk.together, 1, rows);
  if (fit < 1) return {rows * cols * depth, rows * cols * depth};
  return {rows * depth, ceil_div(rows, walk.held) * cols * depth};
}

void estimate(Candidate& x) {
  Pieces& p = x.pieces;
  const PiecesRequest& r = p.request;
  const index_t a_tile = tile_bytes(r, p.m, p.k, r.op_a), b_tile = tile_bytes(r, p.k, p.n, r.op_b);
  const auto sent_by = [&](Walk& walk) {
    const index_t rows = walk.by_columns ? p.tiles_n() : p.tiles_m();
    const index_t cols = walk.by_columns ? p.tiles_m() : p.tiles_n();
    const Sent sent = choose_walk(rows, cols, p.tiles_k(), p.places, walk);
    return real(sent.held) * real(walk.by_columns ? b_tile : a_tile) +
           real(sent.passing) * real(walk.by_columns ? a_tile : b_tile);
  };
  Walk columns{true};
  double in = sent_by(x.walk);
  if (const double other = sent_by(columns); other < in) {
    in = other;
    x.walk = columns;
  }
  const double c = real(r.m) * real(r.n) * real(r.element_bytes), c_tile = real(p.c_place_bytes);
  if (r.reads_c) in += c;
  const index_t blocks = ceil_div(p.m, kernel_tile) * ceil_div(p.n, kernel_tile);
  const double busy = real(blocks) / real(round_up(blocks, multiprocessors));
  const double kernels = 2 * real(r.m) * real(r.n) * real(r.k) / (flop_rate(r) * busy) +
                         real(p.products()) * launch_seconds +
                         2 * real(p.tiles_k() - 1) * c / memory_rate;
  x.seconds = std::max({kernels, in / link_rate, c / link_rate}) +
              (real(a_tile) + real(b_tile) + c_tile) / link_rate;
  if (p.tiles_k() > 1) x.seconds *= 1.1;
}

/// Returns the tiling with edges up to `edge` in m and n and with k in `parts` parts; `seconds` is
/// infinite if it does not fit.
Candidate try_tiles(const PiecesRequest& r, index_t edge, index_t parts, index_t limit) {
  Candidate x;
  Pieces& p = x.pieces;
  p.request = r;
  const index_t unit = std::min(edge, kernel_tile);
  p.m = even_edge(r.m, edge, unit);
  p.n = even_edge(r.n, edge, unit);
  p.k = std::min(r.k, round_up(ceil_div(r.k, parts), 16));
  p.place_bytes = std::max(tile_bytes(r, p.m, p.k, r.op_a), tile_bytes(r, p.k, p.n, r.op_b));
  p.c_place_bytes = tile_bytes(r, p.m, p.n, Op::none);
  p.c_places = std::min(most_c_places, p.tiles_m() * p.tiles_n());
  p.rounded_bytes = r.rounded_bytes * (round_up(p.m, 8) + round_up(p.n, 8)) * round_up(p.k, 8);
  const index_t all = p.tiles_m() * p.tiles_k() + p.tiles_k() * p.tiles_n();
  const index_t room = limit - p.c_places * p.c_place_bytes - p.rounded_bytes;
  p.places = p.place_bytes == 0 ? all : std::min(all, room / p.place_bytes);
  if (room >= 0 && p.places >= std::min<index_t>(all, 4) && p.products() <= most_products)
    estimate(x);
  return x;
}

struct TileOfC {
  index_t i, j;
};

std::vector<TileOfC> tiles_in_order(const Walk& walk, index_t tiles_m, index_t tiles_n) {
  const index_t rows = walk.by_columns ? tiles_n : tiles_m,
                cols = walk.by_columns ? tiles_m : tiles_n;
  std::vector<TileOfC> order;
  order.reserve(static_cast<std::size_t>(rows * cols));
  const auto add = [&](index_t row, index_t col) {
    order.push_back(walk.by_columns ? TileOfC{col, row} : TileOfC{row, col});
  };
  bool right = true, down = true;
  for (index_t first = 0; first < rows; first += walk.held) {
    const index_t held = std::min(walk.held, rows - first);
    const auto row = [&](index_t number) { return first + (down ? number : held - 1 - number); };
    const auto col = [&](index_t number) { return right ? number : cols - 1 - number; };
    for (index_t i = 0; i < held; ++i) {
      for (index_t j = 0; j < walk.together; ++j)
        add(row(i), col(i % 2 == 0 ? j : walk.together - 1 - j));
    }
    for (index_t j = walk.together; j < cols; ++j) {
      down = !down;
      for (index_t i = 0; i < held; ++i) add(row(i), col(j));
    }
    right = !right;
  }
  return order;
}

constexpr index_t never = std::numeric_limits<index_t>::max();

/// The places on the device and their tiles, product by product. A new tile replaces a tile that is
/// not needed again, otherwise the tile needed last (Belady 1966), except those just used, whose
/// places would have to be waited for.
class Places {
 public:
  Places(Pieces& pieces, const std::vector<TileOfC>& order) : p_(pieces), depth_(pieces.tiles_k()) {
    const auto count = static_cast<std::size_t>(p_.products());
    places_.resize(static_cast<std::size_t>(p_.places));
    where_.assign(static_cast<std::size_t>((p_.tiles_m() + p_.tiles_n()) * depth_), -1);
    next_.assign(2 * count, never);
    std::vector<index_t> seen(where_.size(), never);
    for (index_t s = static_cast<index_t>(count) - 1; s >= 0; --s) {
      const TileOfC& c = order[static_cast<std::size_t>(s / depth_)];
      for (const index_t operand : {0, 1}) {
        index_t& known = seen[tile(operand, c, s % depth_)];
        next_[static_cast<std::size_t>(2 * s + operand)] = std::exchange(known, s);
      }
    }
    sends_.reserve(where_.size());
    for (index_t s = 0; s < static_cast<index_t>(count); ++s)
      add_product(s, order[static_cast<std::size_t>(s / depth_)]);
    merge();
  }

 private:
  struct Place {
    index_t tile = -1;  // empty
    index_t used = -never, needed = never;
  };
  struct Send {
    PieceStep step;
    index_t before;  // the product that it precedes
  };

  [[nodiscard]] std::size_t tile(index_t operand, const TileOfC& c, index_t p) const {
    return static_cast<std::size_t>((operand == 0 ? c.i : p_.tiles_m() + c.j) * depth_ + p);
  }

  void add_product(index_t s, const TileOfC& c) {
    const index_t p = s % depth_, number = s / depth_;
    PieceStep step{PieceStep::Does::multiply, c.i, c.j, p};
    step.c = number % p_.c_places;
    step.a = hold(0, s, c, p);
    step.b = hold(1, s, c, p);
    for (const index_t operand : {0, 1}) {
      Place& held = place(operand == 0 ? step.a : step.b);
      held.used = s;
      held.needed = next_[static_cast<std::size_t>(2 * s + operand)];
    }
    if (p == 0 && p_.request.reads_c)
      send(PieceStep::Does::send_c, step, s, (number - p_.c_places + 1) * depth_ - 1);
    products_.push_back(step);
  }

  /// Returns the place of an operand's tile; sends it there if it is absent.
  index_t hold(index_t operand, index_t s, const TileOfC& c, index_t p) {
    index_t& at = where_[tile(operand, c, p)];
    if (at >= 0) return at;
    at = choose(s);
    Place& taken = place(at);
    if (taken.tile >= 0) where_[static_cast<std::size_t>(taken.tile)] = -1;
    PieceStep step{operand == 0 ? PieceStep::Does::send_a : PieceStep::Does::send_b, c.i, c.j, p};
    (operand == 0 ? step.a : step.b) = at;
    send(step.does, step, s, taken.used);
    taken = {static_cast<index_t>(tile(operand, c, p)), s, s};
    return at;
  }

  [[nodiscard]] index_t choose(index_t s) {
    if (fresh_ < p_.places) return fresh_++;
    // Preference: not needed again, then not recently used, then needed last, then used first.
    const auto better = [&](const Place& x, const Place& y) {
      if ((x.needed == never) != (y.needed == never)) return x.needed == never;
      const bool x_rested = x.used < s - ahead, y_rested = y.used < s - ahead;
      if (x_rested != y_rested) return x_rested;
      return x.needed != y.needed ? x.needed > y.needed : x.used < y.used;
    };
    index_t best = -1;
    for (index_t at = 0; at < p_.places; ++at) {
      if (place(at).needed == s) continue;  // the other operand's tile
      if (best < 0 || better(place(at), place(best))) best = at;
    }
    return best;
  }

  void send(PieceStep::Does does, PieceStep step, index_t s, index_t used) {
    step.does = does;
    const index_t before = sends_.empty() ? 0 : sends_.back().before;
    const index_t early =
        std::min(ahead, s / ahead);  // the first products wait only for their own tiles
    sends_.push_back({step, std::max({before, s - early, used + 1})});
  }

  void merge() {
    const auto& r = p_.request;
    const auto rows = [&](index_t i) { return std::min(p_.m, r.m - i * p_.m); };
    const auto cols = [&](index_t j) { return std::min(p_.n, r.n - j * p_.n); };
    const auto depth = [&](index_t p) { return std::min(p_.k, r.k - p * p_.k); };
    p_.steps.reserve(products_.size() + sends_.size());
    std::size_t sent = 0;
    for (std::size_t s = 0; s < products_.size(); ++s) {
      for (; sent < sends_.size() && sends_[sent].before <= static_cast<index_t>(s); ++sent) {
        const PieceStep& x = sends_[sent].step;
        p_.steps.push_back(x);
        p_.sent_bytes +=
            r.element_bytes * (x.does == PieceStep::Does::send_a   ? rows(x.i) * depth(x.p)
                               : x.does == PieceStep::Does::send_b ? depth(x.p) * cols(x.j)
                                                                   : rows(x.i) * cols(x.j));
      }
      p_.steps.push_back(products_[s]);
    }
    p_.brought_bytes = r.m * r.n * r.element_bytes;
  }

  Place& place(index_t at) { return places_[static_cast<std::size_t>(at)]; }

  Pieces& p_;
  index_t depth_, fresh_ = 0;
  std::vector<Place> places_;
  std::vector<index_t> where_,
      next_;  // where_: the place of a tile; next_: the next product that needs a product's tiles
  std::vector<Send> sends_;
  std::vector<PieceStep> products_;
};

}  // namespace

Pieces plan_pieces(const PiecesRequest& r, index_t limit) {
  constexpr index_t least = 16;  // edge below which one launch per tile would take too long
  constexpr double endless = std::numeric_limits<double>::infinity();
  Candidate best = try_tiles(r, std::max(r.m, r.n), 1, limit);
  const bool whole = best.seconds < endless;
  for (index_t edge = least; !whole; edge *= 2) {
    for (index_t parts = 1; parts == 1 || ceil_div(r.k, parts) > least / 2; parts *= 2) {
      Candidate x = try_tiles(r, edge, parts, limit);
      if (x.seconds < best.seconds) best = std::move(x);
    }
    if (edge >= std::max(r.m, r.n)) break;
  }
  require(best.seconds < endless, ExitCode::memory,
          "product does not fit " + human_bytes(real(limit)) +
              " of device memory: tiles have at least " + std::to_string(least) + " x " +
              std::to_string(least) + " elements, in at most " + std::to_string(most_products) +
              " steps; raise " +
              std::string(option_or("--device-memory", "Tuning::device_memory")));
  const Places filled(best.pieces,
                      tiles_in_order(best.walk, best.pieces.tiles_m(), best.pieces.tiles_n()));
  return best.pieces;
}

}  // namespace tessera::inline v1::matmul
