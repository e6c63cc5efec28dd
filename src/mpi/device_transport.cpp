#include "mpi/device_transport.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/option_names.hpp"

namespace tessera::inline v1::mpi {

std::string_view name(DeviceTransport transport) {
  switch (transport) {
    case DeviceTransport::ipc:
      return "ipc";
    case DeviceTransport::nccl:
      return "nccl";
    case DeviceTransport::mpi:
      return "mpi";
    case DeviceTransport::staged:
      break;
  }
  return "staged";
}

std::vector<std::string> device_transport_names() {
  std::vector<std::string> names{"auto"};
  for (const DeviceTransport transport : device_transports) names.emplace_back(name(transport));
  return names;
}

DeviceTransportChoice choose_device_transport(
    const std::string& wanted, const std::function<std::string(DeviceTransport)>& obstacle) {
  std::string tried;
  for (const DeviceTransport transport : device_transports) {
    const std::string called(name(transport));
    if (wanted != "auto" && wanted != called) continue;
    const std::string why = obstacle(transport);
    if (why.empty()) return {transport, called + (tried.empty() ? "" : " (" + tried + ")")};
    require(wanted == "auto", ExitCode::usage,
            std::string(option_or("--gpu-exchange", "wanted:")) + " " + called +
                " is not available (" + why + "); use auto");
    tried += (tried.empty() ? "" : "; ") + called + ": " + why;
  }
  throw Error(ExitCode::usage,
              "transport '" + wanted + "' between GPUs does not exist (" + tried + ")");
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

}  // namespace tessera::inline v1::mpi
