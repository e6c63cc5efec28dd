#pragma once
// What warps ask of memory: the one model of an access. A request is one instruction of a warp: its
// lanes' byte addresses in one array.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "machine/residency.hpp"

namespace tessera::inline v1::paper {

inline constexpr index_t lanes = machine::warp_threads;
using Mask = std::uint32_t;  ///< bit i: lane i takes part

enum class Space { global, shared };
enum class Kind { load, store, atomic };

/// Addresses of the active lanes, in bytes.
using Addresses = std::array<index_t, static_cast<std::size_t>(lanes)>;

/// Returns how many aligned pieces of `piece` bytes the elements of the active lanes lie in: the
/// sectors of 32 bytes, or lines of 128, that serve a request to global memory.
[[nodiscard]] index_t pieces_of(const Addresses& at, Mask active, index_t piece);

/// Returns how often shared memory is accessed to serve a request: 32 banks of 4 bytes, each one
/// word an access. Lanes that load or store the same word share it; atomic additions to one word
/// are served one by one. Elements of 8 bytes are served by half warps, of 16 by quarters (NVIDIA,
/// CUDA C++ Programming Guide, shared memory of compute capability 5.x).
[[nodiscard]] index_t passes_of(const Addresses& at, Mask active, index_t element_bytes, Kind kind);

/// An array as a kernel declares it.
struct Declared {
  std::string name;
  Space space = Space::global;
  index_t element_bytes = 0;
  index_t bytes = 0;
  index_t base = 0;  ///< address of the first element
  index_t row = 0;   ///< elements of a row; 0: no rows
};

/// One instruction of a warp that touches memory.
struct Instruction {
  std::size_t array = 0;
  Kind kind = Kind::load;
  index_t block = 0, first = 0;  ///< first thread of the warp, in its block
  Addresses at = {};
  Mask active = 0;
  index_t bytes = 0;  ///< per lane
};

/// Sees a kernel run, in order.
class Witness {
 public:
  Witness() = default;
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  virtual ~Witness() = default;
  virtual void declared(std::size_t number, const Declared& array) = 0;
  virtual void executed(const Instruction& instruction) = 0;
  virtual void barrier(index_t block) = 0;
};

/// Requests of one kind to one array.
struct Traffic {
  index_t requests = 0;
  index_t lanes = 0;     ///< active, in all requests
  index_t segments = 0;  ///< global memory
  index_t lines = 0;     ///< global memory
  index_t passes = 0;    ///< shared memory

  [[nodiscard]] double per_request(index_t count) const {
    return requests > 0 ? static_cast<double>(count) / static_cast<double>(requests) : 0;
  }
};
Traffic& operator+=(Traffic& to, const Traffic& from);

struct ArrayTraffic {
  std::string name;
  Space space = Space::global;
  index_t element_bytes = 0;
  std::array<Traffic, 3> by_kind = {};
  index_t loaded = 0, stored = 0;  ///< different segments
  index_t loaded_by_blocks = 0;    ///< different segments of each block, added up

  [[nodiscard]] const Traffic& of(Kind kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
};

/// How a kernel is launched.
struct Launch {
  index_t blocks = 0, threads = 0, shared_bytes = 0;
};

/// Counts the requests of a kernel.
class Meter {
 public:
  explicit Meter(index_t segment_bytes) : segment_(segment_bytes) {}

  /// Returns the number of an array; one that was declared by its name before keeps it.
  std::size_t declare(const Declared& array);
  /// Counts a request.
  void access(const Instruction& request);
  /// Counts loads of a warp that are in flight together.
  void in_flight(index_t bytes);
  void operations(index_t count, Mask active);
  /// Counts a warp that has ended: the most paths its lanes took at a branch.
  void end_warp(index_t ways);
  Launch launch;
  Witness* witness = nullptr;  ///< sees the kernel run; nullptr: none does
  /// Registers of a thread, in bytes: more than that it cannot have in flight.
  index_t thread_bytes = 4 * 255;
  /// Phases whose loads are in flight together: more than one for asynchronous copies.
  index_t phases_ahead = 1;

  [[nodiscard]] const std::vector<ArrayTraffic>& arrays() const { return arrays_; }
  [[nodiscard]] index_t segment_bytes() const { return segment_; }
  /// Returns the requests of a kind to a space.
  [[nodiscard]] Traffic all(Space space, Kind kind) const;
  [[nodiscard]] double ways() const { return mean(ways_, warps_); }
  [[nodiscard]] index_t most_ways() const { return most_ways_; }
  [[nodiscard]] index_t divergent_warps() const { return divergent_; }
  [[nodiscard]] index_t warps() const { return warps_; }
  /// Returns the active lanes of an instruction, on average: of requests and operations.
  [[nodiscard]] double active_lanes() const { return mean(active_, instructions_); }
  [[nodiscard]] double operations() const { return static_cast<double>(operations_); }
  /// Returns the operations that whole warps would have computed in the same time.
  [[nodiscard]] double operation_slots() const { return static_cast<double>(slots_); }
  /// Returns the bytes of global memory that a warp has in flight before it needs them, on average.
  [[nodiscard]] double flight_bytes() const {
    return static_cast<double>(phases_ahead) * mean(flight_bytes_, flights_);
  }

 private:
  /// Which segments of a global array were touched.
  struct Touched {
    std::vector<index_t> loaded_by;  ///< block of the last load; -1: none
    std::vector<bool> stored;
  };
  [[nodiscard]] static double mean(index_t sum, index_t count) {
    return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
  }
  void touch(std::size_t array, Kind kind, index_t block, index_t segment);

  index_t segment_;
  std::vector<ArrayTraffic> arrays_;
  std::vector<Touched> touched_;
  index_t warps_ = 0, ways_ = 0, most_ways_ = 0, divergent_ = 0;
  index_t instructions_ = 0, active_ = 0, operations_ = 0, slots_ = 0, flights_ = 0,
          flight_bytes_ = 0;
};

}  // namespace tessera::inline v1::paper
