// Plans that get memory of the host for that of a GPU, and the reverse: the driver of CUDA that the
// process has loaded, one of the test, knows whose memory it is.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "dist/relayout/relayout.hpp"
#include "dist/stencil/halo_exchange.hpp"
#include "dist/transpose/permute_plan.hpp"
#include "machine/gpu.hpp"

namespace tessera {
namespace {

constexpr index_t n = 4;

struct Reach : ::testing::Test {
  void SetUp() override {
    const char* const name = std::getenv("TESSERA_TEST_DRIVER");
    if (name == nullptr) GTEST_SKIP() << "TESSERA_TEST_DRIVER names no driver";
    ASSERT_FALSE(machine::gpus().devices.empty());  // emulated ones
    void* const driver = dlopen(name, RTLD_NOW);
    ASSERT_NE(driver, nullptr) << dlerror();
    there = static_cast<double*>(dlsym(driver, "gpu_memory"));
    managed = static_cast<double*>(dlsym(driver, "managed_memory"));
  }
  /// Expects the refusal of the argument, if any, on this rank alone.
  static void expect(const std::string& argument, const std::function<void()>& check) {
    std::string message;
    try {
      check();
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_EQ(message.substr(0, argument.size()), argument) << message;
    EXPECT_EQ(message.empty(), argument.empty()) << message;
  }

  const mpi::Communicator comm = mpi::Communicator::world();
  std::vector<double> host = std::vector<double>(64, 0);
  double *there = nullptr, *managed = nullptr;
};

TEST_F(Reach, OfPlansOfRelayouts) {
  const layout::Distribution rows(layout::row_blocks(n * comm.size(), n, comm.size()));
  const dist::relayout::Relayout matrix{rows, dist::relayout::Op::none, rows};
  for (const Space place : {Space::host, Space::device}) {
    double* const good = place == Space::host ? host.data() : there;
    double* const bad = place == Space::host ? there : host.data();
    dist::relayout::Plan plan(comm, std::span(&matrix, 1), 8, 1, place);
    const auto check = [&](double* a, double* b) {
      const dist::relayout::LocalArray<const double> from{a, n};
      const dist::relayout::LocalArray<double> to{b + 32, n};
      const dist::relayout::Memory<double> memory{std::span(&from, 1), std::span(&to, 1)};
      plan.check<double>(std::span(&memory, 1));
    };
    expect("memory[0].a", [&] { check(bad, good); });
    expect("memory[0].b", [&] { check(good, bad); });
    expect("", [&] { check(good, managed); });
    expect("", [&] { check(managed, good); });
  }
}

TEST_F(Reach, OfPlansOfPermutations) {
  using layout::in_shares;
  const layout::ArrayGrid whole{{in_shares({n, 1}), in_shares({n, 1})}};
  const std::vector<int> axes{1, 0};
  for (const Space place : {Space::host, Space::device}) {
    double* const good = place == Space::host ? host.data() : there;
    double* const bad = place == Space::host ? there : host.data();
    dist::transpose::PermutePlan plan(comm, {whole, axes, whole}, 1, place);
    const bool holds = comm.is_root();  // all elements
    expect(holds ? "a" : "", [&] { plan.execute(bad, holds ? good + 32 : bad + 32); });
    expect(holds ? "b" : "", [&] { plan.execute(good, bad + 32); });
    expect("", [&] { plan.execute(good, managed); });
  }
}

TEST_F(Reach, OfPlansOfHalos) {
  const dist::stencil::HaloShape shape{
      layout::choose_grid({{{1, 1, n * comm.size()}}, comm.size(), {{0, 0, 1}}, {}}), {{0, 0, 1}}};
  for (const Space place : {Space::host, Space::device}) {
    double* const good = place == Space::host ? host.data() : there;
    double* const bad = place == Space::host ? there : host.data();
    const dist::stencil::HaloPlan<double> plan(comm, shape, 1, 1, place);
    const auto check = [&](double* u) {
      const GridView<double> field{u + 1, shape.grid.of(comm.rank()).size(), {{8, 8, 1}}, 1};
      plan.check(std::span(&field, 1));
    };
    expect("fields[0]", [&] { check(bad); });
    expect("", [&] { check(good); });
    expect("", [&] { check(managed); });
  }
}

}  // namespace
}  // namespace tessera
