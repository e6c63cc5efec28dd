#pragma once
// Work that is larger than the device goes through it in pieces: a ring of places, each with a stream of its
// own, so that while one piece is computed the next is on its way there and the last one on its way back, and
// the host packs and unpacks others. Include it only where CUDA is built.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "machine/cuda.hpp"
#include "machine/device_times.hpp"

namespace tessera::machine::cuda {

/// What a piece takes to the device and brings back.
struct PieceBytes {
  index_t in = 0, out = 0;
};

/// One place of the ring: memory here and there, both ways.
class PiecePlace {
 public:
  explicit PiecePlace(const PieceBytes& most);

  [[nodiscard]] std::byte* host_in() const { return host_in_.data(); }
  [[nodiscard]] const std::byte* host_out() const { return host_out_.data(); }
  [[nodiscard]] const std::byte* device_in() const { return device_in_.data(); }
  [[nodiscard]] std::byte* device_out() const { return device_out_.data(); }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

  void send(index_t bytes);   ///< from host_in; what is launched next comes after it
  void bring(index_t bytes);  ///< into host_out, after what was launched
  /// Until all that has been brought; its times.
  [[nodiscard]] DeviceTimes wait();

 private:
  Stream stream_;
  PinnedBuffer<std::byte> host_in_, host_out_;
  DeviceBuffer<std::byte> device_in_, device_out_;
  Event begin_, sent_, computed_, brought_;
};

/// Runs `count` pieces. work.bytes(piece): what it takes, at most `most`; work.pack(piece, host): makes its
/// input; work.launch(piece, in, out, stream): computes it on the device; work.unpack(piece, host): takes its
/// result. Pieces are packed, launched and unpacked in order, by this thread. The times are sums over pieces,
/// which overlap each other.
template <class Work>
[[nodiscard]] DeviceTimes run_pieces(index_t count, const PieceBytes& most, Work& work, index_t places = 3) {
  std::vector<std::unique_ptr<PiecePlace>> ring;
  for (index_t k = 0; k < std::min(places, count); ++k) ring.push_back(std::make_unique<PiecePlace>(most));
  DeviceTimes sums;
  const auto finish = [&](index_t piece, PiecePlace& place) {
    const DeviceTimes times = place.wait();
    sums.to_device += times.to_device;
    sums.kernels += times.kernels;
    sums.from_device += times.from_device;
    work.unpack(piece, place.host_out());
  };
  const auto held = static_cast<index_t>(ring.size());
  for (index_t piece = 0; piece < count + held; ++piece) {
    PiecePlace& place = *ring[static_cast<std::size_t>(piece % held)];
    if (piece >= held) finish(piece - held, place);
    if (piece >= count) continue;
    const PieceBytes bytes = work.bytes(piece);
    work.pack(piece, place.host_in());
    place.send(bytes.in);
    work.launch(piece, place.device_in(), place.device_out(), place.stream());
    place.bring(bytes.out);
  }
  return sums;
}

}  // namespace tessera::machine::cuda
