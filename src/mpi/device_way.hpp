#pragma once
// How memory of devices goes from rank to rank, and the rounds in which it does: choices and
// arithmetic, tested without a device.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/view.hpp"

namespace tessera::mpi {

enum class DeviceWay {
  ipc,     ///< kernels and copies read and write the memory of the other ranks' devices; one node
  nccl,    ///< messages of the vendor's library; a device of its own for every rank
  mpi,     ///< messages of an MPI library that takes device memory
  staged,  ///< messages of any MPI library, through pinned memory of the host, in overlapped pieces
};
inline constexpr DeviceWay device_ways[] = {DeviceWay::ipc, DeviceWay::nccl, DeviceWay::mpi,
                                            DeviceWay::staged};
[[nodiscard]] std::string_view name(DeviceWay way);
/// What an option may say: "auto" and the names.
[[nodiscard]] std::vector<std::string> device_way_names();

struct DeviceWayChoice {
  DeviceWay way = DeviceWay::staged;
  std::string text;  ///< the way's name, and why those before it were not taken
};

/// The way that is wanted by name, or with "auto" the first of the list that can be taken:
/// `obstacle(way)` says why it cannot, "" if it can, and is asked in the order of the list until
/// one can. Throws Error(usage) where the wanted one cannot.
[[nodiscard]] DeviceWayChoice choose_device_way(
    const std::string& wanted, const std::function<std::string(DeviceWay)>& obstacle);

/// Bytes to or from a peer.
template <class Byte>
struct DevicePiece {
  int peer = 0;
  MatrixView<Byte> bytes;
};
using DeviceOut = DevicePiece<const std::byte>;
using DeviceIn = DevicePiece<std::byte>;

/// A part of a piece that travels in one go.
template <class Byte>
struct DeviceStrip : DevicePiece<Byte> {
  index_t slot =
      0;  ///< number of the peer among those of this rank: where it lies while it travels
  [[nodiscard]] index_t size() const { return this->bytes.rows * this->bytes.cols; }
  [[nodiscard]] bool contiguous() const {
    return this->bytes.rows == 1 || this->bytes.ld == this->bytes.cols;
  }
};

template <class Byte>
struct DeviceRounds {
  std::vector<std::vector<DeviceStrip<Byte>>> rounds;  ///< at most one strip a peer in each
  index_t peers = 0;
  [[nodiscard]] std::span<const DeviceStrip<Byte>> of(std::size_t round) const {
    return round < rounds.size() ? std::span<const DeviceStrip<Byte>>(rounds[round])
                                 : std::span<const DeviceStrip<Byte>>();
  }
};

/// The pieces cut into strips of at most `most` bytes, whole rows or parts of one: strip r of those
/// for a peer travels in round r. Both ends of a pair come to the same strips, for their pieces
/// have the same shapes in the same order.
template <class Byte>
[[nodiscard]] DeviceRounds<Byte> device_rounds(std::span<const DevicePiece<Byte>> pieces,
                                               index_t most);

}  // namespace tessera::mpi
