#pragma once
// Access stream of a kernel, in order: the input of every simulator.

#include <cstdint>
#include <span>

#include "base/index.hpp"

namespace tessera::inline v1::locality {

/// Load or store of an element or a vector, or start or end of a subproblem of a recursion.
class Access {
 public:
  enum class Kind : std::uint8_t { load = 0, store = 1, enter = 2, leave = 3 };

  Access() = default;
  /// Precondition: bytes < 256, array < 256, address < 2^40.
  constexpr Access(Kind kind, std::uint64_t address, unsigned bytes, unsigned array = 0)
      : bits_(static_cast<std::uint64_t>(kind) << 56 | std::uint64_t{array} << 48 |
              std::uint64_t{bytes} << 40 | address) {}

  [[nodiscard]] constexpr Kind kind() const { return static_cast<Kind>(bits_ >> 56); }
  [[nodiscard]] constexpr bool is_touch() const { return bits_ >> 57 == 0; }
  [[nodiscard]] constexpr bool is_store() const { return kind() == Kind::store; }
  [[nodiscard]] constexpr std::uint64_t address() const {
    return bits_ & ((std::uint64_t{1} << 40) - 1);
  }
  [[nodiscard]] constexpr unsigned bytes() const {
    return static_cast<unsigned>(bits_ >> 40 & 0xff);
  }
  [[nodiscard]] constexpr unsigned array() const {
    return static_cast<unsigned>(bits_ >> 48 & 0xff);
  }
  [[nodiscard]] constexpr Access in_array(unsigned array) const {
    return {kind(), address(), bytes(), array};
  }

 private:
  std::uint64_t bits_;
};

/// Consumer of an access stream, in pieces.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;
  virtual void take(std::span<const Access> accesses) = 0;
};

/// Cache line size, a power of two bytes.
class LineSize {
 public:
  explicit LineSize(index_t bytes);
  [[nodiscard]] index_t bytes() const { return index_t{1} << log2_; }
  [[nodiscard]] std::uint64_t of(std::uint64_t address) const { return address >> log2_; }

 private:
  int log2_ = 6;
};

/// Upper bound of the arrays that are counted separately.
inline constexpr unsigned most_arrays = 16;

}  // namespace tessera::inline v1::locality
