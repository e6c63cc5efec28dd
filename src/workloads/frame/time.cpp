#include "workloads/frame/time.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/lines.hpp"
#include "base/text.hpp"
#include "mpi/account.hpp"

namespace tessera::inline v1::workloads {
namespace {

/// Bytes that pass at a measured rate.
struct Passed {
  double bytes;
  const char* rate;  ///< of the ceilings, GB/s
};

/// Adds up the seconds of phases.
class Clocked {
 public:
  Clocked(const run::Ceilings& ceilings, const JobSize& job, int threads)
      : ceilings_(ceilings),
        threads_(threads * job.ranks_per_node),
        nodes_(static_cast<double>(ceil_div(job.ranks, job.ranks_per_node))) {}

  /// Returns the seconds of passes one after the other; the nodes share the work, and files.
  double seconds(const std::vector<Passed>& passes) {
    double sum = 0;
    for (const Passed& pass : passes) {
      if (pass.bytes == 0) continue;
      const auto rate = ceilings_.at(pass.rate, threads_);
      const bool of_files = std::string_view(pass.rate).starts_with("file_");
      if (rate)
        sum += pass.bytes / (*rate * 1e9) / (of_files ? 1 : nodes_);
      else
        lacks_ = true;
    }
    return sum;
  }
  /// Adds a phase, unless it takes no time or a rate is missing.
  void add(const char* phase, double seconds) {
    if (lacks_)
      time.unknown.emplace_back(phase);
    else if (seconds > 0)
      time.phases.emplace_back(phase, seconds);
    lacks_ = false;
  }

  RunTime time;

 private:
  const run::Ceilings& ceilings_;
  index_t threads_;
  double nodes_;
  bool lacks_ = false;
};

}  // namespace

double RunTime::total() const {
  double sum = phases.empty() ? -1 : 0;
  for (const auto& [phase, seconds] : phases) sum += seconds;
  return sum;
}

RunTime time_of(const Volumes& volumes, double repetition, const run::Ceilings& ceilings,
                const JobSize& job, int threads) {
  Clocked clocked(ceilings, job, threads);
  if (repetition < 0) return {};
  const auto& v = volumes;
  const auto times = static_cast<double>(job.warmups + job.repetitions);
  clocked.add("start", job.start);
  clocked.add("allocate", clocked.seconds({{v.touched, "touch"}}));
  const std::vector<Passed> input{
      {v.generated, "generate"}, {v.read, "file_read"}, {v.decoded, "decode"}};
  clocked.add("read", clocked.seconds(input));
  const double again = v.reloads && times > 1 ? (times - 1) * clocked.seconds(input) : 0;
  clocked.add("prepare", again + times * clocked.seconds({{v.restored, "copy"}}));
  clocked.add("warm-up", static_cast<double>(job.warmups) * repetition);
  clocked.add("repetitions", static_cast<double>(job.repetitions) * repetition);
  clocked.add("verify", clocked.seconds({{v.hashed, "hash"}, {v.streamed, "copy"}}));
  clocked.add("write", clocked.seconds({{v.spilled, "file_write"},
                                        {v.spilled, "file_read"},
                                        {v.written, "file_write"},
                                        {v.encoded, "encode"}}));
  return clocked.time;
}

std::string text_of(const RunTime& time, std::size_t columns) {
  constexpr std::string_view head = "predicted time of the run: ";
  // Launching, creating files and ending, which no rate tells, are half of a short run.
  const bool is_short = time.total() < 1;
  std::string text = fmt::format(
      "{}{}", head,
      mpi::account_text(time.phases, columns - head.size(), is_short ? "under 1 s" : ""));
  if (!time.unknown.empty())
    text +=
        "\n" + filled(fmt::format("without {}, whose rates are unknown: run `tessera machine` once",
                                  join(time.unknown, ", ")),
                      columns);
  return text;
}

}  // namespace tessera::inline v1::workloads
