#pragma once
// Zero-copy reads of matrices from the page cache.

#include <future>
#include <memory>

#include "base/element.hpp"
#include "io/dataset.hpp"

namespace tessera::inline v1::io {

/// A dataset whose file is mapped into memory.
class MappedMatrix {
 public:
  /// Maps a dataset; returns nullptr unless it has two dimensions, is contiguous, unpacked,
  /// complete and stored in the memory format of the element, and the file system supports mapping.
  static std::unique_ptr<MappedMatrix> open(const DatasetName& name, Element element);
  ~MappedMatrix();
  MappedMatrix(const MappedMatrix&) = delete;
  MappedMatrix& operator=(const MappedMatrix&) = delete;

  /// Prefetches a box of the selection, its rows concurrently: a hint. Waits for the previous
  /// prefetch. Not thread-safe.
  void will_bring(const layout::Box& box);
  /// Waits until the box is in memory. Throws Error(io) if the file cannot be read.
  void bring(const layout::Box& box) const;

  /// Returns the view of a box, valid for the lifetime of this object.
  template <class T>
  [[nodiscard]] MatrixView<const T> view(const layout::Box& box) const {
    TESSERA_EXPECTS(static_cast<index_t>(sizeof(T)) == element_bytes_);
    return {reinterpret_cast<const T*>(row(box.rows.begin) + box.cols.begin * element_bytes_),
            box.rows.size(), box.cols.size(), row_bytes_ / element_bytes_};
  }

 private:
  MappedMatrix() = default;
  /// Calls body(begin, end) for the runs of a box.
  template <class Body>
  void each_run(const layout::Box& box, const Body& body) const {
    if (box.empty()) return;
    const index_t begin = box.cols.begin * element_bytes_, end = box.cols.end * element_bytes_;
    const index_t rows = end - begin == row_bytes_ ? box.rows.size() : 1;  // per run
    for (index_t i = box.rows.begin; i < box.rows.end; i += rows)
      body(row(i) + begin, row(i + rows - 1) + end);
  }
  [[nodiscard]] const std::byte* row(index_t i) const { return first_ + i * row_bytes_; }

  std::string name_;
  std::byte* map_ = nullptr;
  index_t map_bytes_ = 0;
  const std::byte* first_ = nullptr;  ///< of the selection
  index_t row_bytes_ = 0, element_bytes_ = 0;
  std::future<void> coming_;  ///< the prefetch of will_bring()
};

}  // namespace tessera::inline v1::io
