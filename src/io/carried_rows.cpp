#include "io/carried_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/option_names.hpp"
#include "base/text.hpp"
#include "io/home_file.hpp"
#include "io/small_copy.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr index_t alignment = alignof(std::max_align_t);  // of parts
constexpr index_t in_batch = 16384;  // elements of a call: HDF5 keeps their places in lists

/// Returns the bytes for HDF5: two files' metadata, converted elements, lists of places.
index_t of_library(index_t memory) { return std::min(index_t{8} << 20, memory / 4); }

}  // namespace

index_t carried_bytes(const DatasetName& name, index_t rows) {
  const Handle file = open_file(name.file), dataset = open_dataset(file, name);
  const Handle space(H5Dget_space(dataset), H5Sclose), type(H5Dget_type(dataset), H5Tclose);
  const std::vector<index_t> extents = extents_of(dataset);
  hsize_t bytes = 0;
  h5_check_rc(H5Fget_filesize(file, &bytes), name.text());
  const auto elements = static_cast<index_t>(H5Sget_simple_extent_npoints(space));
  // A row's number and place, its elements twice, their parts with an end of text each.
  const index_t of_element = 2 * static_cast<index_t>(H5Tget_size(type)) + 2 * alignment;
  const index_t of_rows = checked_mul(rows, 16, "a dataset") +
                          checked_mul(elements, of_element, "a dataset") +
                          checked_mul(static_cast<index_t>(bytes), 2, "a dataset");
  return of_rows + of_library(4 * of_rows);
}

void bound_cache(hid_t file, index_t memory) {
  // A heap of short parts takes up to three times the bytes that the cache counts for it.
  constexpr index_t least = index_t{64} << 10, most = index_t{512} << 10;
  const auto bytes = static_cast<std::size_t>(std::clamp(of_library(memory) / 16, least, most));
  H5AC_cache_config_t config{};
  config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  if (H5Fget_mdc_config(file, &config) < 0) return;
  config.set_initial_size = true;
  config.max_size = config.initial_size = bytes;
  config.min_size = static_cast<std::size_t>(least);
  H5Fset_mdc_config(file, &config);
  const int kept = static_cast<int>(bytes);
  H5set_free_list_limits(kept, kept / 4, kept, kept / 4, kept, kept / 4);
}

CarriedRows::CarriedRows(hid_t dataset, index_t memory)
    : dataset_(dataset),
      type_(H5Dget_type(dataset), H5Tclose),
      space_(H5Dget_space(dataset), H5Sclose),
      transfer_(H5Pcreate(H5P_DATASET_XFER), H5Pclose),
      memory_(memory - of_library(memory)) {
  H5Pset_vlen_mem_manager(
      transfer_, allocate, this, [](void*, void*) {}, this);
  for (const index_t extent : extents_of(dataset)) extents_.push_back(static_cast<hsize_t>(extent));
  for (std::size_t d = 1; d < extents_.size(); ++d)
    row_elements_ = checked_mul(row_elements_, static_cast<index_t>(extents_[d]), "a row");
  row_bytes_ = checked_mul(row_elements_, static_cast<index_t>(H5Tget_size(type_)), "a row");
}

void* CarriedRows::allocate(std::size_t bytes, void* self) {
  auto& rows = *static_cast<CarriedRows*>(self);
  const index_t left = rows.memory_.size() - rows.used_;
  rows.is_full_ = bytes > static_cast<std::size_t>(left);
  if (rows.is_full_) return nullptr;
  std::byte* const part = rows.memory_.data() + rows.used_;
  rows.used_ =
      std::min(rows.memory_.size(), rows.used_ + round_up(static_cast<index_t>(bytes), alignment));
  return part;
}

index_t CarriedRows::read(const RowOrder& order, index_t first) {
  data_ = {};
  const index_t left = order.rows - first;
  if (row_bytes_ == 0) return left;
  index_t n = std::min({left, most_, std::max<index_t>(1, memory_.size() / fixed_bytes())});
  while (!try_read(order, first, n)) {
    require(n > 1, ExitCode::memory,
            fmt::format("a row of {} needs more than the {} that are left for it; raise {}",
                        path_of(dataset_), human_bytes(memory_.size()),
                        option_or("--memory", "the memory")));
    n /= 2;
  }
  const index_t of_row = ceil_div(used_, n);
  most_ = std::max<index_t>(1, memory_.size() / (of_row + of_row / 16));  // rows vary in length
  return n;
}

/// Reads n rows; returns false if they do not fit in memory.
bool CarriedRows::try_read(const RowOrder& order, index_t first, index_t n) {
  used_ = round_up(n * fixed_bytes(), alignment);
  if (used_ > memory_.size()) return false;
  const auto count = static_cast<std::size_t>(n), bytes = static_cast<std::size_t>(row_bytes_);
  const std::span wanted(reinterpret_cast<Wanted*>(memory_.data()), count);
  std::byte* const found = memory_.data() + wanted.size_bytes();
  std::byte* const placed = found + count * bytes;
  const std::span numbers(reinterpret_cast<std::uint64_t*>(placed), count);  // until rows are read
  order.read(first, numbers);
  for (std::size_t i = 0; i < count; ++i) wanted[i] = {numbers[i], i};
  const bool ascending = std::ranges::is_sorted(wanted, {}, &Wanted::row);
  if (!ascending) std::ranges::sort(wanted, {}, &Wanted::row);
  require(wanted.back().row < extents_.front(), ExitCode::internal,
          "a row of the permutation is not in the input");
  const auto batch = static_cast<std::size_t>(std::max<index_t>(1, in_batch / row_elements_));
  for (std::size_t at = 0; at < count; at += batch)
    if (!read_batch(wanted.subspan(at, std::min(batch, count - at)), found + at * bytes))
      return false;
  for (std::size_t i = 0; i < count && !ascending; ++i)
    std::memcpy(placed + wanted[i].place * bytes, found + i * bytes, bytes);
  data_ = {ascending ? found : placed, count * bytes};
  return true;
}

bool CarriedRows::read_batch(std::span<const Wanted> wanted, std::byte* to) {
  select(wanted);
  const hsize_t count = wanted.size() * static_cast<hsize_t>(row_elements_);
  const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
  is_full_ = false;
  const herr_t read = H5Dread(dataset_, type_, memory, space_, transfer_, to);
  if (read < 0 && is_full_) return false;
  h5_check_rc(read, ExitCode::bad_data, path_of(dataset_) + " cannot be read");
  return true;
}

/// Selects whole rows, in ascending order, in the dataset's space.
void CarriedRows::select(std::span<const Wanted> wanted) const {
  const std::uint64_t begin = wanted.front().row;
  if (wanted.back().row - begin + 1 == wanted.size()) {
    std::vector<hsize_t> start(extents_.size(), 0), count = extents_;
    start[0] = begin;
    count[0] = wanted.size();
    H5Sselect_hyperslab(space_, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    return;
  }
  std::vector<hsize_t> places;
  places.reserve(wanted.size() * static_cast<std::size_t>(row_elements_) * extents_.size());
  for (const Wanted& one : wanted) {
    std::vector<hsize_t> at(extents_.size(), 0);
    at[0] = one.row;
    for (index_t e = 0; e < row_elements_; ++e) {
      places.insert(places.end(), at.begin(), at.end());
      for (std::size_t d = extents_.size(); d-- > 1 && ++at[d] == extents_[d];) at[d] = 0;
    }
  }
  H5Sselect_elements(space_, H5S_SELECT_SET, places.size() / extents_.size(), places.data());
}

void for_rounds(CarriedRows& reading, const RowOrder& order,
                const std::function<void(index_t first, index_t n)>& body) {
  for (index_t first = 0; first < order.rows;) {
    const index_t n = reading.read(order, first);
    body(first, n);
    first += n;
    mpi::heartbeat();
  }
}

RowOrder unchanged_order(index_t rows, index_t memory) {
  return {rows,
          [](index_t first, std::span<std::uint64_t> numbers) {
            std::iota(numbers.begin(), numbers.end(), static_cast<std::uint64_t>(first));
          },
          memory};
}

}  // namespace tessera::inline v1::io
