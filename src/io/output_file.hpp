#pragma once
// Output that is complete and matches its checksums, or is not there.
//
// Rank 0 creates a hidden partial file beside the final name, with every dataset contiguous and its space
// reserved; all ranks write raw data at their offsets; what was written is read back; rank 0 adds checksums
// and provenance, marks the file complete and renames it. Raw data goes by pwrite and not by MPI-IO: a full
// disk or a failing device is then an errno on the rank that met it (ompio reports success, romio hangs in
// close), and a serial HDF5 library serves as well.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/view.hpp"
#include "io/h5.hpp"
#include "layout/matrix_layout.hpp"
#include "mpi/communicator.hpp"

namespace tessera::io {

class RawFile;

struct DatasetSpec {
  std::string path;  ///< "/group/name"; groups are made
  std::vector<index_t> shape;
  hid_t type = -1;                      ///< borrowed; e.g. native_type(Element::f64)
  std::vector<std::string> dimensions;  ///< a name each: dimension scales at the root, where names are given
};

class OutputFile {
 public:
  enum class Existing { refuse, replace };
  enum class ReadBack { automatic, all, sample, off };  ///< automatic: all up to 1 GiB a rank, else a sample

  /// Collective; throws AgreedError: 73 when the file exists or cannot be created or the space is not there.
  OutputFile(const mpi::Communicator& comm, std::string file, const std::vector<DatasetSpec>& datasets,
             Existing existing);
  /// Discards the partial file unless published.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes whole elements from position first_element on (row-major). Local; throws Error(io,
  /// cannot_create). Every element must be written exactly once by somebody.
  void write(std::size_t dataset, index_t first_element, std::span<const std::byte> data);

  /// The same for pieces here and there: one opening, and one way to the medium, for all of them.
  struct Piece {
    index_t first_element;
    std::span<const std::byte> data;
  };
  void write(std::size_t dataset, std::span<const Piece> pieces);

  /// Writes a block of a 2-D dataset. Local.
  template <class T>
  void write_box(std::size_t dataset, const layout::Box& box, MatrixView<const T> block) {
    const index_t cols = datasets_[dataset].shape.at(1);
    const bool whole_rows = block.ld == block.cols && block.cols == cols;
    const index_t rows = block.cols == 0 ? 0 : whole_rows ? (block.rows > 0 ? 1 : 0) : block.rows;
    const index_t row_elements = whole_rows ? block.rows * block.cols : block.cols;
    for (index_t i = 0; i < rows; ++i) {
      write(dataset, (box.rows.begin + i) * cols + box.cols.begin,
            std::as_bytes(std::span(&block(i, 0), static_cast<std::size_t>(row_elements))));
    }
  }

  /// Reads back what this rank wrote and compares; throws Error(io) on a difference. Local.
  void check_written(ReadBack amount);

  /// Collective: the checksums, then `annotate` on the open group "/_tessera" (rank 0), then the final name.
  /// A result that failed its verification is not published: the caller lets the partial file go.
  void publish(const std::function<void(hid_t group)>& annotate);

  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  struct Dataset {
    std::string path;
    std::vector<index_t> shape;
    index_t element_bytes = 0;
    index_t offset = -1;  // in the file; -1 when there is no element
    std::uint64_t sum = 0;
  };
  struct Extent {
    index_t offset, bytes, element_bytes, first_element;
    std::uint64_t sum;
  };
  void create(const std::vector<DatasetSpec>& specs);
  void write_piece(const RawFile& raw, Dataset& dataset, Piece piece);
  void confirm_metadata() const;

  mpi::Communicator comm_;
  std::string file_;
  std::string partial_;
  std::vector<Dataset> datasets_;
  std::vector<Extent> extents_;
  bool published_ = false;
};

}  // namespace tessera::io
