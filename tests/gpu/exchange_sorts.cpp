// Sorts of resident keys, on all GPUs and on one.

#include "dist/sort/on_devices.hpp"
#include "exchange_bench.hpp"
#include "machine/fork_join.hpp"

namespace tessera::exchange_bench {
namespace {

namespace ds = dist::sort;
using Key = std::uint64_t;
using Kernels = ds::ResidentKernels<Key>;

enum class Input { uniform, low_entropy, all_equal };
struct Named {
  Input input;
  const char* name;
};
constexpr Named inputs[] = {{Input::uniform, "uniform"},
                            {Input::low_entropy, "and-ed 3x"},
                            {Input::all_equal, "all equal"}};

Key key(Input input, index_t i) {
  const Key random = random_bits(1, 1, i);
  if (input == Input::all_equal) return 42;
  return input == Input::uniform ? random : random & random_bits(1, 2, i) & random_bits(1, 3, i);
}

struct Content {
  std::uint64_t sum = 0;
  index_t disorder = 0;
};
Content content(const machine::Buffer<Key>& keys) {
  std::uint64_t sum = 0;
  index_t disorder = 0;
#pragma omp parallel for reduction(+ : sum, disorder)
  for (index_t i = 0; i < keys.size(); ++i) {
    sum += mix64(keys[i]);
    disorder += i > 0 && keys[i - 1] > keys[i] ? 1 : 0;
  }
  return {sum, disorder};
}

struct Timed {
  double seconds = 0, exchange = 0;
  bool right = true, divided = false;
};

/// Sorts on the ranks of the exchange; checks that the keys are the input's, in global order.
Timed timed(const DeviceExchange& exchange, Input input, index_t total, int repetitions) {
  const Communicator& comm = exchange.comm();
  const layout::Range mine = layout::BlockMap(total, comm.size()).range(comm.rank());
  machine::Buffer<Key> keys(mine.size());
#pragma omp parallel for
  for (index_t i = 0; i < keys.size(); ++i) keys[i] = key(input, mine.begin + i);
  const Content before = content(keys);
  ds::DeviceSort<Key> there(exchange, total,
                            tessera::sort::key_map<Key>(tessera::sort::Order::ascending),
                            *tessera::sort::resident_kernels(Key{}));
  const index_t bytes = mine.size() * index_t{sizeof(Key)};
  const device::Allocation original(bytes, device::Home::device);
  const auto as_bytes = [&](Key* data) {
    return matrix_view(reinterpret_cast<std::byte*>(data), 1, bytes);
  };
  device::upload(as_bytes(keys.data()), matrix_view(original.data(), 1, bytes),
                 machine::default_threads());
  const device::Stream stream;
  const auto prepare = [&] {
    device::copy(matrix_view(original.data(), 1, bytes), as_bytes(there.input()), stream);
    stream.wait();
  };
  Timed result;
  int runs = 0;
  mpi::Phases phases;
  result.seconds = median_seconds(comm, repetitions, prepare, [&] {
    there.run(phases);
    ++runs;
  });
  result.exchange = comm.max(phases.of("exchange")) / runs;
  result.divided = there.divided();
  std::fill(keys.begin(), keys.end(), Key{0});
  there.get(keys.data(), machine::default_threads());
  const Content after = content(keys);
  const Key ends[2] = {keys.size() > 0 ? keys[0] : 0, keys.size() > 0 ? keys[keys.size() - 1] : 0};
  const std::vector<Key> all = comm.all_gather(std::span<const Key>(ends));
  index_t disorder = comm.sum(after.disorder);
  for (std::size_t r = 1; 2 * r < all.size(); ++r) disorder += all[2 * r - 1] > all[2 * r] ? 1 : 0;
  result.right = disorder == 0 && comm.sum(before.sum) == comm.sum(after.sum);
  return result;
}

std::string keys_per_s(index_t total, double seconds) {
  return fmt::format("{:.2f}", static_cast<double>(total) / seconds / 1e9);
}

}  // namespace

void sorts(Bench& bench) {
  Table table({"sort u64 by", "keys", "input", "GPUs", "cut by", "median", "Gkeys/s", "times one",
               "waited", "all-to-all over it", "checked"});
  const index_t total = index_t{1} << (bench.quick ? 24 : 30);
  const std::string keys = bench.quick ? "2^24" : "2^30";
  const int gpus = bench.comm.size() / bench.sharing();
  for (const auto& [input, called] : inputs) {
    Timed one;
    if (bench.comm.is_root())
      one = timed(DeviceExchange(Communicator::self(), DeviceTransport::ipc), input, total, 3);
    one.seconds = bench.comm.max(one.seconds);
    table.add({"-", keys, called, "1", "-", human_seconds(one.seconds),
               keys_per_s(total, one.seconds), "1", "-", "-",
               bench.verdict(bench.comm.sum(index_t{one.right ? 0 : 1}) == 0)});
    for (const DeviceExchange& exchange : bench.transports) {
      if (input != Input::uniform && !exchange.reaches()) continue;
      double all_to_all = 0;
      {
        AllToAll all(exchange, total * index_t{sizeof(Key)} / bench.comm.size());
        all_to_all = median_seconds(bench.comm, bench.repetitions(exchange), [&] { all.run(); });
      }
      const Timed many = timed(exchange, input, total, bench.repetitions(exchange));
      table.add({std::string(name(exchange.transport())), keys, called, std::to_string(gpus),
                 many.divided ? "buckets" : "bounds", human_seconds(many.seconds),
                 keys_per_s(total, many.seconds), fmt::format("{:.3f}", one.seconds / many.seconds),
                 human_seconds(many.exchange), fmt::format("{:.3f}", all_to_all / many.exchange),
                 bench.verdict(many.right)});
    }
  }
  bench.show(table);
}

}  // namespace tessera::exchange_bench
