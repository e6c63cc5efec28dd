#pragma once
// Linear textures over device memory.

#include "kernels/memory/cuda_probe.cuh"

namespace tessera::inline v1::memory {

/// Words as a linear texture of elements T.
template <class T>
class Texture {
 public:
  explicit Texture(const DeviceWords& words) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = words.data();
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = byte_count(words.size());
    cudaTextureDesc reading{};
    reading.readMode = cudaReadModeElementType;
    cuda::check(cudaCreateTextureObject(&object_, &resource, &reading, nullptr),
                "cudaCreateTextureObject");
  }
  ~Texture() { cudaDestroyTextureObject(object_); }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  [[nodiscard]] cudaTextureObject_t object() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

}  // namespace tessera::inline v1::memory
