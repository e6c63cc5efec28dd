#include "machine/cuda_pool.hpp"

#include <cuda_runtime_api.h>

#include "machine/block_cache.hpp"
#include "machine/cuda.hpp"

namespace tessera::inline v1::machine::cuda {
namespace {

struct FreeDevice {
  void operator()(void* data) const noexcept { cudaFree(data); }
};
struct FreePinned {
  void operator()(void* data) const noexcept { cudaFreeHost(data); }
};
using DeviceCache = BlockCache<FreeDevice>;
using PinnedCache = BlockCache<FreePinned>;

// Ranks may share a device and its node, so the caches are limited.
constexpr index_t most_pinned = index_t{2} << 30;
index_t most_device() {
  std::size_t free = 0, all = 0;
  if (cudaMemGetInfo(&free, &all) == cudaSuccess) return static_cast<index_t>(all / 8);
  (void)cudaGetLastError();  // without a device nothing is kept
  return 0;
}

// Never destroyed: the driver may shut down before static objects do.
DeviceCache& device_cache() {
  static auto* const cache = new DeviceCache(most_device(), {});
  return *cache;
}
PinnedCache& pinned_cache() {
  static auto* const cache = new PinnedCache(most_pinned, {});
  return *cache;
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

/// Calls allocate(&data, bytes), and again after releasing all kept blocks if memory is
/// insufficient.
template <class Allocate>
Piece fresh(index_t bytes, int device, const char* call, const Allocate& allocate) {
  Piece piece{nullptr, bytes, device};
  cudaError_t rc = allocate(&piece.data, static_cast<std::size_t>(bytes));
  if (rc == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    release_kept();
    rc = allocate(&piece.data, static_cast<std::size_t>(bytes));
  }
  if (rc != cudaSuccess) (void)cudaGetLastError();  // clear the error: reported below
  check(rc, call);
  return piece;
}

}  // namespace

Piece take_device(index_t bytes) {
  const int device = current_device();
  if (void* const kept = device_cache().take(device, bytes); kept != nullptr)
    return {kept, bytes, device};
  return fresh(bytes, device, "cudaMalloc",
               [](void** data, std::size_t n) { return cudaMalloc(data, n); });
}

void give_device(const Piece& piece) noexcept {
  if (piece.data == nullptr) return;
  int device = 0;
  cudaGetDevice(&device);
  const bool elsewhere = device != piece.device;
  if (elsewhere) cudaSetDevice(piece.device);
  cudaDeviceSynchronize();
  device_cache().give(piece.device, piece.data, piece.bytes);
  if (elsewhere) cudaSetDevice(device);
}

Piece take_pinned(index_t bytes) {
  if (void* const kept = pinned_cache().take(0, bytes); kept != nullptr) return {kept, bytes, 0};
  return fresh(bytes, 0, "cudaHostAlloc", [](void** data, std::size_t n) {
    return cudaHostAlloc(data, n, cudaHostAllocPortable);
  });
}

void give_pinned(const Piece& piece) noexcept {
  if (piece.data == nullptr) return;
  cudaDeviceSynchronize();
  pinned_cache().give(0, piece.data, piece.bytes);
}

Piece take_managed(index_t bytes) {
  return fresh(bytes, 0, "cudaMallocManaged", [](void** data, std::size_t n) {
    return cudaMallocManaged(data, n, cudaMemAttachGlobal);
  });
}

void give_managed(const Piece& piece) noexcept { cudaFree(piece.data); }

void release_kept() noexcept {
  device_cache().clear();
  pinned_cache().clear();
}

index_t kept_device_bytes() { return device_cache().kept_bytes(); }

}  // namespace tessera::inline v1::machine::cuda
