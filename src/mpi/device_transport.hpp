#pragma once
// Transports of device memory between ranks, and the rounds of a transfer: selection and
// arithmetic, testable without a device.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"

namespace tessera::inline v1::mpi {

enum class DeviceTransport {
  ipc,     ///< kernels and copies access the memory of other ranks' devices directly; one node only
  nccl,    ///< messages by NCCL; every rank needs a separate device
  mpi,     ///< messages by an MPI library that accepts device memory
  staged,  ///< messages by any MPI library through pinned host memory, in overlapped strips
};
inline constexpr DeviceTransport device_transports[] = {
    DeviceTransport::ipc, DeviceTransport::nccl, DeviceTransport::mpi, DeviceTransport::staged};
[[nodiscard]] std::string_view name(DeviceTransport transport);
/// Returns the values of the option: "auto" and the names.
[[nodiscard]] std::vector<std::string> device_transport_names();

struct DeviceTransportChoice {
  DeviceTransport transport = DeviceTransport::staged;
  std::string text;  ///< name of the transport, and why preferred ones were rejected
};

/// Returns the transport named by `wanted`, or for "auto" the first of the list that is available:
/// `obstacle(transport)` returns why it is not, or "", and is called in the order of the list until
/// one is. Throws Error(usage) if the wanted one is not available.
[[nodiscard]] DeviceTransportChoice choose_device_transport(
    const std::string& wanted, const std::function<std::string(DeviceTransport)>& obstacle);

/// Bytes sent to or received from a peer.
template <class Byte>
struct DevicePiece {
  int peer = 0;
  MatrixView<Byte> bytes;
};
using DeviceOut = DevicePiece<const std::byte>;
using DeviceIn = DevicePiece<std::byte>;

/// A part of a piece, the unit of transfer.
template <class Byte>
struct DeviceStrip : DevicePiece<Byte> {
  index_t slot =
      0;  ///< index of the peer among those of this rank, which selects the buffer in transit
  [[nodiscard]] index_t size() const { return this->bytes.rows * this->bytes.cols; }
  [[nodiscard]] bool contiguous() const {
    return this->bytes.rows == 1 || this->bytes.ld == this->bytes.cols;
  }
};

template <class Byte>
struct DeviceRounds {
  std::vector<std::vector<DeviceStrip<Byte>>> rounds;  ///< at most one strip per peer in each
  index_t peers = 0;
  [[nodiscard]] std::span<const DeviceStrip<Byte>> of(std::size_t round) const {
    return round < rounds.size() ? std::span<const DeviceStrip<Byte>>(rounds[round])
                                 : std::span<const DeviceStrip<Byte>>();
  }
};

/// Cuts the pieces into strips of at most `most` bytes, whole rows or parts of one; strip r for a
/// peer travels in round r. Both ranks of a pair compute the same strips, because their pieces
/// match in shape and order.
template <class Byte>
[[nodiscard]] DeviceRounds<Byte> device_rounds(std::span<const DevicePiece<Byte>> pieces,
                                               index_t most);

}  // namespace tessera::inline v1::mpi
