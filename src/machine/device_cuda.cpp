#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "machine/cuda.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/device.hpp"

namespace tessera::machine::device {
namespace {

using cuda::check;

cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

/// The allocation granule of exported blocks: cudaMalloc may serve smaller requests from a larger
/// block, which a handle exports as a whole.
constexpr index_t granule = index_t{2} << 20;

}  // namespace

Stream::Stream(Turn turn) {
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                     turn == Turn::first ? highest : lowest),
        "cudaStreamCreateWithPriority");
}
Stream::~Stream() { cudaStreamDestroy(stream_); }
void Stream::wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  event_ = event;
}
Event::~Event() { cudaEventDestroy(as_event(event_)); }
void Event::record(StreamHandle stream) {
  check(cudaEventRecord(as_event(event_), stream), "cudaEventRecord");
}
void Event::before_next(StreamHandle stream) const {
  check(cudaStreamWaitEvent(stream, as_event(event_), 0), "cudaStreamWaitEvent");
}
void Event::wait() const { check(cudaEventSynchronize(as_event(event_)), "cudaEventSynchronize"); }
double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, as_event(begin.event_), as_event(event_)),
        "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

Allocation::Allocation(index_t bytes, Home home) : size_(bytes), home_(home) {
  if (bytes == 0) return;
  void* data = nullptr;
  const auto allocate = [&] {
    return home == Home::device
               ? cudaMalloc(&data, static_cast<std::size_t>(round_up(bytes, granule)))
               : cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable);
  };
  cudaError_t rc = allocate();
  if (rc == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    cuda::release_kept();
    rc = allocate();
  }
  if (rc != cudaSuccess) (void)cudaGetLastError();  // clear the error: reported below
  check(rc, home == Home::device ? "cudaMalloc" : "cudaHostAlloc");
  data_ = static_cast<std::byte*>(data);
}
Allocation::~Allocation() {
  if (data_ == nullptr) return;
  if (home_ == Home::device)
    cudaFree(data_);
  else
    cudaFreeHost(data_);
}

Handle handle_of(const Allocation& block) {
  cudaIpcMemHandle_t native{};
  check(cudaIpcGetMemHandle(&native, block.data()), "cudaIpcGetMemHandle");
  Handle handle{};
  static_assert(sizeof native == sizeof(Handle));
  std::memcpy(handle.data(), &native, sizeof native);
  return handle;
}

Mapped::Mapped(const Handle& handle) {
  cudaIpcMemHandle_t native{};
  std::memcpy(&native, handle.data(), sizeof native);
  void* data = nullptr;
  const cudaError_t rc = cudaIpcOpenMemHandle(&data, native, cudaIpcMemLazyEnablePeerAccess);
  if (rc != cudaSuccess) (void)cudaGetLastError();
  check(rc, "cudaIpcOpenMemHandle");
  data_ = static_cast<std::byte*>(data);
}
Mapped::Mapped(Mapped&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
Mapped& Mapped::operator=(Mapped&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
Mapped::~Mapped() {
  if (data_ != nullptr) cudaIpcCloseMemHandle(data_);
}

void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
          StreamHandle stream) {
  const index_t widest = index_t{1} << 31;  // the maximal pitch
  if (from.ld < widest && to.ld < widest && from.rows > 1)
    return cuda::copy<std::byte>(from, to, cudaMemcpyDefault, stream);
  for (index_t i = 0; i < from.rows; ++i)
    cuda::copy<std::byte>(&from(i, 0), &to(i, 0), from.cols, cudaMemcpyDefault, stream);
}

void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
            int threads) {
  if (host.empty()) return;
  cuda::Staging staging({.threads = threads});
  staging.send(host, device);
  (void)staging.finish();
  synchronize();
}

void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host, int threads) {
  if (host.empty()) return;
  cuda::Staging staging({.threads = threads});
  staging.bring(device, host);
  (void)staging.finish();
}

void upload(std::span<const Upload> parts, int threads) {
  if (parts.empty()) return;
  cuda::Staging staging({.threads = threads});
  for (const Upload& part : parts)
    if (!part.host.empty()) staging.send(part.host, part.device);
  (void)staging.finish();
  synchronize();
}

void download(std::span<const Download> parts, int threads) {
  if (parts.empty()) return;
  cuda::Staging staging({.threads = threads});
  for (const Download& part : parts)
    if (!part.host.empty()) staging.bring(part.device, part.host, cuda::Staging::Between::kept);
  (void)staging.finish();
}

void zero(std::byte* to, index_t bytes, StreamHandle stream) { cuda::zero(to, bytes, stream); }

void synchronize() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

std::string identity() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  char pci[32] = {};
  check(cudaDeviceGetPCIBusId(pci, sizeof pci, device), "cudaDeviceGetPCIBusId");
  return pci;
}

}  // namespace tessera::machine::device
