#pragma once
// The vendor's library for messages between GPUs, looked for when the program runs: builds need
// neither its header nor the library, and one program serves machines with and without it.

#include <array>
#include <string>

#include "machine/device.hpp"

namespace tessera::machine {

/// Why there is no such library here; "" where there is one (libnccl.so.2, or the file that
/// TESSERA_NCCL names).
[[nodiscard]] const std::string& nccl_missing();

/// The ranks' current devices, each another one, as the library sees them together. Multicast over
/// NVLink stays off. Messages begun between begin() and end() travel at once.
class Nccl {
 public:
  /// One of the ranks makes it, and all get it.
  using Id = std::array<char, 128>;
  [[nodiscard]] static Id make_id();

  /// Collective; some tenths of a second. Throws Error(internal) with the library's words.
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

}  // namespace tessera::machine
