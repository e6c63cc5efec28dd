// The calls behind machine/device.hpp on CUDA.

#include <cuda_runtime_api.h>

#include <cstring>

#include "machine/cuda.hpp"
#include "machine/cuda_entry.hpp"
#include "machine/cuda_staging.hpp"
#include "machine/driver.hpp"

namespace tessera::inline v1::machine::cuda {
namespace {

using device::Home;

cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

/// The allocation granule of exported blocks: cudaMalloc may serve smaller requests from a larger
/// block, which a handle exports as a whole.
constexpr index_t granule = index_t{2} << 20;

class CudaDriver : public device::Driver {
 public:
  device::StreamHandle make_stream(device::Turn turn) override;
  void destroy_stream(device::StreamHandle stream) noexcept override { cudaStreamDestroy(stream); }
  void wait_for(device::StreamHandle stream) override {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  void* make_event() override {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "cudaEventCreate");
    return event;
  }
  void destroy_event(void* event) noexcept override { cudaEventDestroy(as_event(event)); }
  void record(void* event, device::StreamHandle stream) override {
    check(cudaEventRecord(as_event(event), stream), "cudaEventRecord");
  }
  void before_next(void* event, device::StreamHandle stream) override {
    check(cudaStreamWaitEvent(stream, as_event(event), 0), "cudaStreamWaitEvent");
  }
  void wait_for_event(void* event) override {
    check(cudaEventSynchronize(as_event(event)), "cudaEventSynchronize");
  }
  double seconds_between(void* begin, void* end) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, as_event(begin), as_event(end)),
          "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  std::byte* allocate(index_t bytes, Home home) override;
  void release(std::byte* data, Home home) noexcept override {
    if (home == Home::device)
      cudaFree(data);
    else
      cudaFreeHost(data);
  }
  device::Handle handle_of(std::byte* data) override;
  std::byte* map(const device::Handle& handle) override;
  void unmap(std::byte* data) noexcept override { cudaIpcCloseMemHandle(data); }

  void copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
            device::StreamHandle stream) override;
  void upload(const MatrixView<const std::byte>& host, const MatrixView<std::byte>& device,
              int threads) override;
  void download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host,
                int threads) override;
  void upload(std::span<const device::Upload> parts, int threads) override;
  void download(std::span<const device::Download> parts, int threads) override;
  void zero(std::byte* to, index_t bytes, device::StreamHandle stream) override {
    cuda::zero(to, bytes, stream);
  }
  void synchronize() override { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
  std::string identity() override;
};

device::StreamHandle CudaDriver::make_stream(device::Turn turn) {
  int lowest = 0, highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     turn == device::Turn::first ? highest : lowest),
        "cudaStreamCreateWithPriority");
  return stream;
}

std::byte* CudaDriver::allocate(index_t bytes, Home home) {
  void* data = nullptr;
  const auto allocate_once = [&] {
    return home == Home::device
               ? cudaMalloc(&data, static_cast<std::size_t>(round_up(bytes, granule)))
               : cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable);
  };
  cudaError_t rc = allocate_once();
  if (rc == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    release_kept();
    rc = allocate_once();
  }
  if (rc != cudaSuccess) (void)cudaGetLastError();  // clear the error: reported below
  check(rc, home == Home::device ? "cudaMalloc" : "cudaHostAlloc");
  return static_cast<std::byte*>(data);
}

device::Handle CudaDriver::handle_of(std::byte* data) {
  cudaIpcMemHandle_t native{};
  check(cudaIpcGetMemHandle(&native, data), "cudaIpcGetMemHandle");
  device::Handle handle{};
  static_assert(sizeof native == sizeof(device::Handle));
  std::memcpy(handle.data(), &native, sizeof native);
  return handle;
}

std::byte* CudaDriver::map(const device::Handle& handle) {
  cudaIpcMemHandle_t native{};
  std::memcpy(&native, handle.data(), sizeof native);
  void* data = nullptr;
  const cudaError_t rc = cudaIpcOpenMemHandle(&data, native, cudaIpcMemLazyEnablePeerAccess);
  if (rc != cudaSuccess) (void)cudaGetLastError();
  check(rc, "cudaIpcOpenMemHandle");
  return static_cast<std::byte*>(data);
}

void CudaDriver::copy(const MatrixView<const std::byte>& from, const MatrixView<std::byte>& to,
                      device::StreamHandle stream) {
  const index_t widest = index_t{1} << 31;  // the maximal pitch
  if (from.ld < widest && to.ld < widest && from.rows > 1)
    return cuda::copy<std::byte>(from, to, cudaMemcpyDefault, stream);
  for (index_t i = 0; i < from.rows; ++i)
    cuda::copy<std::byte>(&from(i, 0), &to(i, 0), from.cols, cudaMemcpyDefault, stream);
}

void CudaDriver::upload(const MatrixView<const std::byte>& host,
                        const MatrixView<std::byte>& device, int threads) {
  if (host.empty()) return;
  Staging staging({.threads = threads});
  staging.send(host, device);
  (void)staging.finish();
  synchronize();
}

void CudaDriver::download(const MatrixView<std::byte>& device, const MatrixView<std::byte>& host,
                          int threads) {
  if (host.empty()) return;
  Staging staging({.threads = threads});
  staging.bring(device, host);
  (void)staging.finish();
}

void CudaDriver::upload(std::span<const device::Upload> parts, int threads) {
  if (parts.empty()) return;
  Staging staging({.threads = threads});
  for (const device::Upload& part : parts)
    if (!part.host.empty()) staging.send(part.host, part.device);
  (void)staging.finish();
  synchronize();
}

void CudaDriver::download(std::span<const device::Download> parts, int threads) {
  if (parts.empty()) return;
  Staging staging({.threads = threads});
  for (const device::Download& part : parts)
    if (!part.host.empty()) staging.bring(part.device, part.host, Staging::Between::kept);
  (void)staging.finish();
}

std::string CudaDriver::identity() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  char pci[32] = {};
  check(cudaDeviceGetPCIBusId(pci, sizeof pci, device), "cudaDeviceGetPCIBusId");
  return pci;
}

}  // namespace

device::Driver& driver() {
  static CudaDriver calls;
  return calls;
}

}  // namespace tessera::inline v1::machine::cuda
