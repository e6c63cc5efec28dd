#include "matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/text.hpp"
#include "command.hpp"
#include "dist/matmul/freivalds.hpp"
#include "dist/matmul/on_devices.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/transfer.hpp"
#include "points.hpp"
#include "run/device.hpp"
#include "run/inputs.hpp"
#include "run/memory_plan.hpp"
#include "run/outputs.hpp"

namespace tessera::apps {
namespace {

using dist::DistributedMatrix;
using dist::matmul::Method;
using dist::matmul::Op;
using matmul::Request;
using run::Values;

namespace kernels = tessera::matmul;

layout::ProcessGrid parse_grid(const std::string& text) {
  if (text.empty()) return {0, 0};
  const auto parts = split(text, 'x');
  std::vector<index_t> extents;
  for (const std::string& part : parts) {
    const bool is_number =
        !part.empty() && part.size() < 8 && part.find_first_not_of("0123456789") == part.npos;
    extents.push_back(is_number ? std::stoll(part) : 0);
  }
  require(extents.size() == 2 && extents[0] > 0 && extents[1] > 0, ExitCode::usage,
          "--grid '" + text + "' is no grid; write ROWSxCOLS, e.g. 2x3");
  return {extents[0], extents[1]};
}

/// The inputs that files hold, and what the first look found.
struct Inputs {
  std::unique_ptr<run::Input> a, b, c;
  std::unique_ptr<run::GpuExchanges> gpus = std::make_unique<run::GpuExchanges>();  ///< as they are found out
};

/// The logical shape of an operand in a file, after op.
struct Logical {
  index_t rows, cols;
};

Logical logical_shape(const io::DatasetInfo& info, Op op) {
  return op == Op::none ? Logical{info.shape[0], info.shape[1]} : Logical{info.shape[1], info.shape[0]};
}

Op op_of(const Values& point, const std::string& option) {
  return point.text(option) == "T" ? Op::transpose : Op::none;
}

/// Shape and element type from the files where they are given, else from the options. Collective.
void resolve_data(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                  Request& request) {
  auto& q = request.shape;
  q.n = point.integer("n");
  q.m = point.has("m") ? point.integer("m") : q.n;
  q.k = point.has("k") ? point.integer("k") : q.n;
  request.element = point.text("type") == "f32" ? Element::f32 : Element::f64;
  if (!inputs.a) return;
  const io::DatasetInfo a = inputs.a->share(comm), b = inputs.b->share(comm);
  mpi::on_root(comm, "open input", [&] {
    io::require_matrix(a, inputs.a->name());
    io::require_matrix(b, inputs.b->name());
    const Logical left = logical_shape(a, q.op_a), right = logical_shape(b, q.op_b);
    require(
        left.cols == right.rows, ExitCode::bad_data,
        fmt::format(
            "the inner dimensions differ: op(A) of {} is {} x {}, op(B) of {} is {} x {}; transpose one with "
            "--trans-a or --trans-b, or give other matrices",
            inputs.a->name().text(), left.rows, left.cols, inputs.b->name().text(), right.rows, right.cols));
  });
  q.m = logical_shape(a, q.op_a).rows;
  q.k = logical_shape(a, q.op_a).cols;
  q.n = logical_shape(b, q.op_b).cols;
  const auto single = [](const io::DatasetInfo& info) {
    return info.kind == io::DatasetInfo::Kind::real && info.element_bytes <= 4;
  };
  const bool automatic = point.text("type") == "auto";
  if (automatic) request.element = single(a) && single(b) ? Element::f32 : Element::f64;
  if (!inputs.c) return;
  const io::DatasetInfo c = inputs.c->share(comm);
  if (automatic && !single(c)) request.element = Element::f64;
  mpi::on_root(comm, "open input", [&] {
    io::require_matrix(c, inputs.c->name());
    require(c.shape[0] == q.m && c.shape[1] == q.n, ExitCode::bad_data,
            fmt::format("{} is {} and the product is {} x {}; give a C of that shape",
                        inputs.c->name().text(), c.shape_text(), q.m, q.n));
  });
}

void resolve_precision(const mpi::Communicator& comm, const Values& point, Request& request) {
  const std::string& name = point.text("precision");
  auto& precision = request.method.tuning.precision;
  precision = name == "tf32"   ? kernels::Precision::tf32
              : name == "bf16" ? kernels::Precision::bf16
              : name == "f16"  ? kernels::Precision::f16
                               : kernels::Precision::full;
  mpi::together(comm, "plan", [&] {
    require(
        precision == kernels::Precision::full ||
            (request.method.kernel->name == "cuda_tensor" && request.element == Element::f32),
        ExitCode::usage,
        fmt::format(
            "--precision {} is for --kernel cuda_tensor in f32 and this is {} in {}; drop it, or take those",
            name, request.method.kernel->name, tessera::name(request.element)));
  });
}

/// Whether operands and result stay on the GPUs, and how they go from one to another.
void choose_exchange(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
                     Request& request) {
  const auto& q = request.shape;
  const auto bytes = [&]<class T>(Type<T>) {
    return dist::matmul::DeviceProduct<T>::device_bytes({q.m, q.n, q.k, q.op_a, q.op_b}, comm.rank(),
                                                        q.ranks);
  };
  run::Residence residence{.ranks = q.ranks, .limit = point.bytes("device-memory")};
  residence.possible = request.method.kernel->space == Space::device;
  if (residence.possible && q.ranks == comm.size())
    residence.device_bytes = request.element == Element::f32 ? bytes(Type<float>{}) : bytes(Type<double>{});
  request.gpus = inputs.gpus->at(comm, point, residence);
  if (request.gpus != nullptr) request.algorithm = fmt::format("gpu_{}", mpi::name(request.gpus->way()));
}

Request resolve(const mpi::Communicator& comm, const Values& point, const Inputs& inputs) {
  Request request;
  auto& q = request.shape;
  q.op_a = op_of(point, "trans-a");
  q.op_b = op_of(point, "trans-b");
  resolve_data(comm, point, inputs, request);
  request.alpha = point.real("alpha");
  request.beta = point.real("beta");
  q.reads_c = request.beta != 0;
  q.element_bytes = static_cast<index_t>(bytes(request.element));
  q.ranks = point.flag("plan") && point.has("ranks") ? point.integer("ranks") : comm.size();
  Method& method = request.method;
  request.algorithm = point.text("algorithm");
  for (const auto& row : dist::matmul::algorithms()) {
    if (row.name == request.algorithm) method.algorithm = row.algorithm;
  }
  method.tuning.tile = point.integer("tile");
  method.tuning.block = point.integer("block");
  method.tuning.column_width = point.integer("column-width");
  method.tuning.device_memory = point.bytes("device-memory");
  method.panel = point.integer("panel");
  method.grid = parse_grid(point.text("grid"));
  method.threads = run::threads_of(point);
  mpi::together(comm, "plan", [&] {
    for (const auto& [x, y] : {std::pair{q.m, q.k}, {q.k, q.n}, {q.m, q.n}}) {
      (void)checked_mul(checked_mul(x, y, "a matrix"), q.element_bytes, "a matrix");
    }
    if (method.grid.rows > 0 && method.algorithm == dist::matmul::Algorithm::summa) {
      require(method.grid.size() == q.ranks, ExitCode::usage,
              fmt::format("--grid {} has {} places and there are {} ranks; start that many",
                          point.text("grid"), method.grid.size(), q.ranks));
    }
  });
  method.kernel = &kernels::best();
  // What a device does not hold goes through it in pieces: it needs room for some of them.
  constexpr index_t enough = index_t{1} << 30;
  const index_t whole = matmul::most_memory(request, q.ranks);
  const index_t least = method.tuning.device_memory > 0 ? method.tuning.device_memory : enough;
  method.kernel = &run::choose_kernel(comm, point, kernels::variants(), kernels::best(),
                                      kernels::best_device(), std::min(whole, least));
  resolve_precision(comm, point, request);
  choose_exchange(comm, point, inputs, request);
  return request;
}

template <class T>
DistributedMatrix<T> load(const mpi::Communicator& comm, const run::Input* input, index_t rows, index_t cols,
                          std::uint64_t seed, std::uint64_t stream, mpi::Phases& phases) {
  DistributedMatrix<T> matrix;
  mpi::together(comm, "read", [&] {
    const mpi::PhaseScope scope(phases, "read");
    matrix = DistributedMatrix<T>(comm, layout::row_blocks(rows, cols, comm.size()));
    if (input != nullptr) {
      io::read_box<T>(input->name(), matrix.box(), matrix.view());
    } else {
      fill_random(matrix, seed, stream);
    }
  });
  return matrix;
}

run::Outputs open_output(const mpi::Communicator& comm, const Values& point, const Request& request) {
  run::Outputs outputs;
  if (point.has("out")) {
    outputs.add(io::parse_dataset_name(point.text("out"), "out"), {request.shape.m, request.shape.n},
                request.element, {"row", "col"});
  }
  outputs.open(comm, point);
  return outputs;
}

std::vector<io::Cell> columns_of(const Values& point, const Request& request) {
  const auto& q = request.shape;
  return {{"kernel", std::string(request.method.kernel->name)},
          {"algorithm", request.algorithm},
          {"type",
           point.text("precision") == "full" ? std::string(name(request.element)) : point.text("precision")},
          {"op", point.text("trans-a") + point.text("trans-b")},
          {"m", q.m},
          {"n", q.n},
          {"k", q.k}};
}

/// Where there are no hardware counters.
run::Counted stand_in(const Request& request) {
  const auto& q = request.shape;
  if (q.op_a != Op::none || q.op_b != Op::none)
    return run::not_simulated("transposed operands are not traced");
  const auto& tuning = request.method.tuning;
  return run::simulated({.workload = "matmul",
                         .kernel = std::string(request.method.kernel->name),
                         .element_bytes = static_cast<index_t>(bytes(request.element)),
                         .m = q.m,
                         .n = q.n,
                         .k = q.k,
                         .tile = tuning.tile,
                         .column_width = tuning.column_width});
}

/// In units of T's roundoff: what operands rounded to fewer bits explain comes on top, twice over.
template <class T>
double tolerance_of(const Request& request) {
  constexpr double full = dist::matmul::Freivalds<T>::tolerance;
  const auto precision = request.method.tuning.precision;
  if (precision == kernels::Precision::full) return full;
  return full + 4 * std::ldexp(1.0, std::numeric_limits<T>::digits - kernels::significant_bits(precision));
}

template <class T>
bool run_point(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
               const Request& request, run::Session& session) {
  const auto& q = request.shape;
  const auto seed = static_cast<std::uint64_t>(point.integer("seed"));
  run::Outputs outputs = open_output(comm, point, request);
  mpi::Phases once;
  const auto stored = [](Op op, index_t rows, index_t cols) {
    return op == Op::none ? Logical{rows, cols} : Logical{cols, rows};
  };
  const Logical a_shape = stored(q.op_a, q.m, q.k), b_shape = stored(q.op_b, q.k, q.n);
  const auto a = load<T>(comm, inputs.a.get(), a_shape.rows, a_shape.cols, seed, 1, once);
  const auto b = load<T>(comm, inputs.b.get(), b_shape.rows, b_shape.cols, seed, 2, once);
  const bool reads_c = request.beta != 0;
  const auto old_c =
      reads_c ? load<T>(comm, inputs.c.get(), q.m, q.n, seed, 3, once) : DistributedMatrix<T>();
  DistributedMatrix<T> c;
  mpi::together(comm, "allocate", [&] {
    c = DistributedMatrix<T>(comm, layout::row_blocks(q.m, q.n, comm.size()));
    std::fill_n(c.view().data, c.box().area(),
                std::numeric_limits<T>::quiet_NaN());  // what is not written shows
  });
  std::optional<dist::matmul::DeviceProduct<T>> there;
  const auto restore = [&] {
    if (reads_c && there) there->put_c(old_c.view());
    if (reads_c) mpi::copy_block<T>(old_c.view(), c.view());
  };
  restore();
  const dist::matmul::Product<T> product{static_cast<T>(request.alpha), a, q.op_a, b, q.op_b,
                                         static_cast<T>(request.beta),  c};
  const bool verify = !point.flag("no-verify");
  std::optional<dist::matmul::Freivalds<T>> check;
  if (verify) check.emplace(comm, product, seed, request.method.threads);

  if (request.gpus != nullptr) {
    there.emplace(*request.gpus,
                  typename dist::matmul::DeviceProduct<T>::Problem{q.m, q.n, q.k, q.op_a, q.op_b,
                                                                   product.alpha, product.beta},
                  request.method);
    mpi::together(comm, "to device", [&] {
      const mpi::PhaseScope scope(once, "to device");
      there->put_a(a.view());
      there->put_b(b.view());
    });
  }
  run::Measured measured = run::measure(comm, point, restore, [&](mpi::Phases& phases) {
    if (there)
      there->run(phases);
    else
      multiply(comm, product, request.method, phases);
  });
  if (there) {
    mpi::together(comm, "from device", [&] {
      const mpi::PhaseScope scope(once, "from device");
      there->get_c(c.view());
    });
    there.reset();
  }
  measured.once = once;
  measured.columns = columns_of(point, request);
  measured.stand_in = [&] { return stand_in(request); };
  measured.work = 2.0 * static_cast<double>(q.m) * static_cast<double>(q.n) * static_cast<double>(q.k);
  measured.rate_units = "GFLOP/s";
  measured.ceiling = matmul::ceiling_of(request);
  if (verify) {
    const mpi::PhaseScope scope(measured.once, "verify");
    measured.verdict = run::Verdict{"freivalds", check->ratio(), tolerance_of<T>(request)};
  }
  return outputs.conclude(comm, point, session, measured, [&] {
    const std::span<const T> mine(c.view().data, static_cast<std::size_t>(c.box().area()));
    outputs.write(0, c.box().rows.begin * q.n, std::as_bytes(mine));
  });
}

PointActions actions_of(const mpi::Communicator& comm, const std::shared_ptr<Inputs>& inputs) {
  const auto plan = [&comm, inputs](const Values& point, run::Session& session) {
    const Request request = resolve(comm, point, *inputs);
    const index_t on_node = comm.node().size();
    const index_t per_node =
        point.has("ranks") ? std::min<index_t>(point.integer("ranks"), machine::default_threads()) : on_node;
    if (comm.is_root()) matmul::print_plan(request, session.ceilings(), per_node);
  };
  const auto run = [&comm, inputs](const Values& point, run::Session& session) {
    const Request request = resolve(comm, point, *inputs);
    const auto forecasts = forecast(request.shape, request.method);
    run::require_memory(comm, point, forecasts[static_cast<std::size_t>(comm.rank())].memory(),
                        [&](index_t ranks) { return matmul::most_memory(request, ranks); });
    return request.element == Element::f32 ? run_point<float>(comm, point, *inputs, request, session)
                                           : run_point<double>(comm, point, *inputs, request, session);
  };
  const auto need = [&comm, inputs](const Values& point, const run::Ceilings& ceilings, index_t per_node) {
    return matmul::need_of(resolve(comm, point, *inputs), ceilings, per_node);
  };
  return {plan, run, need};
}

Actions look(const run::OptionSet& set, const run::Parsed& parsed) {
  const auto value = [&](const char* option) { return parsed.lists.at(option).front(); };
  const bool from_files = !value("a").empty();
  const bool adds = parsed.real("beta") != 0;
  require(from_files == !value("b").empty(), ExitCode::usage,
          "--a and --b go together; give both or neither");
  require(value("c").empty() || from_files, ExitCode::usage, "--c goes with --a and --b; give all three");
  require(value("c").empty() || adds, ExitCode::usage,
          "--c without --beta has no effect (beta is 0); give --beta 1 to add to it");
  require(!value("c").empty() || !from_files || !adds, ExitCode::usage,
          "--beta needs the C that it multiplies; give --c file.h5:/path");
  for (const char* size : {"m", "n", "k"}) {
    require(!from_files || parsed.sources.at(size) == "default", ExitCode::usage,
            fmt::format(
                "--{} ({}) goes with generated operands, and those of --a and --b have their sizes; drop it",
                size, parsed.sources.at(size)));
  }
  require(value("out").empty() || set.points(parsed).size() == 1, ExitCode::usage,
          "--out takes the result of one product and this is a sweep of several; drop --out or the lists");
  auto inputs = std::make_shared<Inputs>();
  const auto open = [&](const char* option) -> std::unique_ptr<run::Input> {
    if (value(option).empty()) return nullptr;
    auto input = std::make_unique<run::Input>(value(option), option);
    if (!value("out").empty()) {
      run::require_distinct_files(io::parse_dataset_name(value("out"), "out").file, input->name(), option);
    }
    return input;
  };
  inputs->a = open("a");
  inputs->b = open("b");
  inputs->c = open("c");
  return [inputs](const mpi::Communicator& comm) { return actions_of(comm, inputs); };
}

}  // namespace

Command matmul_command() {
  static const run::OptionSet set = matmul::declare_options();
  return workload_command(set, [](const run::Parsed& parsed) { return look(set, parsed); });
}

}  // namespace tessera::apps
