#pragma once
// Output that is complete and matches its checksums, or does not exist. A file with foreign content
// (not an output of Tessera only) is never replaced: datasets are added to it.
//
// Rank 0 creates a hidden partial file next to the final name (of a foreign file, a copy), with
// every dataset contiguous and its space reserved; all ranks write raw data at their offsets; what
// was written is read back; rank 0 adds checksums and provenance, marks the file complete and
// renames it. Raw data is written by pwrite, not by MPI-IO: a full disk or a failing device is then
// an errno on the rank concerned (ompio reports success, romio hangs in close), and a serial HDF5
// library suffices.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/view.hpp"
#include "io/carried_rows.hpp"
#include "io/guest.hpp"
#include "io/h5.hpp"
#include "io/output_dataset.hpp"
#include "io/raw_file.hpp"
#include "io/runs.hpp"
#include "io/summed.hpp"
#include "layout/matrix_layout.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::io {

class OutputFile {
 public:
  /// Treatment of an existing output of Tessera; known: of any file, which the caller has examined.
  /// To a foreign file the datasets are added; `replace` replaces those of the same names.
  enum class Existing { refuse, replace, known };
  enum class Sync { on, off };  ///< off: data may stay in the page cache
  enum class ReadBack {
    automatic,
    all,
    sample,
    off
  };  ///< automatic: all up to 1 GiB per rank, otherwise a sample

  /// Creates the partial file. Throws AgreedError: 73 if the file exists, cannot be created or
  /// space is insufficient, 74 if another program writes to it. Collective.
  OutputFile(const mpi::Communicator& comm, std::string file,
             const std::vector<DatasetSpec>& datasets, Existing existing, Sync sync = Sync::on);
  /// As above, but resumes from the file that keep() left for the same problem, if any.
  OutputFile(const mpi::Communicator& comm, std::string file,
             const std::vector<DatasetSpec>& datasets, Existing existing,
             const std::string& problem);
  /// Discards the partial file unless published.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes whole elements from position first_element on (row-major). Every element must be
  /// written exactly once, by any rank. Throws Error(io, cannot_create). Local.
  void write(std::size_t dataset, index_t first_element, std::span<const std::byte> data,
             const Onlooker& onlooker = {});

  /// Writes a slab, one range per dimension, from contiguous elements: one pwrite per run in the
  /// file. Local.
  void write_slab(std::size_t dataset, std::span<const layout::Range> slab,
                  std::span<const std::byte> data);

  /// Writes rows of an input dataset to one whose elements are not self-contained, and reads them
  /// back, in rounds that fit in memory. Throws Error(bad_data, io, cannot_create, memory). On
  /// rank 0.
  void write_rows_of(std::size_t dataset, const DatasetName& from, const RowOrder& order);

  /// Reads back, from the file, elements of a slab that this rank wrote. Local.
  void read_slab(std::size_t dataset, std::span<const layout::Range> slab,
                 std::span<std::byte> data) const;

  /// Syncs this rank's data to the device and concurrently reads it back, from wherever the system
  /// holds it, in `threads` threads, and compares checksums. Throws Error(io, cannot_create).
  /// Local.
  void check_written(ReadBack amount, int threads = 1);

  /// Syncs all data to the device, checks that all elements were written (Error(internal)), writes
  /// the checksums, calls `annotate` on the open group "/_tessera" (rank 0; in a foreign file, on
  /// the run's group in it), and renames the file. A result that failed its verification is not
  /// published: the caller drops the partial file. Collective.
  void publish(const std::function<void(hid_t group)>& annotate);

  /// Keeps the written data, if any, in a hidden file next to the final name, with the state from
  /// which to resume. Collective.
  void keep(const std::string& problem, const std::string& state);
  /// Returns the state that keep() stored next to this name for the same problem; empty if it did
  /// not. Local.
  [[nodiscard]] static std::string left_of(const std::string& file, const std::string& problem);
  /// Returns the state that keep() stored, the same on every rank; empty in a new file.
  [[nodiscard]] const std::string& kept() const { return kept_; }

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Returns whether the datasets are added to a foreign file. Valid on rank 0.
  [[nodiscard]] bool is_guest() const { return guest_ != nullptr; }

 private:
  OutputFile(const mpi::Communicator& comm, std::string file, Sync sync);
  void open(const std::vector<DatasetSpec>& specs, Existing existing, const std::string& problem);

  struct Dataset {
    std::string path;
    std::vector<index_t> shape;
    index_t element_bytes = 0;
    index_t offset = -1;  // in the file; -1 if it has no elements
    std::uint64_t sum = 0;
    index_t written = 0;  // elements; those of all ranks once published
    Storage storage = {};
    struct Encoded {
      index_t chunk;
      std::uint64_t sum;
    };
    std::vector<Encoded> encoded = {};  // chunks by this rank, with their part of the checksum
  };
  struct Written {
    std::size_t dataset;
    StridedRuns runs;
    std::uint64_t sum = 0;
  };
  [[nodiscard]] const Dataset& dataset_of(std::size_t which) const;
  static void require_slab(const Dataset& dataset, std::span<const layout::Range> slab,
                           std::size_t bytes);
  void write_runs(const RawFile& raw, std::size_t dataset, const StridedRuns& runs,
                  std::span<const std::byte> data, const Onlooker& onlooker = {});
  [[nodiscard]] std::uint64_t sum_in_file(const RawFile& raw, const Written& written,
                                          std::vector<std::byte>& buffer) const;
  void sync_written();
  /// Returns the file that holds the elements until the output is published: for chunked datasets
  /// a hidden scratch file (output_chunks.cpp).
  [[nodiscard]] const std::string& file_of(const Dataset& dataset) const {
    return dataset.storage.is_chunked() ? scratch_ : partial_;
  }
  [[nodiscard]] bool has_scratch() const;
  void create_scratch();
  void place_in_scratch();
  void adopt_scratch(const std::string& left);
  void write_chunks();
  [[nodiscard]] std::uint64_t write_chunks(Dataset& dataset, std::optional<Handle>& out);
  void check_chunks();
  void confirm_storage(hid_t dataset, const Dataset& wanted) const;
  /// Prepares the output on rank 0; returns whether a file left by keep() was adopted.
  [[nodiscard]] bool begin(const std::vector<DatasetSpec>& specs, const std::string& problem);
  void create(const std::vector<DatasetSpec>& specs);
  /// Copies what accompanies the datasets. Returns the paths of new ones.
  [[nodiscard]] std::vector<std::string> copy_company(hid_t out,
                                                      const std::vector<DatasetSpec>& specs,
                                                      const std::vector<DatasetPlace>& places);
  [[nodiscard]] Handle create_file(const std::vector<DatasetSpec>& specs,
                                   std::vector<DatasetPlace>& places) const;
  [[nodiscard]] bool adopt(const std::string& problem);
  void write_sums(hid_t out) const;
  void note_run(hid_t out, const std::function<void(hid_t group)>& annotate) const;
  void take_name() const;
  void confirm_metadata() const;

  mpi::Communicator comm_;
  std::string file_;
  std::string target_;  // file_ with links resolved
  std::string partial_;
  std::string scratch_;  // next to it
  ReadBack read_back_ = ReadBack::all;
  std::string kept_;
  Sync sync_;
  Existing existing_ = Existing::refuse;
  std::unique_ptr<Guest> guest_;  // on rank 0
  std::string found_;             // state of the existing file, on rank 0
  std::vector<Dataset> datasets_;
  std::vector<DatasetSpec> specs_;  // on rank 0, if elements refer to objects
  std::vector<Written> written_;
  bool synced_ = true;  // this rank's data is on the device
  bool published_ = false;
};

/// Returns the bytes with which a rank's threads encode chunks of that size.
[[nodiscard]] index_t encode_bytes(index_t chunk_bytes, int threads);

/// Throws Error(cannot_create) if an output cannot be created: its file must not be changed, or the
/// directory is missing or not writable. Local; leaves no file.
void require_place_for_output(const DatasetName& output, OutputFile::Existing existing);

}  // namespace tessera::inline v1::io
