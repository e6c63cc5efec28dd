#pragma once
// Where the runs of an out-of-core sort are cut into parts that follow each other in the sorted
// order.

#include <functional>
#include <optional>
#include <span>

#include "dist/sort/external.hpp"
#include "workloads/sort/external/runs.hpp"

namespace tessera::workloads::sort {

class RunParts {
 public:
  /// Of sorted runs, by their samples: exact cuts are found in the files.
  RunParts(const dist::sort::RunPlan& plan, std::vector<dist::sort::RunSamples> runs,
           dist::sort::EqualRows equal, const Pieces& pieces, const SortedFiles& files);
  /// Of divided runs: neighbouring buckets. Nothing where one does not fit into memory.
  [[nodiscard]] static std::optional<RunParts> of_buckets(const dist::sort::RunPlan& plan,
                                                          std::vector<dist::sort::RunSamples> runs);

  [[nodiscard]] index_t count() const { return count_; }
  /// Rows of every run before a part; part == count(): all. Local.
  [[nodiscard]] std::vector<index_t> before(index_t part) const;
  /// The first rows of a part's buckets in a run, and the end of the last one; none of sorted runs.
  [[nodiscard]] std::vector<index_t> buckets(index_t run, index_t part) const;

  /// A part's rows in every run, between these of before(). Local.
  [[nodiscard]] std::vector<Slice> slices(index_t part, const std::vector<index_t>& from,
                                          const std::vector<index_t>& to,
                                          const SortedFiles& files) const;

 private:
  using Cut = std::function<index_t(index_t run, index_t part)>;
  RunParts() = default;

  std::vector<dist::sort::RunSamples> runs_;
  std::vector<index_t>
      firsts_;  // of divided runs: the buckets that parts begin with, and how many there are
  index_t count_ = 0;
  Cut cut_;  // for 0 < part < count
};

/// Whether the parts of all ranks follow each other in order, by the words of their first and last
/// rows.
class OrderOfParts {
 public:
  enum class RepeatedRows { allowed, wrong };
  explicit OrderOfParts(RepeatedRows equal) : equal_(equal) {}
  /// A part follows those before on this rank.
  void follow(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& last);
  /// Borders that are out of order. Collective.
  [[nodiscard]] index_t faults(const mpi::Communicator& comm) const;

 private:
  [[nodiscard]] bool may_follow(std::span<const std::uint64_t> before,
                                std::span<const std::uint64_t> after) const;

  RepeatedRows equal_;
  index_t faults_ = 0;
  std::vector<std::uint64_t> first_, last_;
};

}  // namespace tessera::workloads::sort
