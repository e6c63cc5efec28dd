#include "lab/paper/report.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/timer.hpp"

namespace tessera::inline v1::paper {
namespace {

/// Warps of the launch on a multiprocessor: as many blocks as fit, or as there are.
double resident_warps(const Report& r) {
  const double blocks = std::min(
      static_cast<double>(r.residency.blocks),
      static_cast<double>(r.meter.launch.blocks) / static_cast<double>(r.gpu.multiprocessors));
  return blocks * static_cast<double>(ceil_div(r.meter.launch.threads, lanes));
}

void add_bytes(Report& r) {
  const auto segment = static_cast<double>(r.meter.segment_bytes());
  for (const ArrayTraffic& array : r.meter.arrays()) {
    if (array.space != Space::global) continue;
    r.memory_bytes += segment * static_cast<double>(array.loaded + array.stored);
    const index_t stores = array.of(Kind::store).segments + array.of(Kind::atomic).segments;
    r.l2_bytes += segment * static_cast<double>(array.loaded_by_blocks + stores);
  }
}

void add_bounds(Report& r) {
  const auto multiprocessors = static_cast<double>(r.gpu.multiprocessors);
  const double in_flight = r.flight * multiprocessors / (r.gpu.latency / r.gpu.clock);
  const bool late = r.flight > 0 && in_flight < r.gpu.bandwidth;
  r.bounds.push_back(
      {late ? "latency" : "memory", r.memory_bytes / (late ? in_flight : r.gpu.bandwidth)});
  if (r.gpu.l2_bandwidth > 0) r.bounds.push_back({"L2", r.l2_bytes / r.gpu.l2_bandwidth});
  index_t passes = 0;
  for (const Kind kind : {Kind::load, Kind::store, Kind::atomic})
    passes += r.meter.all(Space::shared, kind).passes;
  r.bounds.push_back({"shared memory", r.gpu.pass_clocks * static_cast<double>(passes) /
                                           (multiprocessors * r.gpu.clock)});
  r.bounds.push_back(
      {"compute", r.meter.operation_slots() / r.gpu.peak(r.request.problem.element_bytes)});
}

index_t registers_of(const PaperKernel& kernel, const Request& request) {
  return request.problem.element_bytes == 8 ? kernel.registers64 : kernel.registers32;
}

const PaperKernel& kernel_of(const Request& request) {
  return paper_kernel(request.problem.workload, request.problem.kernel);
}

}  // namespace

const Bound& Report::bound() const {
  return *std::max_element(bounds.begin(), bounds.end(),
                           [](const Bound& a, const Bound& b) { return a.seconds < b.seconds; });
}

void check(const PaperGpu&, const Request& request) {
  const PaperKernel& kernel = kernel_of(request);
  const TracedProblem& p = request.problem;
  require(p.m > 0 && p.n > 0 && p.k > 0, ExitCode::usage,
          "an empty problem cannot run on paper; use sizes of at least 1");
  require(request.block % lanes == 0, ExitCode::usage,
          fmt::format("--block {} is not a multiple of a warp, {} threads", request.block, lanes));
  if (kernel.check != nullptr) kernel.check(request);
}

Report run(const PaperGpu& gpu, const Request& request, Witness* witness) {
  const Timer timer;
  check(gpu, request);
  const PaperKernel& kernel = kernel_of(request);
  Report r;
  r.request = request;
  r.request.multiprocessors = gpu.multiprocessors;
  r.gpu = gpu;
  r.meter = Meter(gpu.segment_bytes);
  r.meter.witness = witness;
  r.registers = std::min(registers_of(kernel, request), gpu.multiprocessor.thread_registers);
  r.meter.thread_bytes = r.registers * static_cast<index_t>(sizeof(std::uint32_t));
  kernel.run(r.meter, r.request);
  r.meter.witness = nullptr;
  r.residency = machine::residency(
      gpu.multiprocessor, {r.meter.launch.threads, r.registers, r.meter.launch.shared_bytes});
  r.resident_warps = resident_warps(r);
  r.flight = r.resident_warps * r.meter.flight_bytes();
  r.operations = r.meter.operations();
  add_bytes(r);
  add_bounds(r);
  r.seconds = timer.seconds();
  return r;
}

}  // namespace tessera::inline v1::paper
