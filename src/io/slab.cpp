// Reads of blocks of datasets.

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "io/dataset.hpp"
#include "io/number_types.hpp"
#include "io/packed.hpp"
#include "io/pieces.hpp"
#include "io/raw_file.hpp"
#include "io/runs.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns the access list for runs of this length. The library reads every run of a contiguous
/// dataset that is shorter than its sieve buffer (64 KiB) through that buffer, as a whole: many
/// times the data if runs of a few pages are far apart. Runs of at least a page therefore bypass
/// it.
Handle access_for(index_t run_bytes) {
  Handle access(h5_check(H5Pcreate(H5P_FILE_ACCESS), ExitCode::internal, "H5Pcreate"), H5Pclose);
  if (run_bytes >= page_bytes)
    h5_check_rc(H5Pset_sieve_buf_size(access, 1), ExitCode::internal, "H5Pset_sieve_buf_size");
  return access;
}

/// Returns the number of dimensions that a selection keeps.
std::size_t kept_rank(const DatasetName& name, std::size_t rank) {
  const auto dropped = std::ranges::count_if(name.selection, &Pick::is_index);
  return rank - std::min(rank, static_cast<std::size_t>(dropped));
}

/// Converts a slab of the name's selection to one of the dataset. A slab of more dimensions sees
/// the dataset with further ones of extent 1: a vector as a column.
Ranges in_dataset(const DatasetName& name, const std::vector<index_t>& extents,
                  std::span<const layout::Range> slab) {
  Ranges whole = resolve(name.selection, extents, name.text());
  std::size_t d = 0;
  for (std::size_t k = 0; k < whole.size(); ++k) {
    if (k < name.selection.size() && name.selection[k].is_index) continue;
    const layout::Range part = slab[d++];
    whole[k] = {whole[k].begin + part.begin, whole[k].begin + part.end};
  }
  TESSERA_EXPECTS(d <= slab.size());
  return whole;
}

/// Reads elements into a column of a matrix, whose rows are to.ld elements apart.
void read_column(hid_t dataset, const DatasetName& name, const Ranges& box, const SlabTarget& to) {
  HeldArray held{to.type, to.data, to.element_bytes, {}};
  index_t count = 1;
  for (const layout::Range range : box) {
    held.extents.push_back(range.size());
    count *= range.size();
  }
  if (to.ld == 1) return read_pieces(dataset, name.text(), box, held);
  const auto bytes = static_cast<std::size_t>(to.element_bytes);
  std::vector<std::byte> packed(static_cast<std::size_t>(count) * bytes);
  held.data = packed.data();
  read_pieces(dataset, name.text(), box, held);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    std::copy_n(packed.data() + i * bytes, bytes,
                static_cast<std::byte*>(to.data) + i * static_cast<std::size_t>(to.ld) * bytes);
}

}  // namespace

template <class T>
void require_view(const layout::Box& box, MatrixView<T> to) {
  require_argument(box.empty() || (to.data != nullptr && to.rows == box.rows.size() &&
                                   to.cols == box.cols.size() && to.ld >= to.cols),
                   "to",
                   fmt::format("has {} x {} elements with rows {} apart: must fit the box {}",
                               to.rows, to.cols, to.ld, layout::text(box)));
}

void read_slab(const DatasetName& name, std::span<const layout::Range> slab, const SlabTarget& to) {
  if (slab.empty() ||
      std::any_of(slab.begin(), slab.end(), [](auto range) { return range.empty(); }))
    return;
  const Handle access = access_for(slab.back().size() * to.element_bytes);
  const Handle file = open_file(name.file, access);
  const Handle dataset = open_dataset(file, name);
  const Handle space(h5_check(H5Dget_space(dataset), name.text()), H5Sclose);
  const std::vector<index_t> extents = extents_of_space(space);
  const Ranges box = in_dataset(name, extents, slab);
  if (kept_rank(name, extents.size()) < slab.size()) return read_column(dataset, name, box, to);
  HeldArray held{to.type, to.data, to.element_bytes, {}};
  std::size_t last = 0;  // the slab's last dimension in the dataset
  for (std::size_t d = 0; d < box.size(); ++d) {
    held.extents.push_back(box[d].size());
    if (d >= name.selection.size() || !name.selection[d].is_index) last = d;
  }
  if (slab.size() > 1) held.extents[last] = to.ld;
  read_pieces(dataset, name.text(), box, held);
}

void will_read(const DatasetName& name, std::span<const layout::Range> slab) {
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) return;
  const DatasetInfo info = inspect(dataset, name);
  const auto part = in_dataset(name, info.shape, slab);
  const RawFile raw(std::filesystem::canonical(name.file), RawFile::Mode::read);
  for_each_runs(info.shape, part, [&](const StridedRuns& runs) {
    if (runs.length * info.element_bytes < page_bytes)
      return;  // more calls than the device would have requests
    for (index_t r = 0; r < runs.count; ++r) {
      raw.will_read(
          static_cast<index_t>(offset) + (runs.first + r * runs.distance) * info.element_bytes,
          runs.length * info.element_bytes);
    }
  });
}

namespace {

/// Calls put(row of the box, its values) for a box of values unpacked from stored numbers.
template <class T, class Put>
void each_row_of_values(const DatasetName& name, const layout::Box& box, const Put& put) {
  if (box.empty()) return;
  constexpr index_t at_once_bytes = index_t{1} << 20;
  const index_t cols = box.cols.size();
  const index_t at_once = std::max<index_t>(1, at_once_bytes / (cols * index_t{sizeof(T)}));
  std::vector<T> values(static_cast<std::size_t>(std::min(at_once, box.rows.size()) * cols));
  for (index_t i = 0; i < box.rows.size(); i += at_once) {
    const index_t rows = std::min(at_once, box.rows.size() - i);
    const layout::Range slab[] = {{box.rows.begin + i, box.rows.begin + i + rows}, box.cols};
    read_values<T>(name, slab, std::span(values).first(static_cast<std::size_t>(rows * cols)));
    for (index_t r = 0; r < rows; ++r) put(i + r, values.data() + r * cols);
  }
}

}  // namespace

template <class T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to) {
  require_view(box, to);
  if (name.packing) {
    return each_row_of_values<T>(name, box, [&](index_t i, const T* values) {
      std::copy_n(values, to.cols, to.data + i * to.ld);
    });
  }
  const layout::Range slab[] = {box.rows, box.cols};
  read_slab(name, slab, {native_type(element_of<T>), to.data, index_t{sizeof(T)}, to.ld});
}

template <class T>
requires is_complex<T>
void read_box(const DatasetName& name, const layout::Box& box, MatrixView<T> to) {
  require_view(box, to);
  const layout::Range slab[] = {box.rows, box.cols};
  if (box.empty()) return;
  if (name.packing) {
    return each_row_of_values<Real<T>>(name, box, [&](index_t i, const Real<T>* values) {
      auto* const row = reinterpret_cast<Real<T>*>(to.data + i * to.ld);
      for (index_t j = 0; j < to.cols; ++j) row[2 * j] = values[j], row[2 * j + 1] = 0;
    });
  }
  if (H5Tget_class(stored_type(name)) == H5T_COMPOUND) {
    const Handle type = complex_form(name, index_t{sizeof(T)});
    return read_slab(name, slab, {type, to.data, index_t{sizeof(T)}, to.ld});
  }
  // Reads real numbers to the ends of their rows, then expands them in place.
  auto* const parts = reinterpret_cast<Real<T>*>(to.data);
  read_slab(
      name, slab,
      {native_type(element_of<Real<T>>), parts + to.cols, index_t{sizeof(Real<T>)}, 2 * to.ld});
  for (index_t i = 0; i < to.rows; ++i) {
    Real<T>* const row = parts + 2 * i * to.ld;
    for (index_t j = 0; j < to.cols; ++j) {
      const Real<T> value = row[to.cols + j];
      row[2 * j] = value;
      row[2 * j + 1] = 0;
    }
  }
}

void read_integers(const DatasetName& name, const layout::Box& box, void* data,
                   const MatrixShape& shape, const IntegerForm& form) {
  require_view(
      box, MatrixView<std::byte>{static_cast<std::byte*>(data), shape.rows, shape.cols, shape.ld});
  require_argument(!name.packing, "name", "has packing, whose values are real; read doubles");
  const layout::Range slab[] = {box.rows, box.cols};
  const std::string type = (form.is_signed ? "i" : "u") + std::to_string(8 * form.bytes);
  read_slab(
      name, slab,
      {native_type(*find_number_type(type)), data, static_cast<index_t>(form.bytes), shape.ld});
}

template void read_box<float>(const DatasetName&, const layout::Box&, MatrixView<float>);
template void read_box<double>(const DatasetName&, const layout::Box&, MatrixView<double>);
template void read_box<Complex<float>>(const DatasetName&, const layout::Box&,
                                       MatrixView<Complex<float>>);
template void read_box<Complex<double>>(const DatasetName&, const layout::Box&,
                                        MatrixView<Complex<double>>);

}  // namespace tessera::inline v1::io
