#include "mpi/device_way.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace tessera::mpi {

std::string_view name(DeviceWay way) {
  switch (way) {
    case DeviceWay::ipc:
      return "ipc";
    case DeviceWay::nccl:
      return "nccl";
    case DeviceWay::mpi:
      return "mpi";
    case DeviceWay::staged:
      break;
  }
  return "staged";
}

std::vector<std::string> device_way_names() {
  std::vector<std::string> names{"auto"};
  for (const DeviceWay way : device_ways) names.emplace_back(name(way));
  return names;
}

DeviceWayChoice choose_device_way(const std::string& wanted,
                                  const std::function<std::string(DeviceWay)>& obstacle) {
  std::string told;
  for (const DeviceWay way : device_ways) {
    const std::string called(name(way));
    if (wanted != "auto" && wanted != called) continue;
    const std::string why = obstacle(way);
    if (why.empty()) return {way, called + (told.empty() ? "" : " (" + told + ")")};
    require(
        wanted == "auto", ExitCode::usage,
        "--gpu-exchange " + called + " cannot be had here (" + why + "); leave the choice to auto");
    told += (told.empty() ? "" : "; ") + called + ": " + why;
  }
  throw Error(ExitCode::usage,
              "there is no way '" + wanted + "' for GPUs to exchange data (" + told + ")");
}

template <class Byte>
DeviceRounds<Byte> device_rounds(std::span<const DevicePiece<Byte>> pieces, index_t most) {
  struct Peer {
    index_t slot;
    std::size_t strips = 0;
  };
  DeviceRounds<Byte> result;
  std::map<int, Peer> peers;
  for (const DevicePiece<Byte>& piece : pieces) {
    const MatrixView<Byte>& x = piece.bytes;
    if (x.empty()) continue;
    Peer& peer =
        peers.try_emplace(piece.peer, Peer{static_cast<index_t>(peers.size())}).first->second;
    const index_t cols = std::clamp<index_t>(most, 1, x.cols),
                  rows = std::max<index_t>(1, most / cols);
    for (index_t i = 0; i < x.rows; i += rows) {
      for (index_t j = 0; j < x.cols; j += cols) {
        if (peer.strips == result.rounds.size()) result.rounds.emplace_back();
        const auto part = x.block(i, j, std::min(rows, x.rows - i), std::min(cols, x.cols - j));
        result.rounds[peer.strips++].push_back({{piece.peer, part}, peer.slot});
      }
    }
  }
  result.peers = static_cast<index_t>(peers.size());
  return result;
}

template DeviceRounds<const std::byte> device_rounds(std::span<const DeviceOut>, index_t);
template DeviceRounds<std::byte> device_rounds(std::span<const DeviceIn>, index_t);

}  // namespace tessera::mpi
