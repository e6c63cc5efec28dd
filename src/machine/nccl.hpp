#pragma once
// NVIDIA's library for messages between GPUs, loaded at run time: builds need neither header nor
// library, and one binary serves machines with and without it.

#include <array>
#include <string>

#include "machine/device.hpp"

namespace tessera::inline v1::machine {

/// Returns why NCCL is not available; "" if it is (libnccl.so.2, or the file named by
/// TESSERA_NCCL).
[[nodiscard]] const std::string& nccl_missing();

/// A communicator of the ranks' current devices, all different. Multicast over NVLink stays off.
/// Messages between begin() and end() are sent concurrently.
class Nccl {
 public:
  /// The communicator's identifier: one rank creates it and broadcasts it.
  using Id = std::array<char, 128>;
  [[nodiscard]] static Id make_id();

  /// Joins the communicator; takes some tenths of a second. Throws Error(internal) with the
  /// library's message. Collective.
  Nccl(const Id& id, int rank, int ranks);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  void begin();
  void send(const std::byte* data, index_t bytes, int peer, device::StreamHandle stream);
  void receive(std::byte* data, index_t bytes, int peer, device::StreamHandle stream);
  void end();

 private:
  void* handle_ = nullptr;
};

}  // namespace tessera::inline v1::machine
