#pragma once
// The parts of an out-of-core sort's runs, in the sorted order.

#include <functional>
#include <optional>
#include <span>

#include "dist/sort/external.hpp"
#include "workloads/sort/external/runs.hpp"

namespace tessera::inline v1::workloads::sort {

/// Divides the rows by a sample of the input, if the pieces can. Returns an identifier of the
/// division; empty if runs are sorted. Collective.
[[nodiscard]] std::optional<std::uint64_t> division_of(const mpi::Communicator& comm,
                                                       RowPieces& pieces,
                                                       const dist::sort::RunPlan& plan,
                                                       mpi::Phases& phases);

class RunParts {
 public:
  /// Parts of sorted runs, from their samples: searches exact cuts in the files.
  RunParts(const dist::sort::RunPlan& plan, std::vector<dist::sort::RunSamples> runs,
           dist::sort::EqualRows equal, const RowPieces& pieces, const SortedFiles& files);
  /// Returns parts of divided runs: adjacent buckets. Empty if a bucket does not fit into memory.
  [[nodiscard]] static std::optional<RunParts> of_buckets(const dist::sort::RunPlan& plan,
                                                          std::vector<dist::sort::RunSamples> runs);

  [[nodiscard]] index_t count() const { return count_; }
  /// Returns the number of rows of every run before a part; part == count(): all. Local.
  [[nodiscard]] std::vector<index_t> before(index_t part) const;
  /// Returns the first rows of a part's buckets in a run, and the end of the last one; empty for
  /// sorted runs.
  [[nodiscard]] std::vector<index_t> buckets(index_t run, index_t part) const;

  /// Returns a part's rows in every run, between two results of before(). Local.
  [[nodiscard]] std::vector<Slice> slices(index_t part, const std::vector<index_t>& from,
                                          const std::vector<index_t>& to,
                                          const SortedFiles& files) const;

 private:
  using Cut = std::function<index_t(index_t run, index_t part)>;
  RunParts() = default;

  std::vector<dist::sort::RunSamples> runs_;
  std::vector<index_t>
      firsts_;  // of divided runs: the first bucket of each part, and the number of buckets
  index_t count_ = 0;
  Cut cut_;  // for 0 < part < count
};

/// Verifies that the parts of all ranks follow each other in order, by the words of their first and
/// last rows.
class OrderOfParts {
 public:
  enum class RepeatedRows { allowed, wrong };
  explicit OrderOfParts(RepeatedRows equal) : equal_(equal) {}
  /// Appends a part after the previous ones of this rank.
  void follow(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& last);
  /// Returns the number of borders out of order. Collective.
  [[nodiscard]] index_t faults(const mpi::Communicator& comm) const;

 private:
  [[nodiscard]] bool may_follow(std::span<const std::uint64_t> before,
                                std::span<const std::uint64_t> after) const;

  RepeatedRows equal_;
  index_t faults_ = 0;
  std::vector<std::uint64_t> first_, last_;
};

}  // namespace tessera::inline v1::workloads::sort
