// Fields with cells outside the domain (--fill mask).

#include <fmt/core.h>

#include <limits>

#include "base/text.hpp"
#include "io/grid.hpp"
#include "kernels/stencil/walls.hpp"
#include "mpi/agreement.hpp"
#include "workloads/stencil/problem.hpp"
#include "workloads/stencil/unrolled.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

using dist::stencil::Scheme;
using dist::stencil::Term;
using dist::stencil::TermFields;

/// One byte per cell, 1 if it has no value.
using Bytes = std::vector<std::uint8_t>;

Bytes missing_in(const run::Input& input, const Box3& box, int dims) {
  Bytes missing(static_cast<std::size_t>(box.volume()));
  io::read_missing_grid(input.name(), box, grid_view(missing.data(), box.size(), dims));
  return missing;
}

/// Returns the rows of the field's first dimension that a rank checks.
Box3 part_of(const Problem& problem, const mpi::Communicator& comm) {
  Box3 box{{}, problem.scheme().global};
  const int d = 3 - problem.dims();
  const index_t n = box.high[d];
  box.low[d] = n * comm.rank() / comm.size();
  box.high[d] = n * (comm.rank() + 1) / comm.size();
  return box;
}

/// Cells that have a value in one input and lack one in another.
struct Unlike {
  index_t count = 0, first = std::numeric_limits<index_t>::max();
  void add(index_t at) {
    first = std::min(first, at);
    ++count;
  }
};

/// Whether a field ends at its domain's border; others may have values beyond.
enum class Beyond { nothing, anything };

Unlike unlike(const Bytes& domain, const Bytes& other, Beyond beyond, index_t begin) {
  Unlike found;
  for (std::size_t i = 0; i < domain.size(); ++i) {
    if (other[i] > domain[i] || (beyond == Beyond::nothing && other[i] != domain[i]))
      found.add(begin + static_cast<index_t>(i));
  }
  return found;
}

std::string place_text(const Problem& problem, index_t at) {
  std::vector<std::string> place;
  const auto extents = problem.extents();
  for (auto extent = extents.rbegin(); extent != extents.rend(); at /= *extent++)
    place.insert(place.begin(), std::to_string(at % *extent));
  return join(place, ",");
}

/// Throws Error(bad_data) if the two inputs differ. Collective.
void require_alike(const mpi::Communicator& comm, const Problem& problem, const run::Input& first,
                   const run::Input& other, Unlike mine) {
  const index_t count = comm.sum(mine.count), at = -comm.max(-mine.first);
  mpi::on_root(comm, "open input", [&] {
    require(count == 0, ExitCode::bad_data,
            fmt::format("{} and {} differ in cells without a value ({} of {}, first at [{}]): "
                        "--fill mask uses those of the first one",
                        first.name().text(), other.name().text(), count,
                        problem.scheme().global.volume(), place_text(problem, at)));
  });
}

struct Other {
  const run::Input* input;
  Beyond beyond;
};

std::vector<Other> others_of(const Inputs& inputs) {
  std::vector<Other> others;
  for (std::size_t i = 1; i < inputs.in.size(); ++i)
    others.push_back({inputs.in[i].get(), Beyond::nothing});
  for (const auto& past : inputs.past) others.push_back({past.get(), Beyond::anything});
  for (const auto& term : inputs.terms)
    if (term) others.push_back({term.get(), Beyond::anything});
  return others;
}

}  // namespace

void find_domain(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                 Problem& problem) {
  if (point.text("fill") != "mask") return;
  Domain& domain = *inputs.domain;
  if (!domain.known) {
    const run::Input& first = *inputs.in.front();
    const Box3 part = part_of(problem, comm);
    const int d = 3 - problem.dims();
    const index_t row = part.empty() ? 0 : part.volume() / part.size()[d],
                  begin = part.low[d] * row;
    Bytes mine;
    mpi::together(comm, "open input", [&] { mine = missing_in(first, part, problem.dims()); });
    for (const Other& other : others_of(inputs)) {
      Unlike found;
      mpi::together(comm, "open input", [&] {
        found = unlike(mine, missing_in(*other.input, part, problem.dims()), other.beyond, begin);
      });
      require_alike(comm, problem, first, *other.input, found);
    }
    index_t count = 0;
    for (const std::uint8_t one : mine) count += one;
    domain = {true, comm.sum(count)};
  }
  problem.outside = domain.outside;
  problem.shape.scheme.terms.present[static_cast<std::size_t>(Term::walls)] = domain.outside > 0;
}

template <class T>
void load_walls(const Problem& problem, const Inputs& inputs, TermFields<T>& fields) {
  const GridView<T> walls = fields[Term::walls];
  if (walls.data == nullptr) return;
  const Scheme& scheme = problem.scheme();
  const Index3 reach = scheme.stencil.radius;
  Box3 around = fields.box();
  for (int d = 0; d < 3; ++d) {
    around.low[d] -= reach[d];
    around.high[d] += reach[d];
  }
  Bytes bytes(static_cast<std::size_t>(around.volume()));
  const auto outside = grid_view(bytes.data(), around.size(), problem.dims());
  each_unrolled(scheme, around, [&](const Box3& part, Index3 shift) {
    Box3 in_file = part;
    Index3 from;
    for (int d = 0; d < 3; ++d) {
      in_file.low[d] += shift[d];
      in_file.high[d] += shift[d];
      from[d] = part.low[d] - around.low[d];
    }
    io::read_missing_grid(inputs.in.front()->name(), in_file, outside.box(from, part.size()));
  });
  tessera::stencil::complete(scheme.sides, scheme.global, around, outside);
  tessera::stencil::fill_walls<T>(scheme.stencil, outside.box(reach, fields.box().size()), walls,
                                  problem.method.threads);
}

template <class T>
void leave_out(const tessera::stencil::Terms<T>& terms, index_t z, index_t y, index_t n, T* row) {
  for (index_t x = 0; terms.has(Term::walls) && x < n; ++x) {
    if (terms.is_outside({{z, y, x}}))
      row[x] = static_cast<T>(std::numeric_limits<Arithmetic<T>>::quiet_NaN());
  }
}

#define TESSERA_INSTANTIATE(T)                                             \
  template void load_walls(const Problem&, const Inputs&, TermFields<T>&); \
  template void leave_out(const tessera::stencil::Terms<T>&, index_t, index_t, index_t, T*);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::workloads::stencil
