#include "mpi/long_sums.hpp"

#include <bit>
#include <vector>

namespace tessera::mpi {
namespace {

/// Sums of parts, halved from round to round, then the parts to all (Rabenseifner 2004); of ranks beyond a
/// power of two each goes with one of the others.
class SumInParts {
 public:
  SumInParts(const Communicator& comm, std::span<index_t> values) : comm_(comm), values_(values) {}

  void run() {
    const int paired = static_cast<int>(std::bit_floor(static_cast<unsigned>(comm_.size())));
    const int partner = comm_.rank() < paired ? comm_.rank() + paired : comm_.rank() - paired;
    if (comm_.rank() >= paired) {
      comm_.send(std::as_bytes(values_), partner, tag).wait();
      comm_.receive(std::as_writable_bytes(values_), partner, tag).wait();
      return;
    }
    if (partner < comm_.size()) {
      std::vector<index_t> theirs(values_.size());
      comm_.receive(std::as_writable_bytes(std::span(theirs)), partner, tag).wait();
      add(values_, theirs);
    }
    half_round(values_, paired / 2);
    if (partner < comm_.size()) comm_.send(std::as_bytes(values_), partner, tag).wait();
  }

 private:
  static constexpr int tag = 105;

  static void add(std::span<index_t> to, std::span<const index_t> from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }

  /// Ranks that differ in these bits and below share `part`.
  void half_round(std::span<index_t> part, int bit) {
    if (bit == 0) return;
    const int peer = comm_.rank() ^ bit;
    const std::size_t half = part.size() / 2;
    const bool upper = (comm_.rank() & bit) != 0;
    const auto mine = upper ? part.subspan(half) : part.first(half);
    const auto other = upper ? part.first(half) : part.subspan(half);
    std::vector<index_t> theirs(mine.size());
    trade(peer, other, theirs);
    add(mine, theirs);
    half_round(mine, bit / 2);
    trade(peer, mine, other);
  }

  void trade(int peer, std::span<const index_t> out, std::span<index_t> in) const {
    Request arriving = comm_.receive(std::as_writable_bytes(in), peer, tag);
    comm_.send(std::as_bytes(out), peer, tag).wait();
    arriving.wait();
  }

  const Communicator& comm_;
  std::span<index_t> values_;
};

}  // namespace

void sum_in_parts(const Communicator& comm, std::span<index_t> values) { SumInParts(comm, values).run(); }

}  // namespace tessera::mpi
