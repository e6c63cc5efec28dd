#pragma once
// Actions of a stencil run between steps.

#include <functional>
#include <optional>

#include "base/timer.hpp"

#include "dist/stencil/march.hpp"
#include "dist/stencil/samples.hpp"
#include "io/async_file.hpp"
#include "kernels/stencil/verify.hpp"
#include "run/outputs.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {

using dist::stencil::DistributedField;
using dist::stencil::Stop;

/// The check of a run: follows samples over the first and the last steps, and the sum if the
/// stencil conserves it.
template <class T>
class Check : public Stop {
 public:
  Check(const Point& point, const DistributedField<T>& u, index_t first, index_t last,
        mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  /// Returns the verdict: a sample that differs by a bit is wrong; a sum may drift within rounding.
  /// Collective.
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

/// The frames of the snapshots, and those that a stopped attempt left.
struct FramePlan {
  std::vector<index_t> steps;  ///< of each, ascending
  std::string identity;        ///< of everything that they depend on; empty: not reusable
  index_t written = -1;        ///< frames exist up to this step
};

/// Returns the frames from step `first` on, or from the start of a stopped attempt at the same
/// problem if its frames reach `first`. Collective.
[[nodiscard]] FramePlan plan_frames(const Point& point, const std::string& identity, index_t first);

/// Writes frames to a dataset of the outputs for every field, concurrently with the next steps.
template <class T>
class Snapshots : public Stop {
 public:
  Snapshots(const Point& point, const DistributedField<T>& u, run::Outputs& outputs,
            std::vector<std::size_t> datasets, const FramePlan& frames, mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  /// Waits until every frame is written; throws an error on all ranks. Collective.
  void finish();
  [[nodiscard]] io::FileTraffic take_traffic() { return writes_.take_traffic(); }
  /// Keeps the frames up to this step for a later attempt. Collective.
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
  io::FileQueue writes_;  ///< declared last, so that it ends before the copy is freed
};

/// Records points of the field and its norms at regular steps.
template <class T>
class Series : public Stop {
 public:
  Series(const Point& point, const DistributedField<T>& u, mpi::Phases& phases);
  [[nodiscard]] index_t next(index_t step) const override;
  void at(index_t step) override;
  [[nodiscard]] std::vector<io::Row> rows() const;

  /// Returns the records so far: one row per step, the step first, then the quantities.
  [[nodiscard]] MatrixView<const double> seen() const;
  /// Returns a hash of the recorded quantities and steps.
  [[nodiscard]] std::string identity() const;
  /// Restores the records of the same quantities from a checkpoint after this step, if it has any.
  /// Collective.
  void resume_from(const std::string& checkpoint, index_t step);

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

/// Writes checkpoints of the field at intervals, and on a signal: all ranks then throw
/// AgreedError(stopped_early). Keeps the previous checkpoint.
template <class T>
class Checkpoints : public Stop {
 public:
  /// Called if a signal ends the run after a step, to keep further files.
  using Leave = std::function<void(index_t step)>;
  /// Checks that the files can be created. start: of the run's field before its first step; series:
  /// stored with the checkpoints, may be nullptr. Collective.
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
  index_t stretch_;  ///< steps between two looks at the clock
  Timer since_written_, since_looked_;
};

/// Returns the files of --checkpoint: of the newest, and of the previous one. Empty if there is no
/// checkpoint.
[[nodiscard]] std::vector<std::string> checkpoint_files(const std::string& checkpoint);

/// Returns a text and hashes of everything that a step depends on except the field. Collective.
template <class T>
[[nodiscard]] std::string problem_of(const Point& point, const DistributedField<T>& u);

/// Returns a hash of the field, and of its previous level if there is one. Collective.
template <class T>
[[nodiscard]] std::string start_of(const Point& point, const DistributedField<T>& u);

/// The start of a run: after a step of a checkpoint, or with its initial field.
struct Begin {
  index_t step = 0;
  std::string checkpoint;  ///< empty: none
};

/// Loads the newest complete checkpoint of this problem into u; leaves u unchanged without
/// --resume, or if --resume is auto and there is no checkpoint. A checkpoint that is found, not
/// named, must be of a run from this start. Collective.
template <class T>
[[nodiscard]] Begin resume(const Point& point, DistributedField<T>& u, const std::string& start);

/// Returns the steps of --every: its multiples, the first and the last step.
[[nodiscard]] std::vector<index_t> frames_of(const Problem& problem, index_t first);

}  // namespace tessera::inline v1::workloads::stencil
