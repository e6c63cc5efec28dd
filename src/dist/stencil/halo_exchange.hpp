#pragma once
// The halo exchange alone: ghost layers of fields in the caller's memory, for steps in the caller's
// own code.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "base/complex.hpp"
#include "base/error.hpp"
#include "base/grid_view.hpp"
#include "dist/stencil/scheme.hpp"
#include "kernels/variant.hpp"
#include "layout/grid_layout.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::stencil {

/// Ghost layers around the boxes of a grid.
struct HaloShape {
  layout::GridLayout grid;
  Index3 widths;  ///< layers on both sides of a box, by dimension (z, y, x); 0: none
  Sides sides = tessera::stencil::all_sides({});  ///< what the layers outside of the field hold
};

/// Numbers of which fields consist: of 1, 2, 4, 8 or 16 bytes and made from a double, as integers
/// under any name, Half and other halves (__half, bf16), float, double, Complex and std::complex.
template <class T>
concept Point = std::is_trivially_copyable_v<T> &&
    (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

/// Returns whether a conversion of the number to T is defined.
template <class T>
[[nodiscard]] constexpr bool holds(double number) {
  if constexpr (std::integral<T>) {
    constexpr double end = (std::is_signed_v<T> ? 1.0 : 2.0) *
                           static_cast<double>(std::uint64_t{1} << (8 * sizeof(T) - 1));
    return number > (std::is_signed_v<T> ? -end - 1 : -1.0) && number < end;
  }
  return true;
}
/// Returns the number as a point.
template <Point T>
[[nodiscard]] T point_of_value(double value) {
  if constexpr (is_complex<T>) {
    return {static_cast<Real<T>>(value)};
  } else if constexpr (requires { typename T::value_type; }) {
    return {static_cast<typename T::value_type>(value)};
  } else {
    return static_cast<T>(value);
  }
}

/// A halo exchange of points that are only moved: what HaloPlan does for every type.
class HaloMoves {
 public:
  /// The bytes of a point, and those of the values beyond the sides of the field.
  using Value = std::array<std::byte, 16>;
  using Values = std::array<std::array<Value, 2>, 3>;
  struct Points {
    index_t bytes = 8;
    Values beyond{};
    Space place = Space::host;
  };
  /// A field of the caller; strides count points.
  struct Memory {
    void* data = nullptr;
    Index3 extent, stride;
  };

  /// Throws as HaloPlan's constructor.
  HaloMoves(const mpi::Communicator& comm, const HaloShape& shape, const Points& points,
            index_t fields, int threads);
  HaloMoves(HaloMoves&&) noexcept;
  HaloMoves& operator=(HaloMoves&&) noexcept;
  HaloMoves(const HaloMoves&) = delete;
  HaloMoves& operator=(const HaloMoves&) = delete;
  ~HaloMoves();

  /// Throw as HaloPlan::start().
  void check_fields(std::size_t fields) const;
  void check(std::size_t field, const Memory& memory) const;
  void expect_idle() const;
  /// Binds a field that is checked.
  void bind(std::size_t field, const Memory& memory);
  void start();
  void wait();
  [[nodiscard]] index_t messages() const;
  [[nodiscard]] index_t buffer_bytes() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// An exchange of ghost layers that is planned once and executed many times. Executions allocate
/// nothing; they must be in the same order on all ranks as those of other plans of the
/// communicator.
template <Point T>
class HaloPlan {
 public:
  /// Plans the exchange for `fields` fields at once, in one message a pair of ranks, and allocates
  /// buffer_bytes(). Throws Error(usage), naming the argument, on all ranks for a grid of other
  /// ranks, a box thinner than the layers, a dimension that is periodic on one side, and a constant
  /// that T does not hold. Fields at Space::device are in the memory of the device that is current
  /// in all calls; start() and wait() act after its earlier work, and their messages pass through
  /// the host. Local.
  HaloPlan(const mpi::Communicator& comm, const HaloShape& shape, index_t fields = 1,
           int threads = machine::default_threads(), Space place = Space::host)
      : moves_(comm, shape, {index_t{sizeof(T)}, values_of(shape.sides), place}, fields, threads) {}

  /// Packs the layers inside of this rank's boxes and starts their messages. fields[f](0, 0, 0) is
  /// the first point of the box; the extent is that of the box without ghost layers, strides are
  /// any. Afterwards the boxes may be read and written; the ghost layers belong to the plan until
  /// wait(). Throws Error(usage), naming the argument, on the rank whose fields do not fit; the
  /// other ranks then wait in vain. Collective.
  void start(std::span<const GridView<T>> fields) {
    moves_.expect_idle();
    check(fields);
    for (std::size_t f = 0; f < fields.size(); ++f) moves_.bind(f, memory_of(fields[f]));
    moves_.start();
  }
  /// Waits for the messages and fills all ghost layers of the fields of start(), edges and corners
  /// included: the neighbours' points as they were at start(), and beyond the sides of the field
  /// values by the rule of z, then y, then x, from the points as they are now. Values beyond given
  /// sides are left as they are; the caller has written them along the ghost layers of other
  /// dimensions, too. Collective.
  void wait() { moves_.wait(); }
  /// Starts and waits.
  void execute(std::span<const GridView<T>> fields) {
    start(fields);
    wait();
  }
  void start(const GridView<T>& field) { start(std::span(&field, 1)); }
  void execute(const GridView<T>& field) { execute(std::span(&field, 1)); }

  /// Throws as start(), and exchanges nothing. Local.
  void check(std::span<const GridView<T>> fields) const {
    moves_.check_fields(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f) moves_.check(f, memory_of(fields[f]));
  }

  [[nodiscard]] index_t messages() const {
    return moves_.messages();
  }  ///< sent by this rank, and received
  /// Returns the bytes of the messages, sent and received; on a device twice, there and on the
  /// host.
  [[nodiscard]] index_t buffer_bytes() const { return moves_.buffer_bytes(); }

 private:
  static HaloMoves::Values values_of(const Sides& sides) {
    HaloMoves::Values values{};
    for (std::size_t d = 0; d < 3; ++d) {
      for (std::size_t side = 0; side < 2; ++side) {
        const auto& [kind, number] = sides[d][side];
        if (kind != Boundary::constant) continue;
        require_argument(holds<T>(number), "shape.sides",
                         "have a constant that the type of the points does not hold");
        const T value = point_of_value<T>(number);
        std::memcpy(values[d][side].data(), &value, sizeof(T));
      }
    }
    return values;
  }
  static HaloMoves::Memory memory_of(const GridView<T>& field) {
    return {field.data, field.extent, field.stride};
  }

  HaloMoves moves_;
};

/// Fills the ghost layers of a field once, as HaloPlan. Throws Error(usage) on all ranks if
/// anything does not fit. Collective.
template <Point T>
void exchange_halo(const mpi::Communicator& comm, const GridView<T>& field,
                   const HaloShape& shape) {
  std::optional<HaloPlan<T>> plan;
  mpi::together(comm, "exchange", [&] {
    plan.emplace(comm, shape);
    plan->check(std::span(&field, 1));
  });
  plan->execute(field);
}

}  // namespace tessera::inline v1::dist::stencil
