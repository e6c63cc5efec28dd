#include "run/measure_rates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.hpp"
#include "base/timer.hpp"
#include "dist/matrix.hpp"
#include "io/filters.hpp"
#include "io/output_file.hpp"
#include "kernels/sort/variants.hpp"
#include "kernels/transpose/checksum.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "machine/topology.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr int runs = 3;
constexpr index_t row_bytes = index_t{1} << 15;

/// Returns GB/s of the shortest run of `body`, which processes `bytes` bytes.
template <class Prepare, class Body>
double best_rate(index_t bytes, const Prepare& prepare, const Body& body) {
  double best = 0;
  for (int run = 0; run < runs; ++run) {
    prepare();
    const Timer timer;
    body();
    best = std::max(best, static_cast<double>(bytes) / timer.seconds() / 1e9);
  }
  return best;
}

/// Returns the rate of first writes, which the threads share.
double touch_rate(int threads, index_t rows) {
  machine::Buffer<std::byte> memory;
  const auto touch = [&](int part, int parts) {
    const index_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    std::memset(memory.data() + begin * row_bytes, 1,
                static_cast<std::size_t>((end - begin) * row_bytes));
  };
  return best_rate(
      rows * row_bytes, [&] { memory = machine::Buffer<std::byte>(rows * row_bytes); },
      [&] { machine::parallel_parts(threads, touch); });
}

/// Returns the rate of sorting random keys, by the default sort.
double sort_rate(int threads, machine::Buffer<double>& room) {
  const index_t n = room.size() / 2;
  auto* const keys = reinterpret_cast<std::uint64_t*>(room.data());
  const auto shuffle = [&] {
    for (index_t i = 0; i < n; ++i) keys[i] = random_bits(1, 1, i);
  };
  return best_rate(n * index_t{sizeof(double)}, shuffle, [&] {
    machine::parallel(threads, [&] {
      sort::automatic<std::uint64_t>({.data = keys, .scratch = keys + n, .n = n});
    });
  });
}

/// Returns the rates of compressing and decompressing smooth numbers by one thread.
std::vector<double> chunk_rates() {
  constexpr index_t n = index_t{1} << 16;
  std::vector<double> values(n);
  for (index_t i = 0; i < n; ++i)
    values[static_cast<std::size_t>(i)] = std::round(1e3 * std::sin(1e-3 * static_cast<double>(i)));
  const auto bytes = std::as_bytes(std::span<const double>(values));
  const io::Filters filters{{io::Filter::Kind::shuffle, sizeof(double)},
                            {io::Filter::Kind::deflate, 4}};
  io::ChunkEncoder encoder(filters);
  io::ChunkDecoder decoder(filters, bytes.size());
  io::StoredChunk chunk;
  const auto none = [] {};
  const auto size = static_cast<index_t>(bytes.size());
  const double encode = best_rate(size, none, [&] { encoder.encode(bytes, chunk); });
  const double decode =
      best_rate(size, none, [&] { (void)decoder.decode(chunk.bytes, chunk.mask); });
  return {encode, decode};
}

}  // namespace

std::vector<Ceiling> work_rates(int threads) {
  const index_t rows = index_t{2048} + 512 * (threads - 1);  // 64 MiB, and 16 MiB a further thread
  constexpr index_t cols = row_bytes / index_t{sizeof(double)};
  machine::Buffer<double> values(rows * cols);
  const auto generate = [&](int part, int parts) {
    const layout::Range mine{rows * part / parts, rows * (part + 1) / parts};
    dist::fill_random<double>(matrix_view(values.data() + mine.begin * cols, mine.size(), cols),
                              {mine, {0, cols}}, cols, 1, 1);
  };
  machine::parallel_parts(threads, generate);
  const transpose::ConstRecords block{reinterpret_cast<const std::byte*>(values.data()), rows, cols,
                                      cols, index_t{sizeof(double)}};
  const auto none = [] {};
  const index_t bytes = rows * row_bytes;
  const auto row = [&](const char* name, double rate) {
    return Ceiling{name, threads, rate, "GB/s"};
  };
  std::vector<Ceiling> rates{
      row("touch", touch_rate(threads, rows)),
      row("generate", best_rate(bytes, none, [&] { machine::parallel_parts(threads, generate); })),
      row("hash", best_rate(bytes, none, [&] { (void)checksum(block, {}, 1, threads); }))};
  const std::vector<double> chunks = chunk_rates();
  rates.push_back(row("encode", chunks[0] * threads));
  rates.push_back(row("decode", chunks[1] * threads));
  rates.push_back(row("sort", sort_rate(threads, values)));
  return rates;
}

std::vector<Ceiling> file_rates() {
  const index_t n = index_t{1} << 22;  // 32 MiB
  machine::Buffer<double> values(n);
  std::fill(values.begin(), values.end(), 1.0);
  const auto bytes = std::as_writable_bytes(values.span());
  const auto size = n * index_t{sizeof(double)};
  const std::vector<layout::Range> all{{0, n}};
  try {
    double written = 0, read = 0;
    for (int run = 0; run < runs; ++run) {
      io::OutputFile file(mpi::Communicator::self(), "tessera-rates.h5",
                          {{"/x", {n}, io::native_type(Element::f64), {}}},
                          io::OutputFile::Existing::refuse);
      const Timer timer;
      file.write(0, 0, bytes);
      file.check_written(io::OutputFile::ReadBack::all, 2);
      written = std::max(written, static_cast<double>(size) / timer.seconds() / 1e9);
      read = std::max(read, best_rate(
                                size, [] {}, [&] { file.read_slab(0, all, bytes); }));
    }
    return {{"file_write", 1, written, "GB/s"}, {"file_read", 1, read, "GB/s"}};
  } catch (const Error&) {
    return {};  // no place for files here
  }
}

}  // namespace tessera::inline v1::run
