// Time series of probed points and norms, kept across checkpoints.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "io/checksum.hpp"
#include "io/notes.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "workloads/stencil/stops.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

struct Norms {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0, squares = 0;
};

/// Returns the norms of a row of n values; walls: of the row, or nullptr.
template <class T>
Norms norms_of_row(const T* row, const T* walls, index_t n) {
  Norms norms;
  for (index_t x = 0; x < n; ++x) {
    if (walls != nullptr && std::isnan(static_cast<double>(walls[x]))) continue;
    const auto value = static_cast<double>(row[x]);
    norms.low = value < norms.low ? value : norms.low;
    norms.high = value > norms.high ? value : norms.high;
    norms.sum += value;
    norms.squares += value * value;
  }
  return norms;
}

/// Sums row by row, so that the results do not depend on the threads.
template <class T>
Norms norms_of(const GridView<const T>& u, const tessera::stencil::Terms<T>& terms, int threads) {
  std::vector<Norms> rows(static_cast<std::size_t>(u.extent[0] * u.extent[1]));
  machine::parallel(threads, [&] {
    machine::parallel_for(
        0, static_cast<index_t>(rows.size()), 16, [&](index_t begin, index_t end) {
          for (index_t i = begin; i < end; ++i) {
            const index_t z = i / u.extent[1], y = i % u.extent[1];
            rows[static_cast<std::size_t>(i)] = norms_of_row(
                u.row(z, y), terms.row(dist::stencil::Term::walls, z, y, 0), u.extent[2]);
          }
        });
  });
  Norms all;
  for (const Norms& row : rows) {
    all.low = std::min(all.low, row.low);
    all.high = std::max(all.high, row.high);
    all.sum += row.sum;
    all.squares += row.squares;
  }
  return all;
}

}  // namespace

std::vector<Index3> parse_probes(const std::string& text, const dist::stencil::Scheme& scheme) {
  std::vector<Index3> points;
  if (text.empty()) return points;
  const int dims = scheme.stencil.dims;
  for (const std::string& word : split(text, ';')) {
    const auto numbers = split(word, ',');
    Index3 point;
    bool inside = static_cast<int>(numbers.size()) == dims;
    for (int k = 0; inside && k < dims; ++k) {
      const std::string digits(trim(numbers[static_cast<std::size_t>(k)]));
      inside = !digits.empty() && digits.size() < 18 &&
               digits.find_first_not_of("0123456789") == std::string::npos;
      if (inside) point[2 - k] = std::stoll(digits);  // x first
      inside = inside && point[2 - k] < scheme.global[2 - k];
    }
    require(inside, ExitCode::usage,
            fmt::format("--probe '{}' is not a point of the field; write {}, counted from 0, "
                        "points separated by ;",
                        word,
                        dims == 1   ? "x"
                        : dims == 2 ? "x,y"
                                    : "x,y,z"));
    points.push_back(point);
  }
  return points;
}

template <class T>
Series<T>::Series(const Point& point, const DistributedField<T>& u, mpi::Phases& phases)
    : point_(point), u_(u), phases_(phases), every_(point.problem.look_every) {
  const Problem& problem = point.problem;
  for (index_t field = 0; field < u.fields(); ++field) {
    for (const Index3& p : problem.probes) {
      std::string where = std::to_string(p[2]);
      for (int d = 1; d > 2 - problem.dims(); --d) where += fmt::format(",{}", p[d]);
      quantities_.push_back(problem.prefix(field) + where);
    }
    if (!problem.norms) continue;
    for (const char* norm : {"min", "max", "sum", "l2"})
      quantities_.push_back(problem.prefix(field) + norm);
  }
}

template <class T>
index_t Series<T>::next(index_t step) const {
  const index_t last = point_.problem.shape.steps;
  step = std::max(step, from_);
  const index_t mine = step == 0 ? 0 : ((step - 1) / every_ + 1) * every_;
  return step > last ? dist::stencil::never : std::min(mine, last);
}

template <class T>
void Series<T>::at(index_t step) {
  const mpi::PhaseScope scope(phases_, "probe");
  seen_.push_back(static_cast<double>(step));
  for (index_t field = 0; field < u_.fields(); ++field) {
    look(field);
    if (point_.problem.norms) measure(field);
  }
}

template <class T>
void Series<T>::look(index_t field) {
  const auto now = u_.now(field);
  const Box3& box = u_.box();
  std::vector<double> values(point_.problem.probes.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Index3 p = point_.problem.probes[i];
    if (intersect(box, {p, {{p[0] + 1, p[1] + 1, p[2] + 1}}}).empty()) continue;
    const Index3 at{{p[0] - box.low[0], p[1] - box.low[1], p[2] - box.low[2]}};
    u_.bring({at, {{at[0] + 1, at[1] + 1, at[2] + 1}}});
    values[i] = u_.terms().is_outside(at) ? std::numeric_limits<double>::quiet_NaN()
                                          : static_cast<double>(now(at));
  }
  point_.comm.sum(std::span(values));
  seen_.insert(seen_.end(), values.begin(), values.end());
}

template <class T>
void Series<T>::measure(index_t field) {
  const auto& comm = point_.comm;
  u_.bring();
  const int threads = point_.problem.method.threads;
  const Norms mine = u_.box().empty() ? Norms{} : norms_of<T>(u_.now(field), u_.terms(), threads);
  seen_.push_back(comm.min(mine.low));
  seen_.push_back(comm.max(mine.high));
  seen_.push_back(comm.sum(mine.sum));
  seen_.push_back(std::sqrt(comm.sum(mine.squares)));
}

template <class T>
MatrixView<const double> Series<T>::seen() const {
  return {seen_.data(), static_cast<index_t>(seen_.size()) / columns(), columns(), columns()};
}

template <class T>
std::vector<io::Row> Series<T>::rows() const {
  std::vector<io::Row> rows;
  const auto all = seen();
  for (index_t i = 0; i < all.rows; ++i) {
    for (index_t j = 1; j < all.cols; ++j)
      rows.push_back({{"step", static_cast<index_t>(all(i, 0)), "steps"},
                      {"quantity", quantities_[static_cast<std::size_t>(j - 1)]},
                      {"value", all(i, j)}});
  }
  return rows;
}

template <class T>
std::string Series<T>::identity() const {
  std::uint64_t hash = static_cast<std::uint64_t>(every_);
  for (const std::string& quantity : quantities_) {
    for (const char letter : quantity) hash = mix64(hash ^ static_cast<unsigned char>(letter));
    hash = mix64(hash);
  }
  return io::checksum_text(hash);
}

template <class T>
void Series<T>::resume_from(const std::string& checkpoint, index_t step) {
  mpi::on_root(point_.comm, "resume", [&] {
    const io::Notes notes(checkpoint);
    if (!notes.has("checkpoint_series") || notes.text("checkpoint_series") != identity()) return;
    const index_t rows = notes.integer("checkpoint_series_steps");
    seen_.resize(static_cast<std::size_t>(rows * columns()));
    io::read_box({checkpoint, "/series"}, {{0, rows}, {0, columns()}},
                 MatrixView<double>{seen_.data(), rows, columns(), columns()});
  });
  auto count = static_cast<index_t>(seen_.size());
  point_.comm.broadcast(std::span(&count, 1), 0);
  seen_.resize(static_cast<std::size_t>(count));
  point_.comm.broadcast(std::span(seen_), 0);
  if (count > 0) from_ = step + 1;
}

template class Series<Half>;
template class Series<float>;
template class Series<double>;

}  // namespace tessera::inline v1::workloads::stencil
