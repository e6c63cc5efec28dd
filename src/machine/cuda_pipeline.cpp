#include "machine/cuda_pipeline.hpp"

namespace tessera::machine::cuda {

PiecePlace::PiecePlace(const PieceBytes& most)
    : host_in_(most.in), host_out_(most.out), device_in_(most.in), device_out_(most.out) {
  if (most.out > 0)  // padding that no kernel writes travels along
    check(cudaMemsetAsync(device_out_.data(), 0, static_cast<std::size_t>(most.out), stream_),
          "cudaMemsetAsync");
}

void PiecePlace::send(index_t bytes) {
  begin_.record(stream_);
  if (bytes > 0)
    check(cudaMemcpyAsync(device_in_.data(), host_in_.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
  sent_.record(stream_);
}

void PiecePlace::bring(index_t bytes) {
  computed_.record(stream_);
  if (bytes > 0)
    check(cudaMemcpyAsync(host_out_.data(), device_out_.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
  brought_.record(stream_);
}

DeviceTimes PiecePlace::wait() {
  brought_.wait();
  return {sent_.seconds_since(begin_), computed_.seconds_since(sent_), brought_.seconds_since(computed_)};
}

}  // namespace tessera::machine::cuda
