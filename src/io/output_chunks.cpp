// Chunked datasets of outputs. Their elements are written like those of contiguous ones, to a
// hidden scratch file next to the partial one, in any order and by any rank; before the output is
// published, every rank encodes chunks with its threads, and rank 0 writes them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/option_names.hpp"
#include "base/progress.hpp"
#include "io/checksum.hpp"
#include "io/chunks.hpp"
#include "io/output_file.hpp"
#include "io/partials.hpp"
#include "io/pieces.hpp"
#include "io/raw_file.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

using Ranges = std::vector<layout::Range>;

constexpr index_t batch_bytes = index_t{16} << 20;  // of decoded chunks that a rank encodes at once

/// A chunked dataset whose elements are in a scratch file.
class ScratchChunks {
 public:
  ScratchChunks(const std::string& scratch, const std::vector<index_t>& shape, index_t offset,
                index_t element_bytes, const Storage& storage)
      : raw_(scratch, RawFile::Mode::read),
        shape_(shape),
        offset_(offset),
        element_bytes_(element_bytes),
        extents_(storage.chunk.begin(), storage.chunk.end()),
        grid_(whole(shape), extents_),
        chunk_bytes_(std::accumulate(storage.chunk.begin(), storage.chunk.end(), element_bytes,
                                     std::multiplies<>())) {}

  [[nodiscard]] index_t count() const { return grid_.count(); }
  [[nodiscard]] index_t chunk_bytes() const { return chunk_bytes_; }
  [[nodiscard]] std::vector<hsize_t> position(index_t chunk) const { return grid_.position(chunk); }

  /// Reads a chunk, with zeros beyond the dataset.
  void read(index_t chunk, std::vector<std::byte>& to) const {
    to.assign(static_cast<std::size_t>(chunk_bytes_), std::byte{0});
    each_run(chunk, [&](index_t first, std::size_t at, std::size_t bytes) {
      raw_.read_at(offset_ + first * element_bytes_, std::span(to).subspan(at, bytes));
    });
  }
  /// Returns the contribution of a decoded chunk to the dataset's checksum.
  [[nodiscard]] std::uint64_t sum(index_t chunk, std::span<const std::byte> decoded) const {
    std::uint64_t all = 0;
    each_run(chunk, [&](index_t first, std::size_t at, std::size_t bytes) {
      all += checksum(decoded.subspan(at, bytes), element_bytes_, first);
    });
    return all;
  }

 private:
  static Ranges whole(const std::vector<index_t>& shape) {
    Ranges box;
    for (const index_t extent : shape) box.push_back({0, extent});
    return box;
  }
  /// Calls body(first element, byte in the chunk, bytes) for rows of the chunk in the dataset.
  template <class Body>
  void each_run(index_t chunk, const Body& body) const {
    const std::vector<hsize_t> corner = grid_.position(chunk);
    const std::size_t last = shape_.size() - 1;
    std::vector<index_t> sizes;
    index_t rows = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const auto begin = static_cast<index_t>(corner[d]);
      sizes.push_back(std::min(static_cast<index_t>(extents_[d]), shape_[d] - begin));
      if (d < last) rows *= sizes.back();
    }
    for (index_t row = 0; row < rows; ++row) {
      index_t rest = row, first = static_cast<index_t>(corner[last]), step = shape_[last], at = 0,
              at_step = static_cast<index_t>(extents_[last]);
      for (std::size_t d = last; d-- > 0; rest /= sizes[d]) {
        const index_t i = rest % sizes[d];
        first += (static_cast<index_t>(corner[d]) + i) * step;
        at += i * at_step;
        step *= shape_[d];
        at_step *= static_cast<index_t>(extents_[d]);
      }
      body(first, static_cast<std::size_t>(at * element_bytes_),
           static_cast<std::size_t>(sizes[last] * element_bytes_));
    }
  }

  RawFile raw_;
  std::vector<index_t> shape_;
  index_t offset_, element_bytes_;
  std::vector<hsize_t> extents_;
  ChunkGrid grid_;
  index_t chunk_bytes_;
};

/// The chunks that a rank encodes in one round, and their contribution to the checksum.
struct Batch {
  layout::Range chunks;
  std::vector<StoredChunk> stored;
  std::vector<std::uint64_t> sums;
};

void encode(const ScratchChunks& chunks, const Filters& filters, Batch& batch) {
  batch.stored.resize(static_cast<std::size_t>(batch.chunks.size()));
  batch.sums.resize(batch.stored.size());
  const int threads =
      static_cast<int>(std::clamp<index_t>(batch.chunks.size(), 1, machine::default_threads()));
  std::atomic<index_t> next = 0;
  machine::on_each_thread(threads, [&](int thread, int) {
    ChunkEncoder encoder(filters);
    std::vector<std::byte> decoded;
    for (index_t i = next++; i < batch.chunks.size(); i = next++) {
      const auto at = static_cast<std::size_t>(i);
      chunks.read(batch.chunks.begin + i, decoded);
      batch.sums[at] = chunks.sum(batch.chunks.begin + i, decoded);
      encoder.encode(decoded, batch.stored[at]);
      if (thread == 0) mpi::heartbeat();
    }
  });
}

/// Exchanges the batches: calls write(chunk, stored) on rank 0 for every chunk of all ranks in
/// order; batch_of gives the chunks of a rank. Collective.
template <class BatchOf, class Write>
void bring_to_root(const mpi::Communicator& comm, const Batch& mine, index_t most_chunks,
                   const BatchOf& batch_of, const Write& write) {
  constexpr int tag = 7;
  std::vector<index_t> about(static_cast<std::size_t>(2 * most_chunks), 0);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < mine.stored.size(); ++i) {
    about[2 * i] = ssize(mine.stored[i].bytes);
    about[2 * i + 1] = mine.stored[i].mask;
    if (!comm.is_root())
      bytes.insert(bytes.end(), mine.stored[i].bytes.begin(), mine.stored[i].bytes.end());
  }
  const std::vector<index_t> all = comm.all_gather(std::span<const index_t>(about));
  if (!comm.is_root()) {
    if (!bytes.empty()) comm.send(bytes, 0, tag).wait();
    return;
  }
  for (std::size_t i = 0; i < mine.stored.size(); ++i)
    write(mine.chunks.begin + static_cast<index_t>(i), mine.stored[i]);
  for (int rank = 1; rank < comm.size(); ++rank) {
    const layout::Range theirs = batch_of(rank);
    const index_t* const about_theirs = all.data() + index_t{rank} * 2 * most_chunks;
    index_t total = 0;
    for (index_t i = 0; i < theirs.size(); ++i) total += about_theirs[2 * i];
    bytes.resize(static_cast<std::size_t>(total));
    if (total > 0) comm.receive(bytes, rank, tag).wait();
    auto from = bytes.begin();
    for (index_t i = 0; i < theirs.size(); ++i) {
      StoredChunk stored;
      stored.bytes.assign(from, from + about_theirs[2 * i]);
      stored.mask = static_cast<unsigned>(about_theirs[2 * i + 1]);
      from += about_theirs[2 * i];
      write(theirs.begin + i, stored);
    }
  }
}

}  // namespace

index_t encode_bytes(index_t chunk_bytes, int threads) {
  const index_t batch = std::max<index_t>(threads * chunk_bytes, batch_bytes);
  return 3 * threads * chunk_bytes + 2 * batch;  // a batch is stored, and sent
}

Storage storage_of(hid_t dataset, const std::string& name) {
  const Handle creation(h5_check(H5Dget_create_plist(dataset), name), H5Pclose);
  if (H5Pget_layout(creation) != H5D_CHUNKED) return {};
  const auto chunking = chunking_of(dataset, creation, name);
  require(chunking.has_value(), ExitCode::bad_data,
          name + " has filters that outputs do not have; pass " +
              std::string(option_or("--compress", "other filters")));
  return {{chunking->extents.begin(), chunking->extents.end()}, chunking->filters};
}

bool OutputFile::has_scratch() const {
  return std::any_of(datasets_.begin(), datasets_.end(),
                     [](const Dataset& dataset) { return dataset.storage.is_chunked(); });
}

/// Sets the offsets of the chunked datasets in the scratch file.
void OutputFile::place_in_scratch() {
  index_t end = 0;
  for (Dataset& dataset : datasets_) {
    if (!dataset.storage.is_chunked()) continue;
    index_t bytes = dataset.element_bytes;
    for (const index_t extent : dataset.shape) bytes = checked_mul(bytes, extent, "the output");
    dataset.offset = bytes == 0 ? -1 : end;
    end += round_up(bytes, page_bytes);
  }
}

void OutputFile::create_scratch() {
  place_in_scratch();
  scratch_ = scratch_of(partial_);
  note_partial(scratch_);
  create_new_file(scratch_);
}

/// Takes the scratch file that keep() left.
void OutputFile::adopt_scratch(const std::string& left) {
  require(is_own_file(left), ExitCode::bad_data, "elements are missing");
  place_in_scratch();
  scratch_ = scratch_of(partial_);
  note_partial(scratch_);
  rename_file(left, scratch_);
  note_partial(scratch_);
}

void OutputFile::write_chunks() {
  if (!has_scratch()) return;
  std::optional<Handle> out;
  const std::string what = fmt::format("'{}' cannot be completed", file_);
  mpi::on_root(comm_, "write", [&] {
    out = owned_file(
        h5_check(H5Fopen(partial_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), ExitCode::io, what));
  });
  for (Dataset& dataset : datasets_) {
    if (!dataset.storage.is_chunked() || dataset.offset < 0) continue;
    const std::uint64_t read = comm_.sum(write_chunks(dataset, out));
    const std::uint64_t written = comm_.sum(dataset.sum);
    mpi::alike("write", [&] {
      require(read == written, ExitCode::io,
              fmt::format("the elements of '{}' differ from the data written ({}); check the "
                          "device",
                          file_, dataset.path));
    });
  }
  mpi::on_root(comm_, "write", [&] { close_written(*out, ExitCode::io, what); });
  check_chunks();
}

std::uint64_t OutputFile::write_chunks(Dataset& dataset, std::optional<Handle>& out) {
  const ScratchChunks chunks(scratch_, dataset.shape, dataset.offset, dataset.element_bytes,
                             dataset.storage);
  const index_t at_once = std::max<index_t>(comm_.max(index_t{machine::default_threads()}),
                                            batch_bytes / chunks.chunk_bytes());
  std::uint64_t sum = 0;
  Handle to;
  mpi::on_root(comm_, "write", [&] {
    to = Handle(
        h5_check(H5Dopen2(*out, dataset.path.c_str(), H5P_DEFAULT), ExitCode::io, dataset.path),
        H5Dclose);
  });
  dataset.encoded.clear();
  Progress progress("chunks written", static_cast<double>(chunks.count()));
  for (index_t begin = 0; begin < chunks.count(); begin += at_once * comm_.size()) {
    progress.update(static_cast<double>(begin));
    const auto batch_of = [&](int rank) {
      const index_t first = std::min(chunks.count(), begin + rank * at_once);
      return layout::Range{first, std::min(chunks.count(), first + at_once)};
    };
    Batch batch{batch_of(comm_.rank()), {}, {}};
    mpi::together(comm_, "write", [&] { encode(chunks, dataset.storage.filters, batch); });
    for (std::size_t i = 0; i < batch.sums.size(); ++i) {
      sum += batch.sums[i];
      dataset.encoded.push_back({batch.chunks.begin + static_cast<index_t>(i), batch.sums[i]});
    }
    std::optional<Error> error;
    bring_to_root(comm_, batch, at_once, batch_of, [&](index_t chunk, const StoredChunk& stored) {
      if (error) return;
      const std::vector<hsize_t> corner = chunks.position(chunk);
      try {
        h5_check_rc(H5Dwrite_chunk(to, H5P_DEFAULT, stored.mask, corner.data(), stored.bytes.size(),
                                   stored.bytes.data()),
                    ExitCode::io, fmt::format("'{}' cannot be written", file_));
        RawFile(partial_, RawFile::Mode::read).pace(static_cast<index_t>(stored.bytes.size()));
      } catch (const Error& failure) {
        error = failure;
      }
      mpi::heartbeat();
    });
    mpi::on_root(comm_, "write", [&] {
      if (error) throw *error;
    });
  }
  return sum;
}

/// Reads back and decodes the chunks that this rank encoded, as many as check_written() was told.
void OutputFile::check_chunks() {
  if (read_back_ == ReadBack::off) return;
  const index_t step = read_back_ == ReadBack::sample ? 16 : 1;
  mpi::together(comm_, "write", [&] {
    const Handle in = open_file(partial_);
    for (const Dataset& dataset : datasets_) {
      if (dataset.encoded.empty()) continue;
      const DatasetName name{partial_, dataset.path};
      const Handle from = open_dataset(in, name);
      const Handle creation(h5_check(H5Dget_create_plist(from), ExitCode::io, file_), H5Pclose);
      const auto chunking = chunking_of(from, creation, dataset.path);
      require(chunking.has_value(), ExitCode::io, dataset.path + " has no chunks");
      const ScratchChunks chunks(scratch_, dataset.shape, dataset.offset, dataset.element_bytes,
                                 dataset.storage);
      Progress progress("chunks read back", static_cast<double>(dataset.encoded.size()));
      std::atomic<index_t> next = 0;
      std::mutex library;
      machine::on_each_thread(machine::default_threads(), [&](int thread, int) {
        ChunkDecoder decoder(chunking->filters, chunking->bytes);
        StoredChunk stored;
        for (index_t i = next.fetch_add(step); i < ssize(dataset.encoded);
             i = next.fetch_add(step)) {
          const auto& [chunk, sum] = dataset.encoded[static_cast<std::size_t>(i)];
          const std::vector<hsize_t> corner = chunks.position(chunk);
          bool same = false;
          try {
            {
              const std::lock_guard lock(library);
              read_stored_chunk(from, corner, *chunking, file_, stored);
            }
            same = chunks.sum(chunk, decode_chunk(decoder, stored, corner, file_)) == sum;
          } catch (const Error& error) {
            if (error.code() != ExitCode::bad_data) throw;
          }
          require(same, ExitCode::io,
                  fmt::format("'{}' differs from the data written to it (its chunk at [{}]); check "
                              "the device",
                              file_, fmt::join(corner, ", ")));
          progress.update(static_cast<double>(i));
          if (thread == 0) mpi::heartbeat();
        }
      });
    }
  });
}

}  // namespace tessera::inline v1::io
