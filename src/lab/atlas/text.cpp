// The atlas as printed tables.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/lines.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "lab/atlas/atlas.hpp"

namespace tessera::inline v1::atlas {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "-";
  return value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}
std::string bytes_or_none(double bytes) {
  return std::isnan(bytes) ? "-" : human_bytes(static_cast<index_t>(bytes));
}
std::string ns(double seconds) { return number(1e9 * seconds); }

std::string levels_text(const Atlas& atlas, std::size_t columns) {
  const std::vector<Level> levels = levels_of(atlas.curve(), atlas.caches);
  std::string out = fmt::format(
      "latency of dependent loads in random order, {} pages; a cycle takes {} ns ({} GHz)\n",
      atlas.huge_share > 0.5 ? "huge" : "small", ns(atlas.cycle), number(1e-9 / atlas.cycle));
  Table table({"level", "nominal size", "measured size", "ns", "cycles", "times the last"});
  std::string alike;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const Level& level = levels[l];
    table.add({level.name, level.nominal == 0 ? "-" : human_bytes(level.nominal),
               bytes_or_none(level.measured), ns(level.seconds),
               number(level.seconds / atlas.cycle),
               l == 0 ? "-" : number(level.seconds / levels[l - 1].seconds)});
    if (level.nominal != 0 && std::isnan(level.measured) && l + 1 < levels.size())
      alike += fmt::format(
          "{} and {} cannot be distinguished: other processes, or other virtual "
          "machines, may fill {}\n",
          level.name, levels[l + 1].name, level.name);
  }
  if (levels.empty()) return out + "the system reports no caches: see the curve in the report\n";
  return out + table.within(columns) + alike;
}

std::string reaches_text(const Atlas& atlas) {
  std::string out;
  for (const Reach& reach : reaches_of(atlas.chases, atlas.cycle)) {
    const std::string pages =
        fmt::format("{} pages of {} ({})", reach.pages, human_bytes(machine::page_bytes()),
                    human_bytes(reach.pages * machine::page_bytes()));
    out += reach.found
               ? fmt::format("TLB: a load of another page costs {:.0f} cycles more beyond {}\n",
                             reach.cycles, pages)
               : fmt::format("TLB: no load of another page costs {:.0f} cycles more up to {}\n",
                             reach.cycles, pages);
  }
  return out;
}

/// Returns the best bandwidth within each level, by threads.
std::string rates_text(const Atlas& atlas, std::size_t columns) {
  std::map<int, std::map<memory::Traffic, const Rate*>> largest, best;
  for (const Rate& rate : atlas.rates) {
    const Rate*& known = best[rate.threads][rate.traffic];
    if (known == nullptr || rate.bytes_per_second > known->bytes_per_second) known = &rate;
    if (rate.bytes == atlas.largest) largest[rate.threads][rate.traffic] = &rate;
  }
  Table table({"threads", "working set", "read GB/s", "write GB/s", "copy GB/s"});
  using memory::Traffic;
  const auto cell = [](const Rate* rate) {
    return rate == nullptr ? "-" : number(rate->bytes_per_second / 1e9);
  };
  for (auto& [threads, rates] : largest)
    table.add({std::to_string(threads), human_bytes(atlas.largest), cell(rates[Traffic::read]),
               cell(rates[Traffic::write]), cell(rates[Traffic::copy])});
  for (auto& [threads, rates] : best) {
    if (rates[Traffic::read]->bytes == atlas.largest) continue;  // measured at this size only
    table.add({std::to_string(threads), "best of all", cell(rates[Traffic::read]),
               cell(rates[Traffic::write]), cell(rates[Traffic::copy])});
  }
  return "\nbandwidth, bytes read plus bytes written\n" + table.within(columns);
}

std::string pairs_text(const Atlas& atlas) {
  if (atlas.pairs.empty()) return {};
  const auto by = [](const CorePair& a, const CorePair& b) {
    return a.seconds.least < b.seconds.least;
  };
  const auto [near, far] = std::minmax_element(atlas.pairs.begin(), atlas.pairs.end(), by);
  if (atlas.pairs.size() == 1)
    return fmt::format("\na cache line from cpu {} to cpu {}: {} ns\n", near->unit, near->other,
                       ns(near->seconds.least));
  return fmt::format(
      "\na cache line between two cpus, of {}: nearest {} and {} {} ns, farthest {} and {} {} ns\n",
      counted(static_cast<index_t>(atlas.pairs.size()), "pair"), near->unit, near->other,
      ns(near->seconds.least), far->unit, far->other, ns(far->seconds.least));
}

std::string place_text(index_t apart) {
  if (apart < 0) return "-";
  return apart == 0 ? "one word" : fmt::format("{} B apart", apart);
}

std::string operations_text(const Atlas& atlas, std::size_t columns) {
  std::vector<int> threads;
  std::vector<std::pair<std::string, index_t>> kinds;
  std::map<std::tuple<std::string, index_t, int>, double> seconds;
  for (const Operation& one : atlas.operations) {
    const std::pair kind{one.name, one.apart};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    if (std::find(threads.begin(), threads.end(), one.threads) == threads.end())
      threads.push_back(one.threads);
    seconds[{one.name, one.apart, one.threads}] = one.seconds;
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> headings{"operation", "words"};
  for (const int count : threads) headings.push_back(counted(count, "thread") + " ns");
  Table table(std::move(headings));
  for (const auto& [name, apart] : kinds) {
    std::vector<std::string> cells{name, place_text(apart)};
    for (const int count : threads) {
      const auto found = seconds.find({name, apart, count});
      cells.push_back(found == seconds.end() ? "-" : ns(found->second));
    }
    table.add(std::move(cells));
  }
  const bool unknown = std::any_of(atlas.operations.begin(), atlas.operations.end(),
                                   [](const Operation& one) { return std::isnan(one.seconds); });
  return "\ncost of an operation by every thread at once\n" + table.within(columns) +
         (unknown ? "-: the threads never ran at the same time\n" : "");
}

std::string roots_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.roots.empty()) return {};
  Table table({"inverse square root", "ns", "largest relative error"});
  for (const InverseRoot& one : atlas.roots)
    table.add({one.name, ns(one.cost.seconds), fmt::format("{:.2g}", one.cost.error)});
  return "\ninverse square roots of floats, one thread\n" + table.within(columns);
}

std::string remotes_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.remotes.empty()) return {};
  Table table({"core of node", "memory of node", "distance", "ns"});
  for (const Remote& one : atlas.remotes)
    table.add({std::to_string(one.from), std::to_string(one.to), number(one.distance),
               ns(one.seconds.least)});
  return "\nmemory of NUMA nodes\n" + table.within(columns);
}

std::string messages_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.messages.empty()) return {};
  Table table({"ranks", "bytes", "us", "GB/s"});
  for (const Message& one : atlas.messages)
    table.add({fmt::format("{} and {}", one.from, one.to), human_bytes(one.bytes),
               number(1e6 * one.seconds),
               number(static_cast<double>(one.bytes) / one.seconds / 1e9)});
  return "\nmessages, half a round trip\n" + table.within(columns);
}

std::string device_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.on_device.empty()) return {};
  Table table({"GPU", "bytes", "value", "units"});
  for (const OnDevice& one : atlas.on_device)
    table.add({one.kernel, human_bytes(one.bytes), number(one.value), one.units});
  return "\nmemories of the GPU: latency of a load; transfers\n" + table.within(columns);
}

std::string device_pages_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.gpu_pages.empty()) return {};
  Table table({"pages", "reach", "ns", "ns of lines", "more"});
  for (const PagesOnDevice& one : atlas.gpu_pages)
    table.add({std::to_string(one.pages), human_bytes(one.pages * one.page), ns(one.of_pages),
               ns(one.of_lines), ns(one.of_pages - one.of_lines)});
  return fmt::format("\npages of the GPU: a load per {} against a load per line\n",
                     human_bytes(atlas.gpu_pages.front().page)) +
         table.within(columns);
}

std::string device_waits_text(const Atlas& atlas, std::size_t columns) {
  if (atlas.gpu_waits.empty()) return {};
  Table table({"GPU", "threads", "ns"});
  for (const WaitOnDevice& one : atlas.gpu_waits)
    table.add({one.what, std::to_string(one.threads), ns(one.seconds)});
  return "\ncost of a barrier or launch on the GPU\n" + table.within(columns);
}

/// Returns a sentence about measurements that other processes disturbed.
std::string noise_text(const Atlas& atlas) {
  constexpr double steady = 1.25;
  const auto noisy = std::count_if(atlas.chases.begin(), atlas.chases.end(), [](const Chased& one) {
    return one.seconds.median > steady * one.seconds.least;
  });
  if (noisy == 0) return {};
  return fmt::format(
      "noise: in {} of {} the median run takes over 25 % longer than the least, which counts\n",
      noisy, counted(static_cast<index_t>(atlas.chases.size()), "pointer chase"));
}

}  // namespace

const char* name(Chased::Kind kind) {
  switch (kind) {
    case Chased::Kind::lines_huge:
      return "lines, huge pages";
    case Chased::Kind::lines_small:
      return "lines, small pages";
    case Chased::Kind::pages:
      return "pages";
  }
  return "";
}

const char* name(memory::Traffic traffic) {
  switch (traffic) {
    case memory::Traffic::read:
      return "read";
    case memory::Traffic::write:
      return "write";
    case memory::Traffic::copy:
      return "copy";
  }
  return "";
}

std::string text_of(const Atlas& atlas, std::size_t columns) {
  std::string out =
      levels_text(atlas, columns) + reaches_text(atlas) + rates_text(atlas, columns) +
      pairs_text(atlas) + operations_text(atlas, columns) + roots_text(atlas, columns) +
      remotes_text(atlas, columns) + messages_text(atlas, columns) + device_text(atlas, columns) +
      device_pages_text(atlas, columns) + device_waits_text(atlas, columns) + noise_text(atlas);
  for (const std::string& sentence : atlas.absent) out += "absent: " + sentence + '\n';
  return out;
}

}  // namespace tessera::inline v1::atlas
