#pragma once
// The transpose of blocks in the memory of the ranks' devices.

#include "dist/transpose/transpose.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::inline v1::dist::transpose {

/// b = op(a), in homes of any layout.
struct DeviceTask {
  layout::MatrixLayout a;
  Op op = Op::transpose;
  layout::MatrixLayout b;
  index_t bytes = 8;  ///< of a record
};

/// The order of a rank's local part, bound by device memory, and the parts for other ranks, bound
/// by the links, which run concurrently.
enum class OwnPart {
  last,   ///< launched after the others: its blocks start as theirs end
  first,  ///< launched before the others
  ahead,  ///< launched after them, with a higher priority
};

/// Transposes b = op(a) on devices. If the ranks can access each other's memory, each rank's kernel
/// writes directly to all results, in one pass; otherwise it packs the parts of the other ranks and
/// sends them as messages.
class DeviceTranspose {
 public:
  /// Allocates uninitialised memory for both matrices. The kernel is the method's, or the best one
  /// for devices. Collective.
  DeviceTranspose(const mpi::DeviceExchange& exchange, DeviceTask task, const Method& method,
                  OwnPart own = OwnPart::last);

  void put(const ConstRecords& a);  ///< copies this rank's block of a from host memory
  void get(const Records& b);       ///< copies this rank's block of b to host memory
  /// Transposes. Adds to the phases "exchange" and "compute". Collective.
  void run(mpi::Phases& phases);

  /// Returns the maximal bytes of device memory that a rank uses with any transport.
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
  layout::MatrixLayout source_layout_;  ///< of op(a) at a's homes, in the indices of b
  Variant kernel_;
  Tuning tuning_;
  OwnPart own_;
  machine::device::Allocation a_, packed_;
  mpi::PeerMemory b_;
  machine::device::Stream own_stream_;
  machine::device::Stream
      peer_streams_[2];  ///< alternating: one fills the device while the other drains
};

}  // namespace tessera::inline v1::dist::transpose
