#pragma once
// The transpose of blocks that lie on the ranks' devices, and stay there.

#include "dist/transpose/transpose.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::dist::transpose {

/// b = op(a), in homes of any layout.
struct DeviceTask {
  layout::MatrixLayout a;
  Op op = Op::transpose;
  layout::MatrixLayout b;
  index_t bytes = 8;  ///< of a record
};

/// When a rank's own part, which its device's memory bounds, is moved beside those for other ranks,
/// which the links bound.
enum class OwnPart {
  last,   ///< launched after the others: its blocks take the place of theirs as they end
  first,  ///< launched before the others
  ahead,  ///< launched after them, and its blocks taken before theirs
};

/// Where the ranks reach each other's memory a kernel of each transposes straight into the results
/// of all, one pass; else it packs what the others get, which travels as messages.
class DeviceTranspose {
 public:
  /// Takes the memory for both matrices, uninitialised. The kernel is the method's, or the best one
  /// for devices. Collective.
  DeviceTranspose(const mpi::DeviceExchange& exchange, DeviceTask task, const Method& method,
                  OwnPart own = OwnPart::last);

  void put(const ConstRecords& a);  ///< this rank's block of a, from its host's memory
  void get(const Records& b);       ///< this rank's block of b, into its host's memory
  /// Collective. Adds to the phases "exchange" and "compute".
  void run(mpi::Phases& phases);

  /// Bytes of a device's memory that a rank takes at most, whatever the way.
  [[nodiscard]] static index_t device_bytes(const DeviceTask& task, index_t rank);

 private:
  [[nodiscard]] Records block_of_b(index_t rank, std::byte* data) const;
  [[nodiscard]] ConstRecords source(const layout::Box& box) const;
  void move(const layout::Box& box, const Records& to, machine::device::StreamHandle stream) const;
  void own_part();
  void write_to_peers();
  void write_straight(mpi::Phases& phases);
  void pack_and_send(mpi::Phases& phases);

  mpi::DeviceExchange exchange_;
  DeviceTask task_;
  layout::MatrixLayout source_layout_;  ///< of op(a) where a lies, in the indices of b
  Variant kernel_;
  Tuning tuning_;
  OwnPart own_;
  machine::device::Block a_, packed_;
  mpi::PeerMemory b_;
  machine::device::Stream own_stream_;
  machine::device::Stream
      peer_streams_[2];  ///< by turns: one fills the device while the other drains
};

}  // namespace tessera::dist::transpose
