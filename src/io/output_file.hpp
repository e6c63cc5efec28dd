#pragma once
// Output that is complete and matches its checksums, or is not there. A file that holds anything of
// others is never replaced: datasets are added to it.
//
// Rank 0 creates a hidden partial file beside the final name (of a file of others, a copy of it),
// with every dataset contiguous and its space reserved; all ranks write raw data at their offsets;
// what was written is read back; rank 0 adds checksums and provenance, marks the file complete and
// renames it. Raw data goes by pwrite and not by MPI-IO: a full disk or a failing device is then an
// errno on the rank that met it (ompio reports success, romio hangs in close), and a serial HDF5
// library serves as well.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/view.hpp"
#include "io/guest.hpp"
#include "io/h5.hpp"
#include "io/output_dataset.hpp"
#include "io/raw_file.hpp"
#include "io/runs.hpp"
#include "io/summed.hpp"
#include "layout/matrix_layout.hpp"
#include "mpi/communicator.hpp"

namespace tessera::io {

class OutputFile {
 public:
  /// What happens to an output of ours under that name; known: to any file, which the caller has
  /// looked at. To a file of others the datasets are added, with `replace` in the place of those of
  /// the same names.
  enum class Existing { refuse, replace, known };
  enum class Sync { on, off };  ///< off: the file cache is enough, nothing waits for the device
  enum class ReadBack {
    automatic,
    all,
    sample,
    off
  };  ///< automatic: all up to 1 GiB a rank, else a sample

  /// Collective; throws AgreedError: 73 when the file exists or cannot be created or the space is
  /// not there, 74 when somebody writes to it.
  OutputFile(const mpi::Communicator& comm, std::string file,
             const std::vector<DatasetSpec>& datasets, Existing existing, Sync sync = Sync::on);
  /// The same, but goes on with what keep() left of the same problem, if it did.
  OutputFile(const mpi::Communicator& comm, std::string file,
             const std::vector<DatasetSpec>& datasets, Existing existing,
             const std::string& problem);
  /// Discards the partial file unless published.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes whole elements from position first_element on (row-major). Local; throws Error(io,
  /// cannot_create). Every element must be written exactly once by somebody.
  void write(std::size_t dataset, index_t first_element, std::span<const std::byte> data,
             const Onlooker& onlooker = {});

  /// Writes a slab, a range a dimension, from contiguous elements: a pwrite for each of its runs in
  /// the file. Local.
  void write_slab(std::size_t dataset, std::span<const layout::Range> slab,
                  std::span<const std::byte> data);

  /// The elements of a slab that this rank wrote, as they lie in the file. Local.
  void read_slab(std::size_t dataset, std::span<const layout::Range> slab,
                 std::span<std::byte> data) const;

  /// Brings what this rank wrote to the device and meanwhile reads it back, from where the system
  /// holds it, and compares, so many threads at once; throws Error(io, cannot_create). Local.
  void check_written(ReadBack amount, int threads = 1);

  /// Collective: all data to the device, a look whether as many elements were written as there are
  /// (Error(internal)), the checksums, then `annotate` on the open group "/_tessera" (rank
  /// 0), then the final name. A result that failed its verification is not published: the caller
  /// lets the partial file go.
  void publish(const std::function<void(hid_t group)>& annotate);

  /// Leaves what was written, if anything was, in a hidden file beside the final name, with words
  /// on how to go on. Collective.
  void keep(const std::string& problem, const std::string& state);
  /// What keep() was told beside this name of the same problem; empty where there is nothing of it.
  /// Local.
  [[nodiscard]] static std::string left_of(const std::string& file, const std::string& problem);
  /// What keep() was told; empty in a new file. The same on every rank.
  [[nodiscard]] const std::string& kept() const { return kept_; }

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Whether the datasets go beside others in a file that others wrote. On rank 0.
  [[nodiscard]] bool is_guest() const { return guest_ != nullptr; }

 private:
  OutputFile(const mpi::Communicator& comm, std::string file, Sync sync);
  void open(const std::vector<DatasetSpec>& specs, Existing existing, const std::string& problem);

  struct Dataset {
    std::string path;
    std::vector<index_t> shape;
    index_t element_bytes = 0;
    index_t offset = -1;  // in the file; -1 when there is no element
    std::uint64_t sum = 0;
    index_t written = 0;  // elements, of all ranks once published
  };
  struct Written {
    std::size_t dataset;
    Runs runs;
    std::uint64_t sum = 0;
  };
  [[nodiscard]] const Dataset& dataset_of(std::size_t which) const;
  static void require_slab(const Dataset& dataset, std::span<const layout::Range> slab,
                           std::size_t bytes);
  void write_runs(const RawFile& raw, std::size_t dataset, const Runs& runs,
                  std::span<const std::byte> data, const Onlooker& onlooker = {});
  [[nodiscard]] std::uint64_t sum_in_file(const RawFile& raw, const Written& written,
                                          std::vector<std::byte>& buffer) const;
  void sync_written();
  /// Whether all is there to go on from already.
  [[nodiscard]] bool begin(const std::vector<DatasetSpec>& specs, const std::string& problem);
  void create(const std::vector<DatasetSpec>& specs);
  [[nodiscard]] Handle create_file(const std::vector<DatasetSpec>& specs,
                                   std::vector<DatasetPlace>& places) const;
  [[nodiscard]] bool adopt(const std::string& problem);
  void write_sums(hid_t out) const;
  void note_run(hid_t out, const std::function<void(hid_t group)>& annotate) const;
  void take_name() const;
  void confirm_metadata() const;

  mpi::Communicator comm_;
  std::string file_;
  std::string target_;  // the file that it is, behind links
  std::string partial_;
  std::string kept_;
  Sync sync_;
  Existing existing_ = Existing::refuse;
  std::unique_ptr<Guest> guest_;  // on rank 0
  std::string found_;             // the state of what was there, on rank 0
  std::vector<Dataset> datasets_;
  std::vector<Written> written_;
  bool synced_ = true;  // what this rank wrote is on the device
  bool published_ = false;
};

/// Throws Error(cannot_create) where an output cannot be made: its file is none that it may go to,
/// or the folder is missing or takes none. Local; leaves nothing.
void require_place_for_output(const DatasetName& output, OutputFile::Existing existing);

}  // namespace tessera::io
