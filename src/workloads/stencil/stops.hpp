#pragma once
// What a run of the stencil command does between steps.

#include <functional>
#include <optional>

#include "base/timer.hpp"

#include "dist/stencil/march.hpp"
#include "dist/stencil/samples.hpp"
#include "io/async_file.hpp"
#include "kernels/stencil/verify.hpp"
#include "run/outputs.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::workloads::stencil {

using dist::stencil::DistributedField;
using dist::stencil::Stop;

/// The first and the last steps followed at some points, and the sum where the stencil keeps it.
template <class T>
class Check : public Stop {
 public:
  Check(const Point& point, const DistributedField<T>& u, index_t first, index_t last,
        mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  /// A sample that differs by a bit is wrong; a sum may drift by what rounding allows. Collective.
  [[nodiscard]] run::Verdict verdict() const;

 private:
  using Samples = dist::stencil::Samples<T>;
  [[nodiscard]] std::vector<tessera::stencil::Sum> sums() const;  ///< by field

  const Point& point_;
  const DistributedField<T>& u_;
  mpi::Phases& phases_;
  std::array<index_t, 4> steps_;  ///< from the first to the second and from the third to the fourth
  bool conserves_;
  std::vector<tessera::stencil::Sum> before_;
  std::vector<Samples> early_, late_;  ///< by field
};

/// The frames of the snapshots, and those of them that a stopped attempt left.
struct FramePlan {
  std::vector<index_t> steps;  ///< of each, ascending
  std::string identity;  ///< everything that they depend on; empty: of no use to another attempt
  index_t written = -1;  ///< up to this step they are there
};

/// From the step `first` on, or from where a stopped attempt at the same problem began, if what it
/// left reaches that far. Collective.
[[nodiscard]] FramePlan plan_frames(const Point& point, const std::string& identity, index_t first);

/// Frames to a dataset of the outputs for every field, written while the next steps are computed.
template <class T>
class Snapshots : public Stop {
 public:
  Snapshots(const Point& point, const DistributedField<T>& u, run::Outputs& outputs,
            std::vector<std::size_t> datasets, const FramePlan& frames, mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  /// Every frame is written, or an error that all ranks throw. Collective.
  void finish();
  [[nodiscard]] io::FileTraffic take_traffic() { return writes_.take_traffic(); }
  /// Leaves the frames up to this step to a later attempt. Collective.
  void leave(index_t step);

 private:
  void write(index_t frame);

  const Point& point_;
  const DistributedField<T>& u_;
  run::Outputs& outputs_;
  std::vector<std::size_t> datasets_;  ///< by field
  const FramePlan& frames_;
  mpi::Phases& phases_;
  machine::Buffer<T> copy_;
  io::FileQueue::Ticket writing_;
  io::FileQueue writes_;  ///< ends before the copy
};

/// Points of the field and its norms, every so many steps.
template <class T>
class Series : public Stop {
 public:
  Series(const Point& point, const DistributedField<T>& u, mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  [[nodiscard]] std::vector<io::Row> rows() const;

  /// What was seen so far: a row a step, which stands first, then the quantities.
  [[nodiscard]] MatrixView<const double> seen() const;
  /// A hash of what is looked at, and when.
  [[nodiscard]] std::string identity() const;
  /// Goes on with what a checkpoint after this step has of the same quantities, if any. Collective.
  void go_on_with(const std::string& checkpoint, index_t step);

 private:
  void look(index_t field);
  void measure(index_t field);
  [[nodiscard]] index_t columns() const { return 1 + static_cast<index_t>(quantities_.size()); }

  const Point& point_;
  const DistributedField<T>& u_;
  mpi::Phases& phases_;
  index_t every_, from_ = 0;
  std::vector<std::string> quantities_;
  std::vector<double> seen_;
};

/// Writes checkpoints of the field from time to time, and when a signal asks for one: after that
/// all ranks throw AgreedError(stopped_early). The one before is kept beside it.
template <class T>
class Checkpoints : public Stop {
 public:
  /// What else is to be left where a signal ends the run after a step.
  using Leave = std::function<void(index_t step)>;
  /// Checks that the files can be made. start: of the run's field before its first step; series:
  /// goes along, if there is one. Collective.
  Checkpoints(const Point& point, const DistributedField<T>& u, index_t first, std::string start,
              const Series<T>* series, Leave leave, mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override { return std::max(step, next_); }
  void at(index_t step) override;

 private:
  void write(index_t step);
  void plan_next(index_t step, double seconds);

  const Point& point_;
  const DistributedField<T>& u_;
  mpi::Phases& phases_;
  std::string file_, identity_, start_;
  const Series<T>* series_;
  Leave leave_;
  Interval every_;
  index_t written_, next_, looked_;
  index_t stretch_;  ///< steps between two looks
  Timer since_written_, since_looked_;
};

/// The files that --checkpoint has: of the newest, and of the one before. Empty: none.
[[nodiscard]] std::vector<std::string> checkpoint_files(const std::string& checkpoint);

/// Everything that a step depends on beside the field, in words and hashes. Collective.
template <class T>
[[nodiscard]] std::string problem_of(const Point& point, const DistributedField<T>& u);

/// A hash of the field as it is, and of the one a step before where there is one. Collective.
template <class T>
[[nodiscard]] std::string start_of(const Point& point, const DistributedField<T>& u);

/// Where a run begins: after a step of a checkpoint, or with its field.
struct Begin {
  index_t step = 0;
  std::string checkpoint;  ///< empty: none
};

/// Loads the newest whole checkpoint of this problem into u; does not touch u where none is to be
/// looked for, or --resume is auto and there is none. One that is found, not named, must be of a
/// run from this start. Collective.
template <class T>
[[nodiscard]] Begin resume(const Point& point, DistributedField<T>& u, const std::string& start);

/// The steps that --every asks for: multiples of it, the first and the last one.
[[nodiscard]] std::vector<index_t> frames_of(const Problem& problem, index_t first);

}  // namespace tessera::workloads::stencil
