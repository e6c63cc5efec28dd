// Cuts runs into parts that fit in memory, by samples or at bucket borders, and verifies the order
// across parts and ranks.

#include "workloads/sort/external/parts.hpp"

#include <algorithm>

#include "mpi/agreement.hpp"

namespace tessera::inline v1::workloads::sort {

using dist::sort::PartBorder;
using dist::sort::RunSamples;

std::optional<std::uint64_t> division_of(const mpi::Communicator& comm, RowPieces& pieces,
                                         const dist::sort::RunPlan& plan, mpi::Phases& phases) {
  constexpr index_t in_part = 16, least = 256;  // buckets, so that parts fill the memory
  const mpi::PhaseScope scope(phases, "sample");
  std::string sample;
  mpi::on_root(comm, "read", [&] { sample = pieces.sample(); });
  sample = comm.broadcast(std::move(sample), 0);
  if (sample.empty()) return std::nullopt;
  return pieces.divide_by(sample, std::max(least, in_part * plan.runs), plan.part_aim);
}

RunParts::RunParts(const dist::sort::RunPlan& plan, std::vector<RunSamples> runs,
                   dist::sort::EqualRows equal, const RowPieces& pieces, const SortedFiles& files)
    : runs_(std::move(runs)) {
  auto borders = part_borders(plan, runs_, pieces.words(), equal);
  count_ = static_cast<index_t>(borders.size()) + 1;
  cut_ = [&plan, &pieces, &files, samples = runs_, borders = std::move(borders)](index_t run,
                                                                                 index_t part) {
    const PartBorder& border = borders[static_cast<std::size_t>(part - 1)];
    const layout::Range rows =
        dist::sort::bracket(plan, samples[static_cast<std::size_t>(run)], run, border);
    const auto words = pieces.words_of({files.run(run), rows});
    return rows.begin + dist::sort::rows_before(words, run, rows.begin, border);
  };
}

std::optional<RunParts> RunParts::of_buckets(const dist::sort::RunPlan& plan,
                                             std::vector<RunSamples> runs) {
  std::vector<index_t> sizes(runs.front().words.size() - 1, 0);
  for (const RunSamples& run : runs) {
    for (std::size_t b = 0; b < sizes.size(); ++b)
      sizes[b] += static_cast<index_t>(run.words[b + 1] - run.words[b]);
  }
  auto firsts = dist::sort::group_buckets(sizes, plan.at_once);
  if (!firsts) return std::nullopt;
  RunParts parts;
  parts.count_ = static_cast<index_t>(firsts->size());
  parts.firsts_ = std::move(*firsts);
  parts.firsts_.push_back(static_cast<index_t>(sizes.size()));
  parts.runs_ = std::move(runs);
  return parts;
}

std::vector<index_t> RunParts::before(index_t part) const {
  std::vector<index_t> rows;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const auto run = static_cast<index_t>(r);
    rows.push_back(part == 0         ? 0
                   : part == count_  ? runs_[r].rows
                   : firsts_.empty() ? cut_(run, part)
                                     : buckets(run, part).front());
  }
  return rows;
}

std::vector<Slice> RunParts::slices(index_t part, const std::vector<index_t>& from,
                                    const std::vector<index_t>& to,
                                    const SortedFiles& files) const {
  std::vector<Slice> slices;
  for (std::size_t r = 0; r < from.size(); ++r) {
    const auto run = static_cast<index_t>(r);
    if (from[r] < to[r]) slices.push_back({files.run(run), {from[r], to[r]}, buckets(run, part)});
  }
  return slices;
}

std::vector<index_t> RunParts::buckets(index_t run, index_t part) const {
  if (firsts_.empty()) return {};
  const std::vector<std::uint64_t>& begin = runs_[static_cast<std::size_t>(run)].words;
  const auto first = begin.begin() + firsts_[static_cast<std::size_t>(part)];
  return {first, begin.begin() + firsts_[static_cast<std::size_t>(part) + 1] + 1};
}

void OrderOfParts::follow(const std::vector<std::uint64_t>& first,
                          const std::vector<std::uint64_t>& last) {
  if (last_.empty())
    first_ = first;
  else if (!may_follow(last_, first))
    ++faults_;
  last_ = last;
}

bool OrderOfParts::may_follow(std::span<const std::uint64_t> before,
                              std::span<const std::uint64_t> after) const {
  return equal_ == RepeatedRows::wrong
             ? std::lexicographical_compare(before.begin(), before.end(), after.begin(),
                                            after.end())
             : !std::lexicographical_compare(after.begin(), after.end(), before.begin(),
                                             before.end());
}

index_t OrderOfParts::faults(const mpi::Communicator& comm) const {
  const auto words = static_cast<std::size_t>(comm.max(static_cast<index_t>(last_.size())));
  std::vector<std::uint64_t> mine(2 * words + 1, 0);
  if (!last_.empty()) {
    mine[0] = 1;
    std::copy(first_.begin(), first_.end(), mine.begin() + 1);
    std::copy(last_.begin(), last_.end(), mine.begin() + 1 + static_cast<std::ptrdiff_t>(words));
  }
  const auto all = comm.all_gather(std::span<const std::uint64_t>(mine));
  index_t wrong = comm.sum(faults_);
  std::span<const std::uint64_t> before;  // the last row of the ranks so far
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    if (all[at] == 0) continue;
    const std::span<const std::uint64_t> first(&all[at + 1], words);
    wrong += !before.empty() && !may_follow(before, first) ? 1 : 0;
    before = {&all[at + 1] + words, words};
  }
  return wrong;
}

}  // namespace tessera::inline v1::workloads::sort
