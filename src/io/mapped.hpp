#pragma once
// Matrices read where the system's file cache holds them: nothing is copied.

#include <future>
#include <memory>

#include "base/element.hpp"
#include "io/dataset.hpp"

namespace tessera::io {

/// A dataset whose file is part of this process' memory.
class MappedMatrix {
 public:
  /// Nothing where it cannot be: unless the dataset has two dimensions, lies in one piece, is
  /// stored as such elements are held in memory, and is all there; and where the file system maps
  /// no files.
  static std::unique_ptr<MappedMatrix> open(const DatasetName& name, Element element);
  ~MappedMatrix();
  MappedMatrix(const MappedMatrix&) = delete;
  MappedMatrix& operator=(const MappedMatrix&) = delete;

  /// Lets the device begin with a box of what the name selects, its rows side by side: a hint.
  /// Returns when what the last one began is there. Called by one thread at a time.
  void will_bring(const layout::Box& box);
  /// Returns when it is in memory. Throws Error(io) where the file does not give it.
  void bring(const layout::Box& box) const;

  /// A box, as long as this lives.
  template <class T>
  [[nodiscard]] MatrixView<const T> view(const layout::Box& box) const {
    TESSERA_EXPECTS(static_cast<index_t>(sizeof(T)) == element_bytes_);
    return {reinterpret_cast<const T*>(row(box.rows.begin) + box.cols.begin * element_bytes_),
            box.rows.size(), box.cols.size(), row_bytes_ / element_bytes_};
  }

 private:
  MappedMatrix() = default;
  /// body(begin, end) of a box's runs.
  template <class Body>
  void each_run(const layout::Box& box, const Body& body) const {
    if (box.empty()) return;
    const index_t begin = box.cols.begin * element_bytes_, end = box.cols.end * element_bytes_;
    const index_t rows = end - begin == row_bytes_ ? box.rows.size() : 1;  // at once
    for (index_t i = box.rows.begin; i < box.rows.end; i += rows)
      body(row(i) + begin, row(i + rows - 1) + end);
  }
  [[nodiscard]] const std::byte* row(index_t i) const { return first_ + i * row_bytes_; }

  std::string name_;
  std::byte* map_ = nullptr;
  index_t map_bytes_ = 0;
  const std::byte* first_ = nullptr;  ///< of what is selected
  index_t row_bytes_ = 0, element_bytes_ = 0;
  std::future<void> coming_;  ///< what will_bring() began
};

}  // namespace tessera::io
