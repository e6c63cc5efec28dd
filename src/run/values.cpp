// Inputs whose attributes mark stored numbers as packed or missing.

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/text.hpp"
#include "mpi/agreement.hpp"
#include "run/inputs.hpp"

namespace tessera::inline v1::run {

ValuesOf values_of(const Parsed& parsed, Fills known) {
  ValuesOf how;
  how.raw = parsed.lists.at("raw").front() == "true";
  const std::string& fill = parsed.lists.at("fill").front();
  require(!how.raw || fill.empty(), ExitCode::usage,
          "--raw reads all numbers as stored, so that --fill has no effect; drop one of them");
  if (fill.empty()) return how;
  how.fill = io::Packing::Fill::value;
  how.filled = std::numeric_limits<double>::quiet_NaN();
  if (fill == "nan") return how;
  const bool knows_mask = known == Fills::values_and_mask;
  if (fill == "mask" && knows_mask) {
    how.fill = io::Packing::Fill::mask;
    return how;
  }
  const auto [end, error] = std::from_chars(fill.data(), fill.data() + fill.size(), how.filled);
  require(error == std::errc() && end == fill.data() + fill.size(), ExitCode::usage,
          fmt::format("--fill '{}' is neither nan{} nor a number", fill,
                      knows_mask ? " nor mask" : ""));
  return how;
}

void require_plain_numbers(const io::DatasetName& name, const std::string& what) {
  require(
      io::packing_of(name, io::Packing::Fill::refuse, 0) == nullptr, ExitCode::bad_data,
      fmt::format("{} needs plain numbers: those of {} are packed or may be missing (scale_factor, "
                  "_FillValue or similar); unpack them first, or use --raw to read them as stored",
                  what, name.text()));
}

io::DatasetInfo Input::values(const mpi::Communicator& comm) {
  io::DatasetInfo info = info_;
  if (!counted_ && name_.packing) require_no_missing(comm, info);
  counted_ = true;
  if (!name_.packing) return info;
  if (name_.packing->scaled) {
    info.kind = io::DatasetInfo::Kind::real;
    info.element_bytes = name_.packing->in_f64 ? 8 : 4;
  }
  info.is_signed = info.is_signed != name_.packing->turned;
  return info;
}

/// Throws AgreedError(bad_data) for missing numbers; every rank examines a range of whole rows,
/// aligned to chunks. Collective.
void Input::require_no_missing(const mpi::Communicator& comm, const io::DatasetInfo& info) const {
  if (!name_.packing->masks() || name_.packing->fill != io::Packing::Fill::refuse) return;
  io::Missing mine;
  index_t row = 1;
  for (std::size_t d = 1; d < info.shape.size(); ++d) row *= info.shape[d];
  const index_t rows = info.shape.empty() ? 1 : info.shape.front();
  const index_t at_once = info.chunk.empty() ? 1 : info.chunk.front();
  mpi::together(comm, "open input", [&] {
    const index_t blocks = ceil_div(rows, at_once);
    const layout::Range part{std::min(rows, blocks * comm.rank() / comm.size() * at_once),
                             std::min(rows, blocks * (comm.rank() + 1) / comm.size() * at_once)};
    std::vector<layout::Range> slab;
    for (const index_t extent : info.shape) slab.push_back({0, extent});
    if (!slab.empty()) slab.front() = part;
    if (!part.empty() && row > 0) mine = io::missing_in(name_, slab);
    if (mine.count > 0) mine.first += part.begin * row;
  });
  const index_t count = comm.sum(mine.count);
  const index_t none = std::numeric_limits<index_t>::max();
  const index_t first = -comm.max(-(mine.count > 0 ? mine.first : none));
  mpi::alike("open input", [&] {
    if (count == 0) return;
    std::vector<std::string> place;
    index_t rest = first;
    for (std::size_t d = info.shape.size(); d-- > 0; rest /= info.shape[d])
      place.insert(place.begin(), std::to_string(rest % info.shape[d]));
    throw Error(ExitCode::bad_data,
                fmt::format("{} has {} of {} cells without a value (by _FillValue, missing_value "
                            "or valid_range), the first at [{}]; pass --fill nan, --fill NUMBER, "
                            "--fill mask (stencils leave them out) or --raw (reads the numbers as "
                            "stored)",
                            name_.text(), count, rows * row, join(place, ",")));
  });
}

}  // namespace tessera::inline v1::run
