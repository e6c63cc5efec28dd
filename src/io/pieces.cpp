#include "io/pieces.hpp"
#include "base/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "io/chunks.hpp"
#include "io/contiguous.hpp"
#include "io/conversion.hpp"
#include "io/decode.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

/// A box of a dataset that is read into memory part by part.
struct BoxRead {
  hid_t dataset;
  const std::string& name;
  const Ranges& box;
  const HeldArray& to;
};

/// Reads one part of the box; returns the result of H5Dread, for the caller's Transfer.
herr_t read_piece(const BoxRead& whole, hid_t space, const Ranges& part) {
  const auto& [dataset, name, box, to] = whole;
  std::vector<hsize_t> start, count, extents;
  index_t at = 0;  // elements of the array before the part's first one
  for (std::size_t d = 0; d < part.size(); ++d) {
    start.push_back(static_cast<hsize_t>(part[d].begin));
    count.push_back(static_cast<hsize_t>(part[d].size()));
    extents.push_back(static_cast<hsize_t>(d == 0 ? part[d].size() : to.extents[d]));
    at = at * to.extents[d] + part[d].begin - box[d].begin;
  }
  const std::vector<hsize_t> origin(part.size(), 0);
  const int rank = static_cast<int>(part.size());
  h5_check_rc(
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      ExitCode::bad_data, name + " does not contain the block to read");
  const Handle memory(
      h5_check(H5Screate_simple(rank, extents.data(), nullptr), ExitCode::internal, name),
      H5Sclose);
  h5_check_rc(
      H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin.data(), nullptr, count.data(), nullptr),
      ExitCode::internal, name);
  const herr_t result = H5Dread(dataset, to.type, memory, space, H5P_DEFAULT,
                                static_cast<std::byte*>(to.data) + at * to.element_bytes);
  mpi::heartbeat();
  work_done().bytes_read += static_cast<index_t>(H5Sget_select_npoints(memory)) * to.element_bytes;
  return result;
}

}  // namespace

void each_piece(std::span<const layout::Range> box, index_t most,
                const std::function<void(const Ranges&)>& body) {
  index_t inner = 1;  // elements per index of dimension d
  std::size_t d = box.size();
  while (d > 1 && inner * box[d - 1].size() <= most) inner *= box[--d].size();
  if (d == 0 || inner == 0) return;
  --d;  // the dimension that is cut; slower ones advance index by index
  const index_t at_once = std::max<index_t>(1, most / inner);
  index_t outer = 1;
  for (std::size_t e = 0; e < d; ++e) outer *= box[e].size();
  Ranges part(box.begin(), box.end());
  for (index_t o = 0; o < outer; ++o) {
    index_t rest = o;
    for (std::size_t e = d; e-- > 0; rest /= box[e].size()) {
      const index_t i = box[e].begin + rest % box[e].size();
      part[e] = {i, i + 1};
    }
    for (index_t i = box[d].begin; i < box[d].end; i += at_once) {
      part[d] = {i, std::min(box[d].end, i + at_once)};
      body(part);
    }
  }
}

std::vector<index_t> first_refused(Ranges box, const std::function<bool(const Ranges&)>& holds) {
  std::vector<index_t> position;
  for (layout::Range& range : box) {
    while (range.size() > 1) {
      const layout::Range whole = range;
      range.end = whole.begin + whole.size() / 2;
      if (holds(box)) range = {range.end, whole.end};
    }
    position.push_back(range.begin);
  }
  return position;
}

namespace {

/// Reads a part of the box by H5Dread.
void read_by_library(const BoxRead& whole, hid_t space, const Ranges& part) {
  const auto& [dataset, name, box, to] = whole;
  const Transfer transfer;
  if (!transfer.refused(read_piece(whole, space, part), name)) return;
  const auto position = first_refused(part, [&](const Ranges& some) {
    const Transfer again;
    return !again.refused(read_piece(whole, space, some), whole.name);
  });
  Ranges one;
  for (const index_t i : position) one.push_back({i, i + 1});
  const Transfer last;
  last.check(read_piece(whole, space, one), to.type, name,
             fmt::format(" at [{}]", fmt::join(position, ", ")));
}

}  // namespace

void read_pieces(hid_t dataset, const std::string& name, const Ranges& box, const HeldArray& to,
                 index_t most_bytes) {
  if (read_contiguous(dataset, box, to)) return;
  const Handle space(h5_check(H5Dget_space(dataset), name), H5Sclose);
  const BoxRead whole{dataset, name, box, to};
  const index_t most = std::max<index_t>(1, most_bytes / to.element_bytes);
  const auto by_library = [&](const Ranges& some) {
    each_piece(some, most, [&](const Ranges& part) { read_by_library(whole, space, part); });
  };
  const auto absent = decode_box(dataset, name, box, to);
  if (!absent) require_honest_masks(dataset, name, box);
  for (const Ranges& part : absent.value_or(std::vector<Ranges>{box})) by_library(part);
}

}  // namespace tessera::inline v1::io
