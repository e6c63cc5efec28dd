#pragma once
// Contexts and layouts of the C API, and the checks of collective functions.

#include <functional>
#include <memory>
#include <optional>

#include "c/arguments.hpp"
#include "c/handles.hpp"
#include "dist/relayout/relayout.hpp"
#include "layout/distribution.hpp"
#include "layout/matrix_layout.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::c {

struct Context {
  mpi::Communicator comm;
  int threads = 1;  ///< that this rank owns
};
struct Layout {
  layout::Distribution parts;
  std::optional<layout::MatrixLayout> boxes = {};  ///< the same, unless block-cyclic
};

[[nodiscard]] inline std::shared_ptr<Context> context_of(tessera_context handle) {
  return Handles<tessera_context, Context>::all().get(handle, "context");
}
[[nodiscard]] inline std::shared_ptr<Layout> layout_of(tessera_layout handle,
                                                       const char* argument) {
  return Handles<tessera_layout, Layout>::all().get(handle, argument);
}

/// A number for arguments that must be equal on all ranks.
class Fingerprint {
 public:
  Fingerprint& add(index_t value) {
    constexpr std::uint64_t prime = 1099511628211U;  // FNV-1a, of whole words
    bits_ = (bits_ ^ static_cast<std::uint64_t>(value)) * prime;
    return *this;
  }
  Fingerprint& add(const char* text) {
    for (; text != nullptr && *text != '\0'; ++text) add(index_t{*text});
    return add(index_t{-1});
  }
  [[nodiscard]] index_t value() const { return static_cast<index_t>(bits_ >> 1); }

 private:
  std::uint64_t bits_ = 14695981039346656037U;
};

/// Runs checks of this rank's arguments, which also add those that must be equal to a fingerprint.
/// If they fail or differ anywhere, every rank throws Error(usage). Collective.
void agree(const Context& context, const std::function<void(Fingerprint&)>& checks);

/// A distributed matrix of the caller: its layout, the shape of this rank's part, and its memory.
struct Home {
  const char* name = "";
  std::shared_ptr<const Layout> layout;
  Shape shape;  ///< of this rank's array, as the caller sees it
  index_t ld = 0;

  [[nodiscard]] index_t rows() const { return layout->parts.rows(); }
  [[nodiscard]] index_t cols() const { return layout->parts.cols(); }
  [[nodiscard]] bool is_boxes() const { return layout->boxes.has_value(); }
  /// Returns the boxes in rows: of columns, those of the transposed matrix. Precondition:
  /// is_boxes().
  [[nodiscard]] layout::MatrixLayout boxes() const {
    return shape.storage == Storage::rows ? *layout->boxes : layout::transposed(*layout->boxes);
  }
  [[nodiscard]] dist::relayout::StorageOrder order() const {
    using dist::relayout::StorageOrder;
    return shape.storage == Storage::rows ? StorageOrder::row_major : StorageOrder::column_major;
  }
  [[nodiscard]] bool is_dense() const { return ld == shape.inner() || shape.outer() <= 1; }
};
/// Returns the matrix; throws Error(usage) naming "layout_" + name, or name.
[[nodiscard]] Home home_of(const Context& context, const char* name, Storage storage,
                           tessera_layout layout, index_t ld);
/// Throws Error(usage) naming the layout of x unless x is a rows x cols matrix, as `reason` has it.
void expect_shape(const Home& x, index_t rows, index_t cols, const char* reason);
/// Checks its memory, elements of `bytes` bytes.
void expect_memory(const Home& home, const void* data, index_t bytes);
[[nodiscard]] inline Extent extent_of(const Home& home, const void* data, index_t bytes) {
  return extent_of(data, home.ld, home.shape, bytes);
}

}  // namespace tessera::inline v1::c
