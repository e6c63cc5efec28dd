#include "mpi/long_collectives.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <vector>

namespace tessera::inline v1::mpi {
namespace {

void trade(const Communicator& comm, int peer, int tag, std::span<const std::byte> out,
           std::span<std::byte> in) {
  Request arriving = comm.receive(in, peer, tag);
  comm.send(out, peer, tag).wait();
  arriving.wait();
}

/// Allreduce by recursive halving and doubling (Rabenseifner 2004); the first exchanges, the
/// longest, are between neighbours. Each rank beyond a power of two contributes through a partner.
class SumInParts {
 public:
  SumInParts(const Communicator& comm, std::span<index_t> values) : comm_(comm), values_(values) {}

  void run() {
    const int partner = comm_.rank() < paired_ ? comm_.rank() + paired_ : comm_.rank() - paired_;
    if (comm_.rank() >= paired_) {
      comm_.send(std::as_bytes(values_), partner, tag::sum).wait();
      comm_.receive(std::as_writable_bytes(values_), partner, tag::sum).wait();
      return;
    }
    if (partner < comm_.size()) {
      std::vector<index_t> theirs(values_.size());
      comm_.receive(std::as_writable_bytes(std::span(theirs)), partner, tag::sum).wait();
      add(values_, theirs);
    }
    half_round(values_, 1);
    if (partner < comm_.size()) comm_.send(std::as_bytes(values_), partner, tag::sum).wait();
  }

 private:
  static void add(std::span<index_t> to, std::span<const index_t> from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }

  /// Reduces `part` over the ranks that differ only in `bit` and higher bits.
  void half_round(std::span<index_t> part, int bit) {
    if (bit == paired_) return;
    const int peer = comm_.rank() ^ bit;
    const std::size_t half = part.size() / 2;
    const bool upper = (comm_.rank() & bit) != 0;
    const auto mine = upper ? part.subspan(half) : part.first(half);
    const auto other = upper ? part.first(half) : part.subspan(half);
    std::vector<index_t> theirs(mine.size());
    trade(comm_, peer, tag::sum, std::as_bytes(other), std::as_writable_bytes(std::span(theirs)));
    add(mine, theirs);
    half_round(mine, 2 * bit);
    trade(comm_, peer, tag::sum, std::as_bytes(mine), std::as_writable_bytes(other));
  }

  const Communicator& comm_;
  std::span<index_t> values_;
  int paired_ = static_cast<int>(std::bit_floor(static_cast<unsigned>(comm_.size())));
};

}  // namespace

void sum_in_parts(const Communicator& comm, std::span<index_t> values) {
  SumInParts(comm, values).run();
}

void gather_by_doubling(const Communicator& comm, std::span<const std::byte> mine,
                        std::span<std::byte> all) {
  std::vector<std::byte> held(all.size());
  std::vector<int> owners{comm.rank()};  // ranks of the blocks held, in their order
  std::copy(mine.begin(), mine.end(), held.begin());
  // Nearest ranks last: the last rounds move most bytes.
  for (int bit = comm.size() / 2; bit > 0; bit /= 2) {
    const std::span<std::byte> known = std::span(held).first(owners.size() * mine.size());
    trade(comm, comm.rank() ^ bit, tag::gather, known,
          std::span(held).subspan(known.size(), known.size()));
    for (std::size_t i = 0, count = owners.size(); i < count; ++i)
      owners.push_back(owners[i] ^ bit);
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const auto block = std::span(held).subspan(i * mine.size(), mine.size());
    std::copy(block.begin(), block.end(),
              all.subspan(static_cast<std::size_t>(owners[i]) * mine.size()).begin());
  }
}

}  // namespace tessera::inline v1::mpi
