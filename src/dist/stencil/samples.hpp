#pragma once
// The check of a sweep on any number of ranks: some points computed again, one at a time, by plain
// code.

#include <cstdint>
#include <vector>

#include "dist/stencil/field.hpp"
#include "mpi/communicator.hpp"

namespace tessera::dist::stencil {

/// Steps that a sample is followed over so that to compute it again takes some milliseconds, at
/// most.
[[nodiscard]] index_t sample_steps(const Stencil& stencil, index_t most);
/// The same where all samples are to take a few percent of so many steps of the problem, too.
[[nodiscard]] index_t sample_steps(const Scheme& scheme, index_t steps, index_t most);

/// Sample points of a stretch of a sweep: corners of the field, points at the borders between
/// ranks, and random ones. What they depend on is taken from the ranks that own it, never from
/// ghost layers, so that a wrong exchange shows.
template <class T>
class Samples {
 public:
  /// Before so many steps of u: gathers what the samples of one of its fields depend on.
  /// Collective.
  Samples(const mpi::Communicator& comm, const DistributedField<T>& u, index_t steps,
          std::uint64_t seed, index_t field = 0);
  /// After them: the values that came out. Collective.
  void record(const DistributedField<T>& u);
  /// How many of them are not, bit by bit, what the plain computation gives (a zero may have either
  /// sign). The same on every rank; collective.
  [[nodiscard]] index_t wrong() const;
  [[nodiscard]] index_t count() const { return static_cast<index_t>(samples_.size()); }

 private:
  struct Sample {
    Index3 point;
    Box3 box;  ///< what it depends on, periodic dimensions unrolled
    std::vector<double> now, past;
    std::array<std::vector<double>, all_terms.size()> terms;  ///< by Term
  };
  [[nodiscard]] std::vector<Index3> choose(const layout::GridLayout& grid,
                                           std::uint64_t seed) const;
  [[nodiscard]] Box3 dependencies(Index3 point) const;
  void gather(const DistributedField<T>& u, Sample& sample) const;
  [[nodiscard]] T recomputed(const Sample& sample) const;

  mpi::Communicator comm_;
  Scheme scheme_;
  index_t steps_, field_;
  std::vector<Sample> samples_;
  std::vector<double> got_;  ///< by sample
};

}  // namespace tessera::dist::stencil
