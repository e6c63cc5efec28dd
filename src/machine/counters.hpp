#pragma once
// Hardware counters of this process, if the machine and the system grant them (Linux:
// perf_event_open).

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v1::machine {

/// A countable event: its name in output and files, and its Linux encoding.
struct CounterEvent {
  std::string name;
  std::uint32_t type = 0;    ///< perf_event_attr::type
  std::uint64_t config = 0;  ///< perf_event_attr::config
};

/// Returns this processor's events for cycles, instructions, l1_misses, l2_misses, llc_misses (of
/// loads) and vector_instructions; without those that are unknown for it.
[[nodiscard]] std::vector<CounterEvent> processor_events();
/// Returns the events for a vendor, a family and whether vectors have 64 bytes, as in
/// /proc/cpuinfo.
[[nodiscard]] std::vector<CounterEvent> processor_events(const std::string& maker, int family,
                                                         bool wide);

/// Counts in user mode over all threads that exist at construction and all their descendants.
class Counters {
 public:
  explicit Counters(const std::vector<CounterEvent>& events);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  struct Count {
    std::string event;
    double value;  ///< since construction, scaled for multiplexing; NaN: unavailable
  };
  /// Returns one value per event, in the order of construction.
  [[nodiscard]] std::vector<Count> read() const;
  [[nodiscard]] bool any() const;
  /// Returns why nothing can be counted, in the system's words; "" if something can.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  struct Source {
    std::string event;
    std::vector<int> descriptors;  ///< one per thread
  };
  std::vector<Source> sources_;
  std::string reason_;
};

}  // namespace tessera::inline v1::machine
