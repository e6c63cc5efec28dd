#include "mpi/device_exchange.hpp"

#include <cstring>
#include <optional>

#include "base/hash.hpp"
#include "machine/buffer.hpp"
#include "mpi/device_transports.hpp"
#include "mpi/packed_on_device.hpp"

namespace tessera::mpi {
namespace {

namespace device = machine::device;

struct DeviceExchanges : ::testing::Test {
  const Communicator comm = Communicator::world();
};

/// Shape of the data that one rank sends to another, a function of both rank numbers.
struct Shape {
  index_t rows, cols;
};
std::vector<Shape> shapes(int from, int to) {
  const std::uint64_t code = mix64(static_cast<std::uint64_t>(from * 64 + to));
  std::vector<Shape> all{{static_cast<index_t>(code % 37), static_cast<index_t>(code / 37 % 90)},
                         {1, 500}};
  if (code % 3 == 0) all.push_back({3, 0});
  if (code % 3 != 1) all.push_back({static_cast<index_t>(code % 5 + 1), 1000});
  return all;
}

std::byte code(int from, int to, std::size_t piece, index_t i, index_t j) {
  return static_cast<std::byte>(
      mix64(static_cast<std::uint64_t>(((from * 67 + to) * 11 + static_cast<int>(piece)) * 5003 +
                                       i * 1009 + j)) >>
      56);
}

constexpr index_t gap = 24;  // between rows and between pieces: must stay unchanged
constexpr std::byte untouched{0xa5};

/// Pieces of a rank in order, with gaps; strided rows.
struct Layout {
  std::vector<int> peers;
  std::vector<MatrixView<std::byte>> views;  // data pointers are offsets
  std::vector<index_t> offsets;
  index_t bytes = gap;

  void add(int peer, const Shape& shape) {
    const index_t ld = shape.cols + (peer % 2 == 0 ? gap : 0);
    peers.push_back(peer);
    offsets.push_back(bytes);
    views.push_back({nullptr, shape.rows, shape.cols, ld});
    bytes += shape.rows * ld + gap;
  }
  [[nodiscard]] MatrixView<std::byte> at(std::byte* data, std::size_t n) const {
    MatrixView<std::byte> view = views[n];
    view.data = data + offsets[n];
    return view;
  }
};

void check(const DeviceExchange& exchange, index_t strip_bytes) {
  const Communicator& comm = exchange.comm();
  Layout out, in;
  std::vector<std::size_t> numbers_out, numbers_in;
  for (int peer = 0; peer < comm.size(); ++peer) {
    if (peer == comm.rank()) continue;
    for (const Shape& shape : shapes(comm.rank(), peer)) out.add(peer, shape);
    for (const Shape& shape : shapes(peer, comm.rank())) in.add(peer, shape);
  }
  const auto number = [](const Layout& layout, std::size_t n) {
    std::size_t before = 0;
    for (std::size_t k = 0; k < n; ++k) before += layout.peers[k] == layout.peers[n] ? 1 : 0;
    return before;
  };
  machine::Buffer<std::byte> host_out(out.bytes), host_in(in.bytes);
  std::fill(host_out.begin(), host_out.end(), untouched);
  std::fill(host_in.begin(), host_in.end(), untouched);
  for (std::size_t n = 0; n < out.views.size(); ++n) {
    const auto view = out.at(host_out.data(), n);
    for (index_t i = 0; i < view.rows; ++i)
      for (index_t j = 0; j < view.cols; ++j)
        view(i, j) = code(comm.rank(), out.peers[n], number(out, n), i, j);
  }
  const device::Allocation from(out.bytes, device::Home::device),
      to(in.bytes, device::Home::device);
  device::upload(matrix_view<const std::byte>(host_out.data(), 1, out.bytes),
                 matrix_view(from.data(), 1, out.bytes), 1);
  device::upload(matrix_view<const std::byte>(host_in.data(), 1, in.bytes),
                 matrix_view(to.data(), 1, in.bytes), 1);
  std::vector<DeviceOut> sent;
  std::vector<DeviceIn> received;
  for (std::size_t n = 0; n < out.views.size(); ++n)
    sent.push_back({out.peers[n], out.at(from.data(), n)});
  for (std::size_t n = 0; n < in.views.size(); ++n)
    received.push_back({in.peers[n], in.at(to.data(), n)});
  exchange.set_strip_bytes(strip_bytes);
  exchange.exchange(sent, received);
  exchange.set_strip_bytes(0);

  machine::Buffer<std::byte> want(in.bytes);
  std::fill(want.begin(), want.end(), untouched);
  for (std::size_t n = 0; n < in.views.size(); ++n) {
    const auto view = in.at(want.data(), n);
    for (index_t i = 0; i < view.rows; ++i)
      for (index_t j = 0; j < view.cols; ++j)
        view(i, j) = code(in.peers[n], comm.rank(), number(in, n), i, j);
  }
  device::download(matrix_view(to.data(), 1, in.bytes), matrix_view(host_in.data(), 1, in.bytes),
                   1);
  index_t wrong = 0;
  for (index_t b = 0; b < in.bytes; ++b) wrong += host_in[b] == want[b] ? 0 : 1;
  EXPECT_EQ(wrong, 0) << name(exchange.transport()) << ", strips of " << strip_bytes;
}

TEST_F(DeviceExchanges, BringEveryPieceToItsPlaceAndTouchNothingElse) {
  for (const DeviceExchange& exchange : transports_here())
    for (const index_t strip_bytes : {7, 64, 1000, 0}) check(exchange, strip_bytes);
}

TEST_F(DeviceExchanges, RepeatedOnesDoNotRace) {
  for (const DeviceExchange& exchange : transports_here())
    for (int repetition = 0; repetition < 10; ++repetition) check(exchange, 200);
}

/// Fills device memory with the codes of a message.
void put(std::byte* there, int from, int to, std::size_t execution, index_t bytes) {
  machine::Buffer<std::byte> here(bytes);
  for (index_t j = 0; j < bytes; ++j) here[j] = code(from, to, execution, 0, j);
  device::upload(matrix_view<const std::byte>(here.data(), 1, bytes), matrix_view(there, 1, bytes),
                 1);
}
/// Returns how many bytes in device memory are not those codes.
index_t differing(const std::byte* there, int from, int to, std::size_t execution, index_t bytes) {
  machine::Buffer<std::byte> here(bytes);
  const device::Stream stream;
  device::copy({there, 1, bytes, bytes}, matrix_view(here.data(), 1, bytes), stream);
  stream.wait();
  index_t wrong = 0;
  for (index_t j = 0; j < bytes; ++j) wrong += here[j] == code(from, to, execution, 0, j) ? 0 : 1;
  return wrong;
}

/// The messages of a plan between all pairs of ranks that have any; some have no bytes.
class Repeated {
 public:
  Repeated(const DeviceExchange& exchange, int seed) : me_(exchange.comm().rank()) {
    for (int k = 1; k < exchange.comm().size(); ++k) {
      const int peer = (me_ + k) % exchange.comm().size();
      add(out_, peer, mix64(static_cast<std::uint64_t>(seed * 4099 + me_ * 64 + peer)));
      add(in_, peer, mix64(static_cast<std::uint64_t>(seed * 4099 + peer * 64 + me_)));
    }
    messages_ = DevicePackedMessages::make(exchange, out_, in_);
  }
  void start(std::size_t execution) {
    execution_ = execution;
    messages_->start_receives();
    for (std::size_t m = 0; m < out_.size(); ++m) {
      put(messages_->out(m), me_, out_[m].peer, execution, out_[m].bytes);
      messages_->packed(m, stream_);
    }
    messages_->send();
  }
  void wait() {
    std::vector<int> seen(in_.size(), 0);
    for (auto some = messages_->arrived(stream_); !some.empty();
         some = messages_->arrived(stream_)) {
      for (const std::size_t m : some) {
        ++seen[m];
        stream_.wait();
        EXPECT_EQ(differing(messages_->in(m), in_[m].peer, me_, execution_, in_[m].bytes), 0);
      }
    }
    for (std::size_t m = 0; m < in_.size(); ++m) EXPECT_EQ(seen[m] == 1 || in_[m].bytes == 0, true);
    messages_->finish();
  }
  [[nodiscard]] index_t balance() const {
    return messages_->sent_bytes() - messages_->received_bytes();
  }

 private:
  static void add(std::vector<PackedMessage>& to, int peer, std::uint64_t number) {
    if (number % 4 > 0)
      to.push_back({peer, static_cast<index_t>(number / 4 % 3000 * (number % 3))});
  }

  int me_;
  std::vector<PackedMessage> out_, in_;
  std::unique_ptr<DevicePackedMessages> messages_;
  device::Stream stream_;
  std::size_t execution_ = 0;
};

TEST_F(DeviceExchanges, RepeatPackedMessagesOfSeveralPlans) {
  for (const DeviceExchange& exchange : transports_here()) {
    for (int seed = 0; seed < 4; ++seed) {
      Repeated one(exchange, 2 * seed), other(exchange, 2 * seed + 1);
      EXPECT_EQ(comm.sum(one.balance()), 0);
      for (std::size_t execution = 0; execution < 4; ++execution) {
        one.start(execution);
        if (execution > 1) other.start(execution + 5);
        one.wait();
        if (execution > 1) other.wait();
      }
    }
  }
}

TEST_F(DeviceExchanges, ReachTheMemoryOfAllWhereTheySaySo) {
  for (const DeviceExchange& exchange : transports_here()) {
    for (int repetition = 0; repetition < 3; ++repetition) {  // released memory is reused
      const auto ranks = static_cast<index_t>(comm.size());
      const index_t width = 8, own = comm.rank() % 3 == 1 ? 0 : ranks * width;
      const PeerMemory memory(exchange, own);
      const device::Allocation host(ranks * width, device::Home::pinned);
      const device::Stream stream;
      std::memset(host.data(), comm.rank() + 1 + repetition,
                  static_cast<std::size_t>(ranks * width));
      for (int peer = 0; peer < comm.size(); ++peer) {
        const bool reached = peer == comm.rank() || exchange.transport() == DeviceTransport::ipc;
        if (peer % 3 == 1 || !reached) {
          EXPECT_EQ(memory.of(peer), nullptr);
          continue;
        }
        ASSERT_NE(memory.of(peer), nullptr);
        device::copy(matrix_view<const std::byte>(host.data(), 1, width),
                     matrix_view(memory.of(peer) + comm.rank() * width, 1, width), stream);
      }
      stream.wait();
      comm.barrier();
      if (own > 0) {
        machine::Buffer<std::byte> got(own);
        device::download(matrix_view(memory.data(), 1, own), matrix_view(got.data(), 1, own), 1);
        for (int peer = 0; peer < comm.size(); ++peer) {
          const bool wrote = peer == comm.rank() || exchange.transport() == DeviceTransport::ipc;
          const auto want =
              wrote ? static_cast<std::byte>(peer + 1 + repetition) : got[peer * width];
          EXPECT_EQ(got[peer * width], want);
        }
      }
      comm.barrier();
    }
  }
}

TEST_F(DeviceExchanges, AreSharedWhileAllRanksHoldThem) {
  machine::use_gpu(comm.node().rank());
  const Communicator other = comm.split(0, comm.rank());
  const auto are_one = [](const DeviceExchange& x, const DeviceExchange& y) {
    return &x.text() == &y.text();
  };
  std::optional<DeviceExchange> first = DeviceExchange::shared(comm);
  const DeviceExchange again = DeviceExchange::shared(comm),
                       elsewhere = DeviceExchange::shared(other);
  EXPECT_TRUE(are_one(*first, again));
  EXPECT_FALSE(are_one(*first, elsewhere));
  if (comm.is_root()) first.reset();  // `again` remains
  EXPECT_TRUE(are_one(again, DeviceExchange::shared(comm)));
  {
    const Communicator third = comm.split(0, comm.rank());
    std::optional<DeviceExchange> here = DeviceExchange::shared(third);
    const auto transport = static_cast<index_t>(here->transport());
    if (comm.is_root() && comm.size() > 1) here.reset();  // the others choose anew with it
    const DeviceExchange anew = DeviceExchange::shared(third);
    EXPECT_EQ(here.has_value() && are_one(*here, anew), comm.size() == 1);
    EXPECT_EQ(static_cast<index_t>(anew.transport()), transport);
  }
}

TEST_F(DeviceExchanges, AreChosenAlikeOnEveryRank) {
  if (machine::gpus().devices.empty()) GTEST_SKIP() << machine::gpus().reason;
  machine::use_gpu(comm.node().rank());
  const DeviceExchange chosen = DeviceExchange::choose(comm, "auto");
  const auto transport = static_cast<index_t>(chosen.transport());
  EXPECT_EQ(comm.sum(transport), transport * comm.size());
  EXPECT_FALSE(chosen.text().empty());
  if (comm.is_root()) std::printf("auto: %s\n", chosen.text().c_str());
}

}  // namespace
}  // namespace tessera::mpi
