// Checks of the sources of virtual datasets: for anything that it does not find, the library
// silently returns the fill value, by default zero.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "io/chunks.hpp"
#include "io/home_file.hpp"
#include "io/raw_file.hpp"
#include "io/storage.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr int most_depth = 16;  // of nested virtual datasets; detects cycles
constexpr std::size_t most_united =
    1000;  // mappings whose union is computed, which is slow in the library

using Extents = std::vector<hsize_t>;

Extents counts_of(hid_t space) {
  const std::vector<index_t> extents = extents_of_space(space);
  return {extents.begin(), extents.end()};
}

/// The positions that are selected along one dimension.
struct Pattern {
  hsize_t start = 0, stride = 1, count = 1, block = 1;

  [[nodiscard]] bool is_unlimited() const {
    return count == H5S_UNLIMITED || block == H5S_UNLIMITED;
  }
  /// Returns the number of positions before `extent`.
  [[nodiscard]] hsize_t before(hsize_t extent) const {
    if (extent <= start) return 0;
    const hsize_t length = extent - start;
    if (block == H5S_UNLIMITED) return length;
    return std::min(count, length / stride) * block +
           (length / stride < count ? std::min(block, length % stride) : 0);
  }
  /// Returns the number of blocks that begin before `extent`.
  [[nodiscard]] hsize_t blocks_before(hsize_t extent) const {
    return extent <= start ? 0 : (extent - start - 1) / stride + 1;
  }
};

/// Returns a selection as one pattern per dimension; none if it is not regular.
std::optional<std::vector<Pattern>> patterns_of(hid_t space) {
  if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0)
    return std::nullopt;
  const std::size_t rank = counts_of(space).size();
  Extents start(rank), stride(rank), count(rank), block(rank);
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0)
    return std::nullopt;
  std::vector<Pattern> patterns;
  for (std::size_t d = 0; d < rank; ++d)
    patterns.push_back({start[d], stride[d], count[d], block[d]});
  return patterns;
}

std::optional<std::size_t> unlimited_dimension(
    const std::optional<std::vector<Pattern>>& patterns) {
  for (std::size_t d = 0; patterns && d < patterns->size(); ++d)
    if ((*patterns)[d].is_unlimited()) return d;
  return std::nullopt;
}

/// Returns the paths at which the library searches for a source's file, in order. `of`: the file
/// that contains the virtual dataset.
std::vector<std::string> places_of(const std::string& source, const std::string& of) {
  namespace fs = std::filesystem;
  const bool is_absolute = fs::path(source).is_absolute();
  const fs::path name = is_absolute ? fs::path(source).filename() : fs::path(source);
  std::vector<std::string> places;
  if (is_absolute) places.push_back(source);
  const char* const variable = std::getenv("HDF5_VDS_PREFIX");
  const std::string prefix = variable == nullptr ? "" : variable, origin = "${ORIGIN}";
  for (const std::string& folder : split(prefix, ':'))
    if (!folder.empty()) places.push_back(fs::path(folder) / name);
  if (prefix.starts_with(origin))
    places.push_back(fs::path(directory_of(of) + prefix.substr(origin.size())) / name);
  for (const std::string& folder :
       {directory_of(of), std::string(), directory_of(behind_links(of))})
    places.push_back(fs::path(folder) / name);
  return places;
}

/// Expands a name: "%b" is the number of a block, "%%" a percent sign.
std::string name_of_block(const std::string& pattern, hsize_t block) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_mark = pattern[i] == '%' && i + 1 < pattern.size();
    if (is_mark && pattern[i + 1] == 'b')
      name += std::to_string(block);
    else
      name += pattern[i];
    if (is_mark) ++i;
  }
  return name;
}

using GetName = ssize_t (*)(hid_t, std::size_t, char*, std::size_t);

std::string name_of_source(GetName get, hid_t creation, std::size_t source) {
  const ssize_t length = get(creation, source, nullptr, 0);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (!text.empty()) get(creation, source, text.data(), text.size() + 1);
  return text;
}

class VirtualDataset {
 public:
  VirtualDataset(hid_t dataset, hid_t creation, const DatasetName& name, int depth)
      : creation_(creation),
        name_(name),
        depth_(depth),
        home_(home_of(dataset).empty() ? name.file : home_of(dataset)),
        space_(h5_check(H5Dget_space(dataset), name.text()), H5Sclose),
        extents_(counts_of(space_)) {}

  void require_whole() {
    std::size_t count = 0;
    h5_check_rc(H5Pget_virtual_count(creation_, &count), ExitCode::bad_data, name_.text());
    for (std::size_t i = 0; i < count; ++i) require_mapping(i);
    if (has_fill_value() || !leaves_gaps(count)) return;
    throw Error(ExitCode::missing_input,
                fmt::format("{} is virtual and parts of it have no source: the library would read "
                            "zeros there; set a fill value of the dataset",
                            name_.text()));
  }

 private:
  [[nodiscard]] Handle virtual_space(std::size_t i) const {
    return {h5_check(H5Pget_virtual_vspace(creation_, i), ExitCode::bad_data, name_.text()),
            H5Sclose};
  }

  [[nodiscard]] bool has_fill_value() const {
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    return H5Pfill_value_defined(creation_, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED;
  }

  [[noreturn]] void refuse(const std::string& source, const std::string& reason) const {
    throw Error(ExitCode::missing_input,
                fmt::format("{} is virtual and its source {} is incomplete, for which the library "
                            "would read zeros: {}",
                            name_.text(), source, reason));
  }

  /// Returns the extents of a source. Throws Error if it cannot be read.
  const Extents& source_extents(const std::string& file, const std::string& path) {
    const std::string source = file + ":" + path;
    const auto known = sources_.find(source);
    if (known != sources_.end()) return known->second;
    const Handle in = open_source(file, source);
    const Handle dataset(H5Dopen2(in, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (dataset < 0) refuse(source, "the dataset does not exist; restore it");
    try {
      const Handle creation(h5_check(H5Dget_create_plist(dataset), ExitCode::bad_data, source),
                            H5Pclose);
      const DatasetName its{home_of(in), path};
      require_readable(dataset, creation, its, depth_ + 1);
      require_whole_chunks(dataset, creation, its);
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{} is virtual over {}: {}", name_.text(), source, error.what()));
    }
    const Handle space(h5_check(H5Dget_space(dataset), ExitCode::bad_data, source), H5Sclose);
    require_small_source(dataset, space, source);
    return sources_[source] = counts_of(space);
  }

  /// Checks the filter masks of a source's chunks; reads its stored bytes, and therefore only few.
  static void require_small_source(hid_t dataset, hid_t space, const std::string& source) {
    constexpr hsize_t most_bytes = hsize_t{256} << 20;
    if (H5Dget_storage_size(dataset) > most_bytes) return;
    std::vector<layout::Range> box;
    for (const hsize_t extent : counts_of(space)) box.push_back({0, narrow<index_t>(extent)});
    require_honest_masks(dataset, source, box);
  }

  [[nodiscard]] Handle open_source(const std::string& file, const std::string& source) const {
    std::string reason;
    for (const std::string& place :
         file == "." ? std::vector<std::string>{home_} : places_of(file, home_)) {
      if (!file_exists(place)) continue;
      try {
        return open_file(place);
      } catch (const Error& error) {  // the library continues, too
        if (reason.empty()) reason = error.what();
      }
    }
    refuse(source, reason.empty() ? "the file does not exist; restore it" : reason);
  }

  void require_mapping(std::size_t i) {
    const std::string file = name_of_source(H5Pget_virtual_filename, creation_, i);
    const std::string named = name_of_source(H5Pget_virtual_dsetname, creation_, i);
    const std::string path = named.starts_with('/') ? named : "/" + named;
    const Handle target = virtual_space(i);
    const Handle from(
        h5_check(H5Pget_virtual_srcspace(creation_, i), ExitCode::bad_data, name_.text()),
        H5Sclose);
    const auto to = patterns_of(target);
    const auto open_end = unlimited_dimension(to);
    const bool is_many =
        open_end && !unlimited_dimension(patterns_of(from));  // one source per block
    const hsize_t blocks = is_many ? (*to)[*open_end].blocks_before(extents_[*open_end]) : 1;
    const hsize_t wanted = open_end ? (*to)[*open_end].before(extents_[*open_end])
                                    : static_cast<hsize_t>(H5Sget_select_npoints(target));
    for (hsize_t block = 0; block < blocks; ++block) {
      const std::string block_file = name_of_block(file, block),
                        block_path = name_of_block(path, block);
      const Extents& extents = source_extents(block_file, block_path);
      if (!holds(extents, from, is_many ? 0 : wanted))
        refuse(fmt::format("{}:{}", block_file, block_path),
               fmt::format("it is {}, less than the mapping; restore the rest",
                           fmt::join(extents, " x ")));
    }
  }

  /// Returns whether a source with these extents contains its selection; `wanted`: elements of the
  /// mapping, or for an unlimited one positions along its unlimited dimension.
  static bool holds(const Extents& extents, hid_t from, hsize_t wanted) {
    const H5S_sel_type selected = H5Sget_select_type(from);
    if (selected == H5S_SEL_NONE) return true;
    if (selected == H5S_SEL_ALL) {
      hsize_t elements = 1;
      for (const hsize_t extent : extents) elements *= extent;
      return elements >= wanted;
    }
    const auto patterns = patterns_of(from);
    const auto open_end = unlimited_dimension(patterns);
    Extents low(counts_of(from).size()), high(low);
    if (low.size() != extents.size()) return false;
    if (!open_end && H5Sget_select_bounds(from, low.data(), high.data()) < 0) return false;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (open_end == d && (*patterns)[d].before(extents[d]) < wanted) return false;
      if (open_end == d) continue;
      const hsize_t end = open_end ? (*patterns)[d].start +
                                         ((*patterns)[d].count - 1) * (*patterns)[d].stride +
                                         (*patterns)[d].block
                                   : high[d] + 1;
      if (end > extents[d]) return false;
    }
    return true;
  }

  /// Returns whether elements remain that no mapping covers.
  [[nodiscard]] bool leaves_gaps(std::size_t count) const {
    const auto all = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space_));
    hsize_t named = 0;
    const Handle united(H5Scopy(space_), H5Sclose);
    H5Sselect_none(united);
    bool is_union = count <= most_united;
    for (std::size_t i = 0; i < count; ++i) {
      const Handle target = virtual_space(i);
      const auto patterns = patterns_of(target);
      const auto open_end = unlimited_dimension(patterns);
      if (H5Sget_select_type(target) == H5S_SEL_ALL) return false;
      hsize_t here = open_end ? 1 : static_cast<hsize_t>(H5Sget_select_npoints(target));
      for (std::size_t d = 0; open_end && d < extents_.size(); ++d)
        here *= (*patterns)[d].before(extents_[d]);
      named += here;
      is_union = is_union && !open_end && unite(united, target);
    }
    if (is_union) named = static_cast<hsize_t>(H5Sget_select_npoints(united));
    return named < all;
  }

  static bool unite(hid_t all, hid_t one) {
    if (H5Sget_select_type(one) == H5S_SEL_NONE) return true;
    if (H5Sget_select_type(one) != H5S_SEL_HYPERSLABS) return false;
    if (H5Sget_select_type(all) == H5S_SEL_NONE) return H5Sselect_copy(all, one) >= 0;
    return H5Smodify_select(all, H5S_SELECT_OR, one) >= 0;
  }

  hid_t creation_;
  const DatasetName& name_;
  int depth_;
  std::string home_;
  Handle space_;
  Extents extents_;
  std::map<std::string, Extents> sources_;
};

}  // namespace

void require_sources(hid_t dataset, hid_t creation, const DatasetName& name, int depth) {
  require(depth < most_depth, ExitCode::bad_data,
          fmt::format("{} is virtual over {} levels of virtual datasets, perhaps over itself; use "
                      "stored sources",
                      name.text(), most_depth));
  VirtualDataset(dataset, creation, name, depth).require_whole();
}

}  // namespace tessera::inline v1::io
