// Distributed sorts of keys: Tessera as in `tessera sort`, psort and HykSort of CombBLAS, which
// receive their keys as vectors. `most` is the largest share of a rank relative to the mean;
// Tessera's are equal to the key.
//   bench_sort_mpi [--quick] [--n keys-a-rank] [--inputs a,b]

#include <fmt/core.h>
#include <mpi.h>

#include <cmath>

#include "base/table.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "bench/sort_peers/distributed.hpp"
#include "dist/sort/sort.hpp"
#include "kernels/sort/inputs.hpp"
#include "kernels/sort/verify.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/runtime.hpp"

namespace tessera::bench {
namespace {

using Keys = std::vector<std::uint64_t>;

struct Ours {
  machine::Buffer<std::uint64_t> items, spare;
  index_t n = 0;

  explicit Ours(index_t share) : items(share), spare(share), n(share) {}
  void take(const Keys& keys) { std::copy(keys.begin(), keys.end(), items.begin()); }
  void sort(const mpi::Communicator& comm, dist::sort::Algorithm algorithm) {
    mpi::Phases phases;
    const index_t got = dist::sort::sort_keys(
        comm, dist::sort::Room<std::uint64_t>{items.data(), spare.data(), n},
        sort::Order::ascending, {.algorithm = algorithm, .threads = 1}, phases);
    require(got == n, ExitCode::verification, "a share of another size");
  }
};

/// Returns the largest share relative to the mean, after checking that the keys are those of the
/// input, in order.
double checked(const mpi::Communicator& comm, std::span<const std::uint64_t> keys,
               const Keys& input, const std::string& who) {
  const auto seen = sort::inspect(keys, sort::Order::ascending, 1);
  const auto came = sort::content(std::span<const std::uint64_t>(input), 1);
  const auto n = static_cast<index_t>(keys.size());
  const std::uint64_t first = n == 0 ? ~std::uint64_t{0} : keys.front();
  const auto firsts = comm.all_gather(std::span(&first, 1));
  bool sorted = seen.sorted;
  for (int r = comm.rank() + 1; r < comm.size(); ++r)
    sorted = sorted && (n == 0 || keys.back() <= firsts[static_cast<std::size_t>(r)]);
  const bool right =
      comm.sum(index_t{sorted ? 0 : 1}) == 0 && comm.sum(seen.content.hash - came.hash) == 0;
  require(right, ExitCode::verification, who + " is wrong");
  return static_cast<double>(comm.max(static_cast<double>(n))) * comm.size() /
         static_cast<double>(comm.sum(n));
}

void row(const mpi::Communicator& comm, Table& table, const std::string& name, index_t share,
         double budget) {
  using dist::sort::Algorithm;
  Keys input(static_cast<std::size_t>(share));
  sort::generate<std::uint64_t>(sort::input(name), 1, share * comm.rank(), share * comm.size(),
                                input);
  Ours ours(share);
  Keys theirs;
  std::vector<Candidate> candidates;
  for (const auto& [label, algorithm] :
       {std::pair{"tessera exact", Algorithm::exact}, {"tessera rounds", Algorithm::rounds}})
    candidates.push_back({label, [&, way = algorithm] { ours.sort(comm, way); },
                          [&] { ours.take(input), comm.barrier(); }});
  const std::size_t mine = candidates.size();
  for (const DistributedPeer& peer : distributed_peers()) {
    if (!peer.serves(comm.size())) continue;
    candidates.push_back({peer.name, [&, sort = peer.sort] { sort(theirs); },
                          [&] { theirs = input, comm.barrier(); }});
  }
  std::vector<std::string> most;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    candidates[c].prepare();
    candidates[c].run();
    const auto result = c < mine ? std::span<const std::uint64_t>(ours.items.span())
                                 : std::span<const std::uint64_t>(theirs);
    most.push_back(fmt::format("{:.3f}", checked(comm, result, input, candidates[c].name)));
  }
  const auto seconds =
      interleaved(candidates, 15, budget, [&](double one) { return comm.max(one); });
  double best = INFINITY;
  for (std::size_t c = mine; c < seconds.size(); ++c) best = std::min(best, seconds[c].median);
  for (std::size_t c = 0; c < seconds.size(); ++c) {
    table.add(
        {name, std::to_string(share), std::to_string(comm.size()), candidates[c].name,
         fmt::format("{:.1f}", seconds[c].median * 1e3),
         fmt::format("{:.1f}", static_cast<double>(share * comm.size()) / seconds[c].median / 1e6),
         most[c], fmt::format("{:.2f}", best / seconds[c].median)});
  }
}

ExitCode run(const mpi::Communicator& comm, int argc, char** argv) {
  machine::set_default_threads(1);
  index_t share = index_t{1} << 22;
  double budget = 4;
  std::vector<std::string> inputs{"uniform", "zipf", "almost_sorted", "reverse"};
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--quick") share = index_t{1} << 20, budget = 1;
    if (std::string_view(argv[i]) == "--n" && i + 1 < argc) share = parse_bytes(argv[i + 1]);
    if (std::string_view(argv[i]) == "--inputs" && i + 1 < argc) inputs = split(argv[i + 1], ',');
  }
  Table table({"input", "keys a rank", "ranks", "sort", "median ms", "Mkeys/s", "most", "ratio"});
  for (const std::string& name : inputs) row(comm, table, name, share, budget);
  if (comm.is_root())
    fmt::print("Distributed sort, u64, one thread a rank, ratio to the best peer\n{}",
               table.text());
  return ExitCode::ok;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::mpi::run_main(&argc, &argv, [&](const tessera::mpi::Communicator& comm) {
    return tessera::bench::run(comm, argc, argv);
  });
}
