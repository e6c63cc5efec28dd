// Comparison of Tessera's sorts with others (--help). Tessera's time includes the allocation of
// scratch memory; on one thread it is CPU time.

#include "bench.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/table.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/permute.hpp"
#include "kernels/sort/records.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/runtime.hpp"
#include "sort_peers/peers.hpp"

namespace tessera::bench {
namespace {

struct Options {
  index_t n = index_t{1} << 23;
  std::vector<std::string> types{"u64", "f64", "u32", "kv"};
  std::vector<std::string> inputs{"uniform",   "gaussian",  "exponential",   "zipf",   "root_dup",
                                  "two_dup",   "eight_dup", "almost_sorted", "sorted", "reverse",
                                  "all_equal", "staggered", "entropy_0.544"};
  std::vector<int> threads{1, 2};
  std::vector<std::string> ours{"auto"};
  std::vector<std::string> without{"std::stable_sort"};
  double seconds = 1.0;  ///< per cell
};

/// Ratios of the best peer's time to Tessera's, by (type, threads).
using Ratios = std::map<std::string, std::vector<double>>;

template <class T>
void fill(const sort::Input& input, std::span<T> keys) {
  sort::generate<T>(input, 1, 0, static_cast<index_t>(keys.size()), keys);
}
template <>
void fill(const sort::Input& input, std::span<KeyValue> pairs) {
  std::vector<std::uint64_t> keys(pairs.size());
  fill<std::uint64_t>(input, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) pairs[i] = {keys[i], i};
}

/// Fills the keys' first bytes in the order of the input's keys.
template <>
void fill(const sort::Input& input, std::span<Record> records) {
  std::vector<std::uint64_t> keys(records.size());
  fill<std::uint64_t>(input, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t b = 0; b < sizeof(Record); ++b)
      records[i].bytes[b] =
          static_cast<unsigned char>(b < 8 ? keys[i] >> (56 - 8 * b) : i >> (b % 4 * 8));
  }
}

template <class T>
void sort_ours(const std::string& variant, std::span<T> data, int threads) {
  sort::sort_keys<T>(variant, data, threads);
}
template <>
void sort_ours(const std::string& variant, std::span<KeyValue> data, int threads) {
  sort::sort_pairs(variant, {reinterpret_cast<sort::Pair*>(data.data()), data.size()}, threads);
}

/// Sorts records as the program does: their order, then the rows in place.
template <>
void sort_ours(const std::string&, std::span<Record> data, int threads) {
  auto* const rows = reinterpret_cast<std::byte*>(data.data());
  constexpr auto bytes = static_cast<index_t>(sizeof(Record));
  machine::Buffer<std::uint64_t> order(static_cast<index_t>(data.size()));
  sort::argsort_records(rows, bytes, {.bytes = 10}, order.span(), threads);
  machine::parallel(threads, [&] {
    sort::permute_in_place({rows, bytes, order.size()}, order.span());
  });
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Prints a row at once: a whole run takes minutes.
template <class... Cells>
void print_row(const Cells&... cells) {
  fmt::print("{:4} {:13} {:>9} {:>7} {:16} {:>9} {:>8} {:>6}\n", cells...);
  std::fflush(stdout);
}

template <class T>
void cell(const Options& options, const std::string& type, const std::string& input, int threads,
          SortFunction<T> Peer::*function, Ratios& ratios) {
  machine::Buffer<T> original(options.n), work(options.n);
  machine::parallel(machine::default_threads(),
                    [&] { fill<T>(sort::input(input), original.span()); });
  const auto prepare = [&] { std::copy(original.begin(), original.end(), work.begin()); };
  std::vector<Candidate> candidates;
  for (const auto& variant : options.ours) {
    candidates.push_back({"tessera " + variant,
                          [&, variant] { sort_ours<T>(variant, work.span(), threads); }, prepare});
  }
  const std::size_t ours = candidates.size();
  for (const Peer& peer : peers()) {
    if (peer.*function == nullptr || contains(options.without, peer.name)) continue;
    if (threads == 1 && peer.parallel) continue;
    candidates.push_back({std::string(peer.name),
                          [&, run = peer.*function] {
                            run(work.data(), static_cast<std::size_t>(options.n), threads);
                          },
                          prepare});
  }
  const auto clock = threads == 1 ? Clock::processor : Clock::wall;
  const auto summaries = interleaved(
      candidates, 15, options.seconds, [](double seconds) { return seconds; }, clock);
  double best = INFINITY;
  for (std::size_t c = ours; c < candidates.size(); ++c) best = std::min(best, summaries[c].median);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const double median = summaries[c].median;
    print_row(type, input, options.n, threads, candidates[c].name,
              fmt::format("{:.2f}", median * 1e3),
              fmt::format("{:.1f}", static_cast<double>(options.n) / median / 1e6),
              fmt::format("{:.2f}", best / median));
    if (c < ours)
      ratios[candidates[c].name + " " + type + " threads " + std::to_string(threads)].push_back(
          best / median);
  }
}

void geometric_means(const Ratios& ratios) {
  Table table({"candidate", "inputs", "geometric mean", "least"});
  for (const auto& [name, values] : ratios) {
    double logs = 0;
    for (const double value : values) logs += std::log(value);
    table.add({name, std::to_string(values.size()),
               fmt::format("{:.2f}", std::exp(logs / static_cast<double>(values.size()))),
               fmt::format("{:.2f}", *std::min_element(values.begin(), values.end()))});
  }
  fmt::print("\nRatios to the best peer of each row (above 1: ours is faster)\n{}", table.text());
}

void measure(const Options& options) {
  print_row("type", "input", "n", "threads", "sort", "median ms", "Mkeys/s", "ratio");
  Ratios ratios;
  for (const auto& type : options.types) {
    for (const int threads : options.threads) {
      for (const auto& input : options.inputs) {
        if (type == "u32") cell<std::uint32_t>(options, type, input, threads, &Peer::u32, ratios);
        if (type == "u64") cell<std::uint64_t>(options, type, input, threads, &Peer::u64, ratios);
        if (type == "f64") cell<double>(options, type, input, threads, &Peer::f64, ratios);
        if (type == "i32") cell<std::int32_t>(options, type, input, threads, &Peer::i32, ratios);
        if (type == "i64") cell<std::int64_t>(options, type, input, threads, &Peer::i64, ratios);
        if (type == "f32") cell<float>(options, type, input, threads, &Peer::f32, ratios);
        if (type == "rec") cell<Record>(options, type, input, threads, &Peer::rec, ratios);
        if (type == "kv") cell<KeyValue>(options, type, input, threads, &Peer::kv, ratios);
      }
    }
  }
  geometric_means(ratios);
}

int run(int argc, char** argv) {
  Options options;
  bool quick = false;
  CLI::App app("ours against the sorts that Debian has");
  app.add_flag("--quick", quick, "2^20 items of five inputs, and less time a cell");
  app.add_option("--n", options.n, "items");
  app.add_option("--types", options.types,
                 "u64, f64, u32, i64, i32, f32, kv (pairs), rec (records of 100 bytes)")
      ->delimiter(',');
  app.add_option("--inputs", options.inputs, "distributions, as of tessera sort --input")
      ->delimiter(',');
  app.add_option("--threads", options.threads, "numbers of threads")->delimiter(',');
  app.add_option("--ours", options.ours, "kernels of ours")->delimiter(',');
  app.add_option("--without", options.without, "peers to leave out")->delimiter(',');
  app.add_option("--seconds", options.seconds, "a cell");
  CLI11_PARSE(app, argc, argv);
  if (quick && app.count("--n") == 0) options.n = index_t{1} << 20;
  if (quick && app.count("--seconds") == 0) options.seconds = 0.15;
  if (quick && app.count("--inputs") == 0)
    options.inputs = {"uniform", "zipf", "root_dup", "almost_sorted", "reverse"};
  measure(options);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  const tessera::mpi::Runtime runtime(&argc, &argv);
  return tessera::bench::run(argc, argv);
}
