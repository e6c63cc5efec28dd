// Checkpoints: writes them at intervals and on a signal, keeps the previous one until the next is
// complete, and resumes from the newest one of the same problem.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hash.hpp"
#include "base/note.hpp"
#include "io/checksum.hpp"
#include "io/grid.hpp"
#include "io/notes.hpp"
#include "io/raw_file.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "run/stop.hpp"
#include "workloads/stencil/stops.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

std::string previous_name(const std::string& file) { return file + ".previous"; }

/// Returns a text and a hash of everything that a step depends on except the field.
std::string problem_text(const Problem& problem) {
  const auto& stencil = problem.scheme().stencil;
  std::uint64_t hash = 0;
  const auto add = [&](double value) { hash = mix64(hash ^ std::bit_cast<std::uint64_t>(value)); };
  for (const auto& tap : stencil.taps) {
    for (int d = 0; d < 3; ++d) add(static_cast<double>(tap.offset[d]));
    add(tap.weight);
  }
  add(stencil.previous);
  std::vector<std::string> sides;
  for (std::size_t d = 3 - static_cast<std::size_t>(problem.dims()); d < 3; ++d) {
    for (const auto& side : problem.scheme().sides[d]) {
      sides.emplace_back(name(side.kind));
      add(side.value);
    }
  }
  const index_t fields = problem.shape.fields;
  return fmt::format("{} on {}{} ({}), {}, {:016x}", stencil.name,
                     fields == 1 ? "" : fmt::format("{} times ", fields),
                     fmt::join(problem.extents(), "x"), name(problem.element),
                     fmt::join(sides, " "), hash);
}

/// Returns the datasets of a checkpoint: every field and, with two time levels, its previous level.
std::vector<std::string> level_names(const Problem& problem) {
  std::vector<std::string> names;
  for (index_t field = 0; field < problem.shape.fields; ++field) {
    const std::string number = field == 0 ? "" : fmt::format("_{}", field + 1);
    names.push_back("/u" + number);
    if (problem.scheme().stencil.two_levels()) names.push_back("/past" + number);
  }
  return names;
}

/// Returns their levels, in the same order.
template <class Field>
auto levels_of(Field& u) {
  std::vector<decltype(u.now())> levels;
  for (index_t field = 0; field < u.fields(); ++field) {
    levels.push_back(u.now(field));
    if (u.scheme().stencil.two_levels()) levels.push_back(u.past(field));
  }
  return levels;
}

/// Returns whether a checkpoint may replace the file: it does not exist, is empty, is a checkpoint
/// or, in a resumed run, is a damaged file. Local.
bool may_be_replaced(const std::string& file, bool resumed) {
  std::error_code error;
  if (!io::file_exists(file) || std::filesystem::file_size(file, error) == 0) return true;
  try {
    const io::Handle readable = io::open_file(file);
  } catch (const Error&) {
    return resumed;
  }
  try {
    return io::Notes(file).has("checkpoint_problem");
  } catch (const Error&) {
    return false;
  }
}

/// Returns the step of a checkpoint; -1 if it has none. Local.
index_t step_of(const std::string& file) {
  try {
    return io::Notes(file).integer("checkpoint_step");
  } catch (const Error&) {
    return -1;
  }
}

/// The result of rank 0's inspection of a checkpoint, on all ranks.
struct FoundCheckpoint {
  index_t step = -1;  ///< -1: none
  std::string why;    ///< reason for -1
  std::vector<std::string> sums;
};

/// Inspects a checkpoint. start: the start of this run; empty if the checkpoint may be of another.
FoundCheckpoint look_into(const mpi::Communicator& comm, const std::string& file,
                          const Problem& problem, const std::string& wanted,
                          const std::string& start) {
  FoundCheckpoint found;
  found.sums.resize(level_names(problem).size());
  mpi::on_root(comm, "resume", [&] {
    try {
      const io::Notes notes(file);
      require(notes.has("checkpoint_problem"), ExitCode::bad_data,
              fmt::format("'{}' is not a checkpoint", file));
      const std::string kept = notes.text("checkpoint_problem");
      if (kept != wanted)
        throw Error(ExitCode::usage,
                    fmt::format("'{}' is a checkpoint of another problem ({}) than this one ({})",
                                file, kept, wanted));
      require(start.empty() || !notes.has("checkpoint_start") ||
                  notes.text("checkpoint_start") == start,
              ExitCode::usage,
              fmt::format("'{}' is a checkpoint of a run with another initial field; name another "
                          "--checkpoint, or resume from it anyway with --resume {}",
                          file, file));
      const auto names = level_names(problem);
      for (std::size_t i = 0; i < names.size(); ++i) found.sums[i] = notes.checksum(names[i]);
      found.step = notes.integer("checkpoint_step");
    } catch (const Error& error) {
      if (error.code() == ExitCode::usage) throw;
      found.why = error.what();
    }
  });
  comm.broadcast(std::span(&found.step, 1), 0);
  found.why = comm.broadcast(found.why, 0);
  for (std::string& sum : found.sums) sum = comm.broadcast(sum, 0);
  return found;
}

/// Loads the checkpoint's field into u. Returns whether it is what was written. Collective.
template <class T>
bool load_checkpoint(const Point& point, const std::string& file, const FoundCheckpoint& found,
                     DistributedField<T>& u) {
  const auto names = level_names(point.problem);
  const auto levels = levels_of(u);
  std::string failure;
  try {
    for (std::size_t i = 0; i < names.size() && !u.box().empty(); ++i)
      io::read_grid<T>({file, names[i]}, u.box(), levels[i]);
  } catch (const Error& error) {
    failure = error.what();
  }
  if (point.comm.max(index_t{failure.empty() ? 0 : 1}) != 0) return false;
  bool same = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t mine = u.box().empty() ? 0
                                               : tessera::stencil::field_hash<T>(
                                                     levels[i], u.box().low, u.scheme().global);
    same = io::checksum_text(point.comm.sum(mine)) == found.sums[i] && same;
  }
  return same;
}

}  // namespace

template <class T>
std::string problem_of(const Point& point, const DistributedField<T>& u) {
  return problem_text(point.problem) + identity_of(point, u);
}

template <class T>
std::string start_of(const Point& point, const DistributedField<T>& u) {
  std::uint64_t all = 0;
  for (const auto& level : levels_of(u)) {
    const std::uint64_t mine =
        u.box().empty() ? 0
                        : tessera::stencil::field_hash<T>(level, u.box().low, u.scheme().global);
    all = mix64(all) + point.comm.sum(mine);
  }
  return io::checksum_text(all);
}

template <class T>
Checkpoints<T>::Checkpoints(const Point& point, const DistributedField<T>& u, index_t first,
                            std::string start, const Series<T>* series, Leave leave,
                            mpi::Phases& phases)
    : point_(point),
      u_(u),
      phases_(phases),
      file_(io::behind_links(point.problem.checkpoint)),
      identity_(problem_of(point, u)),
      start_(std::move(start)),
      series_(series),
      leave_(std::move(leave)),
      every_(point.problem.checkpoint_every),
      written_(first),
      next_(first),
      looked_(first),
      stretch_(u.halo_steps()) {
  mpi::on_root(point.comm, "checkpoint", [&] {
    const std::string folder = io::directory_of(file_);
    require(std::filesystem::is_directory(folder) && !std::filesystem::is_directory(file_),
            ExitCode::cannot_create,
            fmt::format("checkpoints cannot be written to '{}': folder '{}' does not exist, or the "
                        "name is a folder",
                        file_, folder));
    const int reason = access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
    require(reason == 0,
            ExitCode::cannot_create,  // checked now: the first one is written in minutes or hours
            fmt::format("checkpoints cannot be written to '{}' ({}); name another file", file_,
                        std::strerror(reason)));
    for (const std::string& file : checkpoint_files(file_))
      require(may_be_replaced(file, point_.problem.resumes()), ExitCode::cannot_create,
              fmt::format("'{}' is not a checkpoint and would be overwritten; name another file",
                          file));
  });
}

template <class T>
void Checkpoints<T>::at(index_t step) {
  std::vector<double> state{run::stop_requested_here() ? 1.0 : 0.0, since_written_.seconds(),
                            since_looked_.seconds()};
  point_.comm.max(std::span(state));
  const bool stop = state[0] > 0, moved = step > written_;
  const bool due = every_.steps > 0 ? step - written_ >= every_.steps : state[1] >= every_.seconds;
  if (moved && (stop || due)) write(step);
  if (stop) {
    if (written_ > 0) leave_(step);
    throw mpi::AgreedError(
        ExitCode::stopped_early,
        fmt::format("a signal stopped the run after step {} of {}; rerun with --resume {}", step,
                    point_.problem.shape.steps, written_ > 0 ? "auto" : "auto (from the start)"));
  }
  plan_next(step, state[2]);
}

/// Plans the next look at the clock in about half a second, at multiples of the halo steps.
template <class T>
void Checkpoints<T>::plan_next(index_t step, double seconds) {
  constexpr double short_wait = 0.25, long_wait = 1;
  if (step - looked_ >= stretch_) {
    if (seconds < short_wait) stretch_ *= 2;
    if (seconds > long_wait) stretch_ = std::max(u_.halo_steps(), stretch_ / 2);
  }
  next_ = step + stretch_;
  if (every_.steps > 0) next_ = std::min(next_, std::max(written_ + every_.steps, step + 1));
  looked_ = step;
  since_looked_.restart();
}

template <class T>
void Checkpoints<T>::write(index_t step) {
  const mpi::PhaseScope scope(phases_, "checkpoint");
  u_.bring();
  const hid_t type = io::native_type(point_.problem.element);
  std::vector<io::DatasetSpec> specs;
  for (const std::string& name : level_names(point_.problem))
    specs.push_back({name, point_.problem.extents(), type, {}});
  const auto seen = series_ != nullptr ? series_->seen() : MatrixView<const double>{};
  if (series_ != nullptr)
    specs.push_back({"/series", {seen.rows, seen.cols}, io::native_type(Element::f64), {}});
  io::OutputFile out(point_.comm, file_, specs, io::OutputFile::Existing::known);
  mpi::together(point_.comm, "checkpoint", [&] {
    const auto levels = levels_of(u_);
    for (std::size_t i = 0; i < levels.size() && !u_.box().empty(); ++i) {
      io::write_grid<T>(u_.box(), levels[i],
                        [&](auto slab, auto bytes) { out.write_slab(i, slab, bytes); });
    }
    if (series_ != nullptr && point_.comm.is_root())
      out.write(
          levels.size(), 0,
          std::as_bytes(std::span(seen.data, static_cast<std::size_t>(seen.rows * seen.cols))));
    out.check_written(io::OutputFile::ReadBack::off);
  });
  // Replaces the newest checkpoint only by a complete successor; one of the two exists at any time.
  // If the run resumed from the previous one, because the newest was damaged, keeps that one
  // instead.
  mpi::on_root(point_.comm, "checkpoint", [&] {
    const bool damaged =
        point_.problem.resume == "auto" && written_ > 0 && step_of(file_) != written_;
    if (!damaged && io::file_exists(file_)) io::publish_file(file_, previous_name(file_));
  });
  out.publish([&](hid_t group) {
    io::write_attribute(group, "checkpoint_step", step);
    io::write_attribute(group, "checkpoint_problem", identity_);
    io::write_attribute(group, "checkpoint_start", start_);
    if (series_ == nullptr) return;
    io::write_attribute(group, "checkpoint_series", series_->identity());
    io::write_attribute(group, "checkpoint_series_steps", seen.rows);
  });
  written_ = step;
  since_written_.restart();
}

std::vector<std::string> checkpoint_files(const std::string& checkpoint) {
  if (checkpoint.empty()) return {};
  const std::string file = io::behind_links(checkpoint);
  return {file, previous_name(file)};
}

template <class T>
Begin resume(const Point& point, DistributedField<T>& u, const std::string& start) {
  const Problem& asked = point.problem;
  if (!asked.resumes()) return {};
  const bool any = asked.resume == "auto";
  const std::string named = any ? io::behind_links(asked.checkpoint) : asked.resume;
  std::vector<std::string> files{named};
  if (any) files.push_back(previous_name(named));
  const std::string identity = problem_of(point, u);
  std::string why;
  for (const std::string& file : files) {
    const FoundCheckpoint found =
        look_into(point.comm, file, point.problem, identity, any ? start : "");
    if (found.step >= 0 && load_checkpoint(point, file, found, u)) {
      mpi::together(point.comm, "resume", [&] {
        require(found.step <= point.problem.shape.steps, ExitCode::usage,
                fmt::format("checkpoint '{}' is after step {}, beyond --steps {}", file, found.step,
                            point.problem.shape.steps));
        load_given(point.problem, point.inputs, u);
      });
      if (point.comm.is_root()) fmt::print("resumed: {} after step {}\n", file, found.step);
      return {found.step, file};
    }
    why = found.step >= 0 ? fmt::format("'{}' does not match its checksum", file) : found.why;
    if (any && point.comm.is_root() && io::file_exists(file))
      print_note(fmt::format("checkpoint not used: {}", why));
  }
  mpi::together(point.comm, "resume", [&] {
    if (!any)
      throw Error(io::file_exists(named) ? ExitCode::bad_data : ExitCode::missing_input,
                  why + "; name another checkpoint");
    load(point.problem, point.inputs, u);  // replaces the data read from a damaged one
  });
  return {};
}

template class Checkpoints<Half>;
template class Checkpoints<float>;
template class Checkpoints<double>;
template std::string problem_of(const Point&, const DistributedField<Half>&);
template std::string problem_of(const Point&, const DistributedField<float>&);
template std::string problem_of(const Point&, const DistributedField<double>&);
template std::string start_of(const Point&, const DistributedField<Half>&);
template Begin resume(const Point&, DistributedField<Half>&, const std::string&);
template std::string start_of(const Point&, const DistributedField<float>&);
template Begin resume(const Point&, DistributedField<float>&, const std::string&);
template std::string start_of(const Point&, const DistributedField<double>&);
template Begin resume(const Point&, DistributedField<double>&, const std::string&);

}  // namespace tessera::inline v1::workloads::stencil
