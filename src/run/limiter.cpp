#include "run/limiter.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/text.hpp"

namespace tessera::inline v1::run {
namespace {

enum class Spending { reading, writing, messages, transfers, check, computing };
constexpr std::size_t kinds = 6;

Spending kind_of(std::string_view phase) {
  if (phase == "read") return Spending::reading;
  for (const char* one : {"write", "publish", "snapshot", "checkpoint"})
    if (phase == one) return Spending::writing;
  if (phase == "exchange" || phase == "in flight" || phase == "waiting") return Spending::messages;
  if (phase == "to device" || phase == "from device") return Spending::transfers;
  return phase == "verify" ? Spending::check : Spending::computing;
}

template <class T>
const T& value_of(const io::Row& row, const char* column) {
  const auto found = std::find_if(row.begin(), row.end(),
                                  [&](const io::Cell& cell) { return cell.column == column; });
  return std::get<T>(found->value);
}

/// Seconds of a point: the mean of the ranks by kind, and computing of the slowest rank.
struct Spent {
  std::array<double, kinds> mean{};
  double total = 0, slowest_computing = 0;
  bool on_gpu = false;
  [[nodiscard]] double of(Spending kind) const { return mean[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::string share_text(double seconds) const {
    return fmt::format("{:.0f} % of {}", 100 * seconds / total, human_seconds(total));
  }
};

/// Of a rank that drives a GPU, the time of its kernels is computing; the rest of what it computed
/// is transfers.
Spent spent_in(const std::vector<io::Row>& phases) {
  constexpr auto computing = static_cast<std::size_t>(Spending::computing);
  constexpr auto transfers = static_cast<std::size_t>(Spending::transfers);
  std::map<index_t, std::array<double, kinds>> ranks;
  std::map<index_t, double> kernels;
  for (const io::Row& row : phases) {
    const auto& phase = value_of<std::string>(row, "phase");
    if (phase == "device kernels") {  // within the others
      kernels[value_of<index_t>(row, "rank")] += value_of<double>(row, "seconds");
      continue;
    }
    ranks[value_of<index_t>(row, "rank")][static_cast<std::size_t>(kind_of(phase))] +=
        value_of<double>(row, "seconds");
  }
  Spent spent;
  for (auto& [rank, seconds] : ranks) {
    if (const auto own = kernels.find(rank); own != kernels.end() && own->second > 0) {
      spent.on_gpu = true;
      const double moving = std::max(0.0, seconds[computing] - own->second);
      seconds[transfers] += moving;
      seconds[computing] -= moving;
    }
    for (std::size_t k = 0; k < kinds; ++k)
      spent.mean[k] += seconds[k] / static_cast<double>(ranks.size());
    spent.slowest_computing = std::max(spent.slowest_computing, seconds[computing]);
  }
  for (const double seconds : spent.mean) spent.total += seconds;
  return spent;
}

std::string computing_text(const Spent& spent, const std::optional<CeilingShare>& reached) {
  constexpr double near = 0.6;  // of a ceiling
  const std::string share = spent.share_text(spent.of(Spending::computing));
  if (spent.on_gpu)
    return fmt::format("limited by computing on the GPU ({}); try more GPUs, one per rank", share);
  if (!reached || reached->share < near)
    return fmt::format("limited by computing ({}); try more threads, ranks or --device gpu", share);
  const double percent = 100 * reached->share;
  if (reached->name == "copy")
    return fmt::format(
        "limited by memory: {:.0f} % of its measured bandwidth; try more nodes, as more cores of "
        "this one share it",
        percent);
  return fmt::format(
      "limited by arithmetic: {:.0f} % of the measured peak rate; try --type f32, more ranks or "
      "--device gpu",
      percent);
}

}  // namespace

std::string limit_sentence(const std::vector<io::Row>& phases,
                           const std::optional<CeilingShare>& reached, InputFrom input) {
  constexpr double shortest = 1, least = 0.4, least_waiting = 0.2;
  const Spent spent = spent_in(phases);
  if (spent.total < shortest) return "";
  const double waiting = spent.slowest_computing - spent.of(Spending::computing);
  if (waiting >= least_waiting * spent.total)
    return fmt::format(
        "limited by imbalance: the slowest rank computed {:.1f} times as long as the mean; try "
        "ranks with equally many cores, or --shares measured",
        spent.slowest_computing / spent.of(Spending::computing));
  const auto most = std::max_element(spent.mean.begin(), spent.mean.end());
  if (*most < least * spent.total) return "";
  const std::string share = spent.share_text(*most);
  switch (static_cast<Spending>(most - spent.mean.begin())) {
    case Spending::reading:
      if (input == InputFrom::generator)
        return fmt::format("limited by generating the input ({}); try more threads, or a file",
                           share);
      return fmt::format(
          "limited by reading ({}); try a faster file system, or an input without compression",
          share);
    case Spending::writing:
      return fmt::format(
          "limited by writing ({}); try a faster file system, or --verify-output sample", share);
    case Spending::messages:
      return fmt::format(
          "limited by messages between ranks ({}); try fewer ranks with more threads each", share);
    case Spending::transfers:
      return fmt::format(
          "limited by transfers to and from the GPU ({}); try --device cpu, or a larger "
          "--device-memory",
          share);
    case Spending::check:
      return fmt::format("limited by the check of the result ({}); try --no-verify", share);
    case Spending::computing:
      break;
  }
  return computing_text(spent, reached);
}

}  // namespace tessera::inline v1::run
