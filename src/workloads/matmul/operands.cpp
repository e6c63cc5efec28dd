// Operands from files: matrices, vectors and batches of matrices, as numpy's `@` takes them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mpi/agreement.hpp"
#include "workloads/matmul/problem.hpp"

namespace tessera::inline v1::workloads::matmul {
namespace {

using dist::matmul::Op;
using dist::matmul::stored;
using run::Values;

/// Returns the op of an option; for real elements H is T.
Op op_of(const Values& point, const std::string& option, Element element) {
  const std::string& letter = point.text(option);
  if (letter == "N") return Op::none;
  return letter == "H" && is_complex_element(element) ? Op::hermitian : Op::transpose;
}

/// Returns the element type of the computation: as requested, or that of the widest operand.
Element resolve_element(const Values& point, const std::vector<io::DatasetInfo>& operands) {
  using Kind = io::DatasetInfo::Kind;
  const std::string& type = point.text("type");
  for (const Element named : {Element::f32, Element::f64, Element::c64, Element::c128}) {
    if (type == name(named)) return named;
  }
  bool single = !operands.empty(), complex = false;
  for (const io::DatasetInfo& info : operands) {
    complex = complex || info.kind == Kind::complex;
    single =
        single && (info.kind == Kind::real ? info.element_bytes <= 4
                                           : info.kind == Kind::complex && info.element_bytes <= 8);
  }
  if (complex) return single ? Element::c64 : Element::c128;
  return single ? Element::f32 : Element::f64;
}

/// An operand: its matrices, and their op.
struct Operand {
  const io::DatasetInfo& info;
  const io::DatasetName& name;
  const char* option;
  Op op;
  bool is_vector = false, is_batch = false;
  index_t rows = 0, cols = 0, matrices = 1;  ///< as stored

  [[nodiscard]] Extents logical() const { return stored(op, rows, cols); }
  [[nodiscard]] std::string text() const { return name.text(); }
};

/// Throws Error(bad_data) unless it holds numbers that the element can hold, in 1 to 3 dimensions;
/// Error(usage) for the op of a vector.
Operand operand_of(const io::DatasetInfo& info, const io::DatasetName& name, const char* option,
                   Op op, Element element) {
  const std::size_t rank = info.shape.size();
  const bool complex = info.kind == io::DatasetInfo::Kind::complex;
  if (rank < 1 || rank > 3 || !(info.reads_as_number() || complex)) io::require_matrix(info, name);
  require(!complex || is_complex_element(element), ExitCode::bad_data,
          fmt::format(
              "{} holds complex numbers ({}), which {} cannot represent; try --type c64 or c128",
              name.text(), info.type_text(), tessera::name(element)));
  require(rank != 1 || op == Op::none, ExitCode::usage,
          fmt::format("--trans-{} conflicts with {}, a vector, which has no transpose; drop it",
                      option, name.text()));
  Operand operand{info, name, option, op, rank == 1, rank == 3};
  operand.rows = rank == 1 ? info.shape[0] : info.shape[rank - 2];
  operand.cols = rank == 1 ? 1 : info.shape[rank - 1];
  operand.matrices = rank == 3 ? info.shape[0] : 1;
  return operand;
}

/// Returns the chunk of a matrix; empty for vectors, which are read whole.
std::vector<index_t> chunk_of(const Operand& operand) {
  const auto& chunk = operand.info.chunk;
  return operand.is_vector || chunk.empty() ? std::vector<index_t>()
                                            : std::vector(chunk.end() - 2, chunk.end());
}

/// Returns the name with its first dimension fixed, for every index.
std::vector<io::DatasetName> along_batch(const io::DatasetName& name, index_t count) {
  std::size_t d = 0;
  while (d < name.selection.size() && name.selection[d].is_index) ++d;
  std::vector<io::DatasetName> names(static_cast<std::size_t>(count), name);
  for (index_t i = 0; i < count; ++i) {
    io::Selection& selection = names[static_cast<std::size_t>(i)].selection;
    selection.resize(std::max(selection.size(), d + 1));
    selection[d] = {.begin = selection[d].begin + i, .to_the_end = false, .is_index = true};
  }
  return names;
}

std::vector<io::DatasetName> names_of(const Operand& operand) {
  if (operand.is_batch) return along_batch(operand.name, operand.matrices);
  return {operand.name};
}

/// Turns a vector from the left into a column from the right: x B = (B^T x)^T.
void turn(Operand& a, Operand& b) {
  if (!a.is_vector) return;
  if (b.is_vector) {
    a.op = Op::transpose;
    return;
  }
  require(b.op != Op::hermitian, ExitCode::usage,
          fmt::format("--trans-b H conflicts with {}, a vector from the left; give the matrix as "
                      "--a with --trans-a H and the conjugate vector as --b",
                      a.text()));
  b.op = b.op == Op::none ? Op::transpose : Op::none;
}

/// Returns the extents of op(A): "3 x 4"; "4" for a vector.
std::string extents_text(const Operand& operand) {
  const Extents extents = operand.logical();
  return operand.is_vector ? fmt::format("{}", operand.rows)
                           : fmt::format("{} x {}", extents.rows, extents.cols);
}

/// Throws Error(bad_data) unless the operands can be multiplied. Precondition: not turned.
void require_product(const Operand& left, const Operand& right) {
  const index_t inner = left.is_vector ? left.rows : left.logical().cols;
  require(inner == right.logical().rows, ExitCode::bad_data,
          fmt::format("the inner dimensions differ: op(A) of {} is {}, op(B) of {} is {}; "
                      "transpose one with --trans-a or --trans-b, or give other matrices",
                      left.text(), extents_text(left), right.text(), extents_text(right)));
  const index_t most = std::max(left.matrices, right.matrices);
  const bool fits = (left.matrices == most || left.matrices == 1) &&
                    (right.matrices == most || right.matrices == 1) &&
                    std::min(left.matrices, right.matrices) > 0;
  require(fits, ExitCode::bad_data,
          fmt::format("the batches differ: {} holds {} matrices, {} holds {}; give equally many, "
                      "or one of each",
                      left.text(), left.matrices, right.text(), right.matrices));
}

/// Sets the operands, and the extents of the result with the names of its dimensions.
void set_operands(const Operand& a, const Operand& b, Problem& problem) {
  const bool turned = a.is_vector && !b.is_vector;
  const Operand &left = turned ? b : a, &right = turned ? a : b;
  auto& q = problem.shape;
  q.op_a = left.op;
  q.op_b = right.op;
  q.m = left.logical().rows;
  q.k = left.logical().cols;
  q.n = right.logical().cols;
  problem.a_chunk = chunk_of(left);
  problem.b_chunk = chunk_of(right);
  Operands& all = problem.operands;
  all.a = names_of(left);
  all.b = names_of(right);
  all.products = std::max(left.matrices, right.matrices);
  const auto add = [&](bool has, index_t extent, const char* name) {
    if (!has) return;
    all.result.push_back(extent);
    all.names.emplace_back(name);
  };
  add(a.is_batch || b.is_batch, all.products, "batch");
  add(!a.is_vector, q.m, "row");
  add(!b.is_vector, turned ? q.m : q.n, "col");
}

}  // namespace

void resolve_data(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Problem& problem) {
  auto& q = problem.shape;
  q.n = point.integer("n");
  q.m = point.has("m") ? point.integer("m") : q.n;
  q.k = point.has("k") ? point.integer("k") : q.n;
  std::vector<run::Input*> files;
  for (const auto* input : {&inputs.a, &inputs.b, &inputs.c})
    if (*input) files.push_back(input->get());
  const std::vector<io::DatasetInfo> infos = run::Input::share(comm, files);
  problem.element = resolve_element(point, infos);
  q.op_a = op_of(point, "trans-a", problem.element);
  q.op_b = op_of(point, "trans-b", problem.element);
  problem.operands.result = {q.m, q.n};
  problem.operands.names = {"row", "col"};
  if (!inputs.a) return;
  mpi::alike("open input", [&] {
    Operand a = operand_of(infos[0], inputs.a->name(), "a", q.op_a, problem.element),
            b = operand_of(infos[1], inputs.b->name(), "b", q.op_b, problem.element);
    require_product(a, b);
    turn(a, b);
    problem.operands.result.clear();
    problem.operands.names.clear();
    set_operands(a, b, problem);
    if (!inputs.c) return;
    const io::DatasetInfo& info = infos[2];
    const io::DatasetName& name = inputs.c->name();
    require(info.shape == problem.operands.result, ExitCode::bad_data,
            fmt::format("{} is {}, but the product is {}; give a C of that shape", name.text(),
                        info.shape_text(), fmt::join(problem.operands.result, " x ")));
    const bool batch = problem.operands.is_batch();
    problem.operands.c = batch ? along_batch(name, problem.operands.products) : std::vector{name};
    const bool complex = info.kind == io::DatasetInfo::Kind::complex;
    require(
        (info.reads_as_number() && !complex) || (complex && is_complex_element(problem.element)),
        ExitCode::bad_data,
        fmt::format("{} holds {}, which {} cannot represent; give numbers of that type",
                    name.text(), info.type_text(), tessera::name(problem.element)));
  });
}

}  // namespace tessera::inline v1::workloads::matmul
