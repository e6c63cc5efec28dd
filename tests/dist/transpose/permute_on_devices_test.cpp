// Plans that permute axes in device memory, by every transport, against formulas by counting.

#include <algorithm>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "base/error.hpp"
#include "dist/transpose/permutations.hpp"
#include "machine/device.hpp"
#include "mpi/device_transports.hpp"

namespace tessera::dist::transpose {
namespace {

/// A share in device memory.
class There {
 public:
  explicit There(const std::vector<std::byte>& like)
      : memory_(std::ssize(like), machine::device::Home::device) {}
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  void upload(const std::vector<std::byte>& bytes) const {
    machine::device::upload(row(bytes.data()), row(memory_.data()), 1);
  }
  void download(std::vector<std::byte>& bytes) const {
    machine::device::download(row(memory_.data()), row(bytes.data()), 1);
  }

 private:
  template <class Byte>
  [[nodiscard]] MatrixView<Byte> row(Byte* data) const {
    return {data, 1, memory_.size(), memory_.size()};
  }

  machine::device::Allocation memory_;
};

TEST(DevicePermutePlan, PermutesAnyAxesBetweenAnyGrids) {
  for (const mpi::DeviceExchange& exchange : mpi::transports_here()) {
    Random random(12);
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(exchange.text() + ", round " + std::to_string(round));
      const Case c = any_case(random, exchange.comm().size());
      run<There>(c, exchange.comm(), [&](const ArrayPermutation& permutation) {
        return PermutePlan(exchange, permutation);
      });
    }
  }
}

/// By the transport that the library chooses, there and back, without allocation.
TEST(DevicePermutePlan, TransposesSlabsAndPencilsWithoutAllocation) {
  const Communicator comm = mpi::transports_here().front().comm();
  for (const auto& [axes, back, here, there] : slabs_and_pencils(comm.size())) {
    PermutePlan go(comm, {here, axes, there}, 1, Space::device),
        come(comm, {there, back, here}, 1, Space::device);
    EXPECT_THROW(go.wait(), Error);
    std::vector<std::byte> a(static_cast<std::size_t>(go.a_elements() * 8)), c(a.size()),
        b(static_cast<std::size_t>(go.b_elements() * 8));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::byte>(i * 7 + 3);
    const There at_a(a), at_b(b), at_c(c);
    at_a.upload(a);
    at_c.upload(c);
    const auto both = [&] {
      go.execute(static_cast<const std::byte*>(at_a.data()), at_b.data());
      come.execute(static_cast<const std::byte*>(at_b.data()), at_c.data());
    };
    both();
    const std::size_t before = allocated_bytes();
    both();
    EXPECT_EQ(allocated_bytes() - before, 0U);
    at_c.download(c);
    EXPECT_EQ(c, a);
  }
}

}  // namespace
}  // namespace tessera::dist::transpose
