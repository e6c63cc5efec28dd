#pragma once
// tessera machine --atlas: latencies and bandwidths of this machine, level by level.

#include <functional>
#include <string>
#include <vector>

#include "io/results.hpp"
#include "kernels/memory/chase.hpp"
#include "kernels/memory/inverse_root.hpp"
#include "kernels/memory/memory.hpp"
#include "machine/topology.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::atlas {

using memory::StepTime;

/// Dependent loads in random order.
struct Chased {
  enum class Kind {
    lines_huge,
    lines_small,
    pages
  };  ///< a load a line, on huge or small pages; a
      ///< load a small page
  Kind kind;
  index_t bytes;  ///< spanned by the loads
  index_t loads;  ///< in a lap
  StepTime seconds;
};
[[nodiscard]] const char* name(Chased::Kind kind);

/// A plateau of the latency.
struct Level {
  std::string name;  ///< "L1d", "L2", "L3", "memory"
  index_t nominal;   ///< bytes reported by the operating system; 0: memory
  double seconds;    ///< median of the curve well inside the level
  double measured;   ///< bytes where the curve is half-way to the next level; NaN: memory, or the
                     ///< two cannot be distinguished
};
/// Returns the plateaus of a curve by growing size with these caches, the smallest first. A level
/// is apart from the next one if its latency is lower by at least a sixth; "half-way" is the
/// geometric mean.
[[nodiscard]] std::vector<Level> levels_of(const std::vector<Chased>& curve,
                                           const std::vector<machine::CacheLevel>& caches);

/// A reach of the translation caches (TLB): the first number of pages beyond which a load costs
/// more than this many cycles over one of a line in the same cache.
struct Reach {
  double cycles;  ///< the threshold
  index_t pages;  ///< largest number measured below it; 0: none
  bool found;     ///< false: no measured number exceeds it
};
/// Returns the reaches for thresholds of 3 cycles (a miss of the first level) and 15 (of all).
[[nodiscard]] std::vector<Reach> reaches_of(const std::vector<Chased>& chases, double cycle);

struct Rate {
  memory::Traffic traffic;
  int threads;
  index_t bytes;  ///< working set of all threads
  double bytes_per_second;
};
[[nodiscard]] const char* name(memory::Traffic traffic);

struct CorePair {
  int unit, other;
  StepTime seconds;  ///< of a line, one way
};

/// Cost of an operation by each of the threads at once.
struct Operation {
  std::string name;
  index_t apart;  ///< bytes between the words of neighbouring threads; -1: no words
  int threads;
  double seconds;
};

/// An inverse square root of floats on one thread.
struct InverseRoot {
  std::string name;
  memory::RootCost cost;
};

struct Remote {
  int from, to;     ///< NUMA nodes: of the core, of the memory
  double distance;  ///< by the firmware; NaN: unknown
  StepTime seconds;
};

struct Message {
  int from, to;
  index_t bytes;
  double seconds;  ///< half a round trip
};

struct OnDevice {
  std::string kernel;  ///< a row of the device probes
  index_t bytes;
  double value;
  std::string units;  ///< "ns" a load, "GB/s"
};

/// Dependent loads on a GPU, one a page, and as many of lines that lie side by side: what the page
/// table adds.
struct PagesOnDevice {
  index_t page;  ///< bytes
  index_t pages;
  double of_pages, of_lines;  ///< seconds a load
};

/// The cost of waiting on a GPU.
struct WaitOnDevice {
  std::string what;  ///< "barrier of a block", "barrier of a grid", "launch of a kernel"
  index_t threads;
  double seconds;
};

struct Atlas {
  double cycle = 0;       ///< seconds
  index_t largest = 0;    ///< bytes of the largest working set
  double huge_share = 0;  ///< of the chased memory on huge pages
  std::vector<machine::CacheLevel> caches;
  std::vector<Chased> chases;
  std::vector<Rate> rates;
  std::vector<CorePair> pairs;
  std::vector<Operation> operations;
  std::vector<InverseRoot> roots;
  std::vector<Remote> remotes;
  std::vector<Message> messages;
  std::vector<OnDevice> on_device;
  std::vector<PagesOnDevice> gpu_pages;
  std::vector<WaitOnDevice> gpu_waits;
  std::vector<std::string> absent;  ///< sentences: what was not measured, and why

  [[nodiscard]] std::vector<Chased> of(Chased::Kind kind) const;
  /// Returns the curve that shows the caches: on huge pages, if the system granted them.
  [[nodiscard]] std::vector<Chased> curve() const;
};

/// Returns the largest working set by default: four times the last-level cache, at most 1 GiB and
/// an eighth of the available memory.
[[nodiscard]] index_t usual_largest();
/// Measures on rank 0 while the others sleep, then messages between ranks. largest: of the working
/// sets. Collective.
[[nodiscard]] Atlas measure(const mpi::Communicator& comm, index_t largest);

// Each measures one chapter.
void measure_chases(Atlas& atlas);
void measure_remote(Atlas& atlas);
void measure_rates(Atlas& atlas);
void measure_threads(Atlas& atlas);
void measure_device(Atlas& atlas);
void measure_messages(const mpi::Communicator& comm, Atlas& atlas);

/// The request of a command.
struct Request {
  const mpi::Communicator& comm;
  const run::OptionSet& set;
  const run::Parsed& parsed;
  const std::vector<std::string>& arguments;
};
/// Calls `begin` on rank 0, then measures, prints and stores the atlas: options --largest and
/// --results. Collective.
[[nodiscard]] ExitCode run(const Request& request, const std::function<void()>& begin);

[[nodiscard]] std::vector<io::TableRows> tables_of(const Atlas& atlas);
[[nodiscard]] std::string text_of(const Atlas& atlas, std::size_t columns);

}  // namespace tessera::inline v1::atlas
