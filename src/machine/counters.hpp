#pragma once
// Hardware counters of this process, where the machine and the system grant them (Linux:
// perf_event_open).

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::machine {

/// What can be counted: a name for people and files, and how Linux calls it.
struct Event {
  std::string name;
  std::uint32_t type = 0;    ///< perf_event_attr::type
  std::uint64_t config = 0;  ///< perf_event_attr::config
};

/// cycles, instructions, l1_misses, l2_misses, llc_misses (of loads), vector_instructions, as this
/// processor calls them; those that nobody knows for it are left out.
[[nodiscard]] std::vector<Event> processor_events();
/// The same for a maker, a family and whether vectors have 64 bytes, as /proc/cpuinfo tells them.
[[nodiscard]] std::vector<Event> processor_events(const std::string& maker, int family, bool wide);

/// Counts in user mode, of all threads that live when it is made and of all that they start.
class Counters {
 public:
  explicit Counters(const std::vector<Event>& events);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  struct Count {
    std::string event;
    double value;  ///< since the counters were made; scaled where events took turns. NaN: not to be
                   ///< had
  };
  /// One value an event, in their order.
  [[nodiscard]] std::vector<Count> read() const;
  [[nodiscard]] bool any() const;
  /// Why there are none, in the system's words; "" where there are.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  struct Source {
    std::string event;
    std::vector<int> descriptors;  ///< one a thread
  };
  std::vector<Source> sources_;
  std::string reason_;
};

}  // namespace tessera::machine
