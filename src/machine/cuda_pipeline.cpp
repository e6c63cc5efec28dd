#include "machine/cuda_pipeline.hpp"

namespace tessera::machine::cuda {
namespace {

double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace

PiecePlace::PiecePlace(const PieceBytes& most)
    : host_in_(most.in), host_out_(most.out), device_in_(most.in), device_out_(most.out) {}

void PiecePlace::send(index_t bytes) {
  check(cudaEventRecord(begin_.event, stream_), "cudaEventRecord");
  if (bytes > 0)
    check(cudaMemcpyAsync(device_in_.data(), host_in_.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
  check(cudaEventRecord(sent_.event, stream_), "cudaEventRecord");
}

void PiecePlace::bring(index_t bytes) {
  check(cudaEventRecord(computed_.event, stream_), "cudaEventRecord");
  if (bytes > 0)
    check(cudaMemcpyAsync(host_out_.data(), device_out_.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
  check(cudaEventRecord(brought_.event, stream_), "cudaEventRecord");
}

DeviceTimes PiecePlace::wait() {
  check(cudaEventSynchronize(brought_.event), "cudaEventSynchronize");
  return {seconds_between(begin_.event, sent_.event), seconds_between(sent_.event, computed_.event),
          seconds_between(computed_.event, brought_.event)};
}

}  // namespace tessera::machine::cuda
