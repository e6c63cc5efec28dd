// Extents of the input, and the order of its axes by number or name.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/coordinates.hpp"
#include "kernels/transpose/permute.hpp"
#include "mpi/agreement.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

using dist::transpose::Op;
using run::Values;

std::vector<index_t> parse_list(const std::string& text, const char* option) {
  std::vector<index_t> values;
  for (const std::string& word : split(text, ',')) {
    const std::string digits(trim(word));
    require(!digits.empty() && digits.size() < 19 &&
                digits.find_first_not_of("0123456789") == std::string::npos,
            ExitCode::usage,
            fmt::format("--{} '{}' is not a list of numbers; write 2,0,1", option, text));
    values.push_back(std::stoll(digits));
  }
  return values;
}

/// Replaces names of dimensions by their numbers: "lat,lon,time".
std::string numbers_of(const std::string& text, const std::vector<std::string>& names) {
  std::vector<std::string> numbers;
  for (const std::string& word : split(text, ',')) {
    const std::string name(trim(word));
    const auto found = std::ranges::find(names, name);
    const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
    if (is_number || name.empty() || names.empty()) return text;
    require(found != names.end(), ExitCode::usage,
            fmt::format("--axes {}: the input has no dimension '{}'{}", text, name,
                        suggestion(name, names)));
    numbers.push_back(std::to_string(found - names.begin()));
  }
  return join(numbers, ",");
}

/// Parses a permutation of the input's axes, by number or name.
std::vector<int> parse_axes(const std::string& text, std::size_t rank,
                            const std::vector<std::string>& names) {
  std::vector<int> axes;
  for (const index_t axis : parse_list(numbers_of(text, names), "axes"))
    axes.push_back(static_cast<int>(std::min<index_t>(axis, 1000)));
  auto sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = axes.size() == rank;
  for (std::size_t k = 0; k < sorted.size(); ++k)
    permutation = permutation && sorted[k] == static_cast<int>(k);
  require(
      permutation, ExitCode::usage,
      fmt::format(
          "--axes {} is not a permutation of the {} axes of the input; name each of 0 to {} once",
          text, rank, static_cast<index_t>(rank) - 1));
  return axes;
}

}  // namespace

std::vector<std::string> names_for_axes(const mpi::Communicator& comm, const Values& point,
                                        const Inputs& inputs) {
  const std::string& text = point.text("axes");
  if (!inputs.in || text.find_first_not_of("0123456789, ") == std::string::npos) return {};
  std::string names;
  mpi::on_root(comm, "open input",
               [&] { names = join(io::dimension_names(inputs.in->name()), "\n"); });
  return split(comm.broadcast(std::move(names), 0), '\n');
}

void resolve_extents(const Values& point, const FileInput& input, Problem& problem) {
  const auto& [info, name, dimensions] = input;
  if (info != nullptr) {
    problem.extents = info->shape;
    problem.chunk = info->chunk;
  } else if (point.has("shape")) {
    problem.extents = parse_list(point.text("shape"), "shape");
  } else {
    problem.extents = {point.has("m") ? point.integer("m") : point.integer("n"),
                       point.integer("n")};
  }
  const std::size_t rank = problem.extents.size();
  require(rank >= 1 && rank <= tessera::transpose::max_rank, ExitCode::bad_data,
          fmt::format("{} is {}-dimensional: 1 to {} dimensions can be permuted", name, rank,
                      tessera::transpose::max_rank));
  if (point.has("axes")) {
    problem.axes = parse_axes(point.text("axes"), rank, dimensions);
  } else {
    require(rank == 2, ExitCode::bad_data,
            fmt::format("{} is {}-dimensional: a transpose requires a matrix; give the order of "
                        "its axes with --axes",
                        name, rank));
  }
  if (rank == 2) {  // a matrix uses the faster algorithms
    problem.shape.rows = problem.extents[0];
    problem.shape.cols = problem.extents[1];
    if (point.has("axes")) problem.shape.op = problem.axes[0] == 1 ? Op::transpose : Op::none;
    problem.axes.clear();
  }
}

}  // namespace tessera::inline v1::workloads::transpose
