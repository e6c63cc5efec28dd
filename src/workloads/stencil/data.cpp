#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <fmt/format.h>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "io/grid.hpp"
#include "kernels/stencil/verify.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "workloads/stencil/problem.hpp"
#include "workloads/stencil/unrolled.hpp"

namespace tessera::workloads::stencil {
namespace {

using dist::stencil::DistributedField;
using dist::stencil::Scheme;
using dist::stencil::Term;
using dist::stencil::TermFields;

/// The generated field: a function of the global index.
class Generator {
 public:
  explicit Generator(const Problem& problem)
      : scheme_(problem.scheme()), init_(problem.init), seed_(problem.seed) {
    index_t longest = 1;
    for (int d = 0; d < 3; ++d) longest = std::max(longest, scheme_.global[d]);
    width_ = static_cast<double>(longest) / 8;
  }

  template <class T>
  void row(index_t z, index_t y, index_t x0, index_t x1, T* to) const {
    const Index3 n = scheme_.global;
    const bool whole = scheme_.stencil.rule == tessera::stencil::Rule::life;
    for (index_t x = x0; x < x1; ++x, ++to) {
      const Index3 p{{z, y, x}};
      if (init_ == "random") {
        const auto value = random_symmetric<Arithmetic<T>>(seed_, 1, (z * n[1] + y) * n[2] + x);
        *to = !whole ? static_cast<T>(value) : value > 0 ? T{1} : T{0};
      } else {
        *to = static_cast<T>(whole ? std::round(smooth(p)) : smooth(p));
      }
    }
  }

 private:
  [[nodiscard]] double smooth(Index3 p) const {
    double value = init_ == "ramp" ? 0 : 1;
    for (int d = 3 - scheme_.stencil.dims; d < 3; ++d) {
      const double x = static_cast<double>(p[d]), n = static_cast<double>(scheme_.global[d]);
      const double off = x - std::floor(n / 2);
      if (init_ == "gaussian") value *= std::exp(-off * off / (2 * width_ * width_));
      if (init_ == "zero") value = 0;
      if (init_ == "impulse") value *= off == 0 ? 1 : 0;
      if (init_ == "cosine") value *= std::cos(2 * std::numbers::pi * x / n);
      if (init_ == "ramp") value += x;
    }
    return value;
  }

  const Scheme& scheme_;
  std::string init_;
  std::uint64_t seed_;
  double width_;
};

template <class T>
void generate(const Problem& problem, const Box3& box, const GridView<T>& to) {
  const Generator generator(problem);
  const index_t rows = to.extent[0] * to.extent[1];
  machine::parallel(problem.method.threads, [&] {
    machine::parallel_for(0, rows, std::max<index_t>(1, (index_t{1} << 14) / to.extent[2]),
                          [&](index_t begin, index_t end) {
                            for (index_t i = begin; i < end; ++i) {
                              const index_t z = i / to.extent[1], y = i % to.extent[1];
                              generator.row(box.low[0] + z, box.low[1] + y, box.low[2], box.high[2],
                                            to.row(z, y));
                            }
                          });
  });
}

template <class T>
void read_or_generate(const Problem& problem, const run::Input* input, const Box3& box,
                      const GridView<T>& to) {
  if (input != nullptr) {
    io::read_grid(input->name(), box, to);
  } else {
    generate(problem, box, to);
  }
}

/// One given side of the frame.
template <class T>
class GivenSide {
 public:
  /// Reads the whole side: as many layers as the stencil's radius, all around the field.
  GivenSide(const Scheme& scheme, const io::DatasetName& name, int d, int side)
      : scheme_(scheme), d_(d), side_(side) {
    const Box3 frame = scheme.with_frame();
    box_ = frame;
    (side == 0 ? box_.high[d] : box_.low[d]) = side == 0 ? 0 : scheme.global[d];
    values_.resize(static_cast<std::size_t>(box_.volume()));
    Box3 in_file;
    for (int k = 0; k < 3; ++k) {
      in_file.low[k] = box_.low[k] - frame.low[k];
      in_file.high[k] = box_.high[k] - frame.low[k];
    }
    io::read_grid(name, in_file, grid_view(values_.data(), box_.size(), scheme.stencil.dims));
  }

  [[nodiscard]] std::uint64_t hash() const {
    return tessera::stencil::field_hash<T>(
        grid_view(values_.data(), box_.size(), scheme_.stencil.dims), {}, box_.size());
  }

  /// Writes the values of the rank's ghost layers beyond this side.
  void put(DistributedField<T>& u, index_t field) const {
    const Box3& box = u.box();
    if (side_ == 0 ? box.low[d_] > 0 : box.high[d_] < scheme_.global[d_]) return;
    Box3 ghosts;
    for (int k = 0; k < 3; ++k) {
      ghosts.low[k] = box.low[k] - u.ghosts()[static_cast<std::size_t>(k)][0];
      ghosts.high[k] = box.high[k] + u.ghosts()[static_cast<std::size_t>(k)][1];
    }
    ghosts.low[d_] = box_.low[d_];
    ghosts.high[d_] = box_.high[d_];
    for (index_t z = ghosts.low[0]; z < ghosts.high[0]; ++z) {
      for (index_t y = ghosts.low[1]; y < ghosts.high[1]; ++y) {
        for (index_t x = ghosts.low[2]; x < ghosts.high[2]; ++x) {
          const Index3 local{{z - box.low[0], y - box.low[1], x - box.low[2]}};
          if (const T* value = at({{z, y, x}})) u.now(field)(local) = u.past(field)(local) = *value;
        }
      }
    }
  }

 private:
  /// Returns the value at a point in global indices, with unrolled periodic dimensions; nullptr
  /// outside the side.
  [[nodiscard]] const T* at(Index3 p) const {
    for (int k = 0; k < 3; ++k) {
      const index_t n = scheme_.global[k];
      if (scheme_.periodic()[static_cast<std::size_t>(k)]) p[k] = (p[k] % n + n) % n;
      if (p[k] < box_.low[k] || p[k] >= box_.high[k]) return nullptr;
      p[k] -= box_.low[k];
    }
    const Index3 size = box_.size();
    return values_.data() + (p[0] * size[1] + p[1]) * size[2] + p[2];
  }

  const Scheme& scheme_;
  int d_, side_;
  Box3 box_;
  std::vector<T> values_;
};

template <class Body>
void each_given_side(const Scheme& scheme, const Body& body) {
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      if (scheme.given(d, side)) body(d, side);
    }
  }
}

const io::DatasetName& given_of(const Inputs& inputs, index_t field) {
  return inputs.given[inputs.given.size() == 1 ? 0 : static_cast<std::size_t>(field)]->name();
}

}  // namespace

template <class T>
void load(const Problem& problem, const Inputs& inputs, DistributedField<T>& u) {
  if (u.box().empty()) return;
  u.rewind();
  for (index_t field = 0; field < u.fields(); ++field) {
    const auto i = static_cast<std::size_t>(field);
    const auto* const in = inputs.in.empty() ? nullptr : inputs.in[i].get();
    read_or_generate(problem, in, u.box(), u.now(field));
    // Without a previous level, the field is at rest.
    if (problem.scheme().stencil.two_levels())
      read_or_generate(problem, inputs.past.empty() ? in : inputs.past[i].get(), u.box(),
                       u.past(field));
  }
}

template <class T>
void load_given(const Problem& problem, const Inputs& inputs, DistributedField<T>& u) {
  if (u.box().empty()) return;
  each_given_side(problem.scheme(), [&](int d, int side) {
    for (index_t field = 0; field < u.fields(); ++field)
      GivenSide<T>(problem.scheme(), given_of(inputs, field), d, side).put(u, field);
  });
}

template <class T>
std::shared_ptr<const TermFields<T>> load_terms(const Problem& problem, const Inputs& inputs,
                                                int rank) {
  const Scheme& scheme = problem.scheme();
  if (!scheme.terms.any()) return nullptr;
  auto fields =
      std::make_shared<TermFields<T>>(scheme, problem.plan.grid, rank, problem.plan.halo_steps);
  const Box3 box = fields->box();
  if (scheme.terms.has(Term::walls)) load_walls(problem, inputs, *fields);
  for (const Term term : terms_of_files) {
    const GridView<T> view = (*fields)[term];
    if (view.data == nullptr) continue;
    each_unrolled(scheme, box, [&](const Box3& part, Index3 shift) {
      Box3 in_file = part;
      Index3 from;
      for (int d = 0; d < 3; ++d) {
        in_file.low[d] += shift[d];
        in_file.high[d] += shift[d];
        from[d] = part.low[d] - box.low[d];
      }
      io::read_grid(inputs.terms[static_cast<std::size_t>(term)]->name(), in_file,
                    view.box(from, part.size()));
    });
  }
  return fields;
}

template <class T>
std::string identity_of(const Point& point, const DistributedField<T>& u) {
  const Scheme& scheme = u.scheme();
  std::string text;
  for (const Term term : dist::stencil::all_terms) {
    if (!scheme.terms.has(term)) continue;
    const std::uint64_t mine = u.box().empty() ? 0
                                               : tessera::stencil::field_hash<T>(
                                                     u.terms()[term], u.box().low, scheme.global);
    text += fmt::format(", {} {:016x}", name(term), point.comm.sum(mine));
    if (term == Term::source) text += fmt::format(" times {}", scheme.terms.source_factor);
  }
  std::uint64_t beyond = 0;
  mpi::on_root(point.comm, "read", [&] {
    if (scheme.global.volume() == 0) return;
    each_given_side(scheme, [&](int d, int side) {
      for (const auto& given : point.inputs.given)
        beyond = mix64(beyond ^ GivenSide<T>(scheme, given->name(), d, side).hash());
    });
  });
  return scheme.any_given() ? text + fmt::format(", given {:016x}", point.comm.sum(beyond)) : text;
}

#define TESSERA_INSTANTIATE(T)                                                                  \
  template std::shared_ptr<const TermFields<T>> load_terms(const Problem&, const Inputs&, int); \
  template std::string identity_of(const Point&, const DistributedField<T>&);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

template void load_given(const Problem&, const Inputs&, DistributedField<Half>&);
template void load_given(const Problem&, const Inputs&, DistributedField<float>&);
template void load_given(const Problem&, const Inputs&, DistributedField<double>&);
template void load(const Problem&, const Inputs&, DistributedField<Half>&);
template void load(const Problem&, const Inputs&, DistributedField<float>&);
template void load(const Problem&, const Inputs&, DistributedField<double>&);

}  // namespace tessera::workloads::stencil
