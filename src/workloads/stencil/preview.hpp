#pragma once
// Fields as pictures.

#include "dist/stencil/field.hpp"
#include "workloads/stencil/picture.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::workloads::stencil {

/// What is shown of a field: itself in one or two dimensions, the three slices through the middle in three.
struct Slice {
  int across = 0;  ///< the dimension that it is perpendicular to
  index_t at = 0;  ///< where, along that dimension
};
[[nodiscard]] std::vector<Slice> slices_of(const dist::stencil::Problem& problem);

/// The values of a slice, every stride-th, row by row; the dimension that varies slowest is vertical.
struct Panel {
  index_t width = 0, height = 0;
  std::vector<double> values;
  std::string label = {};  ///< which slice of three it is: "z = 12"
};
/// On every rank. Collective.
template <class T>
[[nodiscard]] std::vector<Panel> panels_of(const mpi::Communicator& comm,
                                           const dist::stencil::DistributedField<T>& u, index_t field);

/// From dark blue (low) to yellow (high) with the scale beside it; what is not finite is grey.
struct Range {
  double low = 0, high = 0;
};
[[nodiscard]] Range range_of(const std::vector<Panel>& panels);
[[nodiscard]] Picture draw(const std::vector<Panel>& panels, Range range, const std::string& caption);

/// "f.png" of v, or of step 100, as "f_v.png", "f_00000100.png".
[[nodiscard]] std::string named_file(const std::string& file, const std::string& what);

}  // namespace tessera::workloads::stencil
