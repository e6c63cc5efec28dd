#pragma once
// The check of a sweep on any number of ranks: recomputes some points, one at a time, by plain
// code. Cost: a few percent of the sweep.

#include <cstdint>
#include <vector>

#include "dist/stencil/field.hpp"
#include "mpi/communicator.hpp"

namespace tessera::inline v1::dist::stencil {

/// Returns the steps over which to follow a sample so that recomputing it takes some milliseconds
/// at most.
[[nodiscard]] index_t sample_steps(const Stencil& stencil, index_t most);
/// As above, but limits all samples to a few percent of `steps` steps of the problem as well.
[[nodiscard]] index_t sample_steps(const Scheme& scheme, index_t steps, index_t most);

/// Sample points of a stretch of a sweep: corners of the field, points at the borders between
/// ranks, and random ones. Their dependencies are taken from the owning ranks, never from ghost
/// layers, so that a wrong exchange is detected.
template <class T>
class Samples {
 public:
  /// Gathers the dependencies of one field's samples before `steps` steps of u. Collective.
  Samples(const mpi::Communicator& comm, const DistributedField<T>& u, index_t steps,
          std::uint64_t seed, index_t field = 0);
  /// Records the resulting values after those steps. Collective.
  void record(const DistributedField<T>& u);
  /// Returns the number of samples that differ in any bit from the plain computation (a zero may
  /// have either sign), the same on every rank. Collective.
  [[nodiscard]] index_t wrong() const;
  [[nodiscard]] index_t count() const { return static_cast<index_t>(samples_.size()); }

 private:
  struct Sample {
    Index3 point;
    Box3 box;  ///< its dependencies, periodic dimensions unrolled
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

}  // namespace tessera::inline v1::dist::stencil
