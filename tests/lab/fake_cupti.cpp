// CUPTI without a GPU: when flushed it has three runs of a kernel, a copy, and the calls that
// started them. Loaded by libtessera_gpu_sampler.so instead of the real one.

#include <cupti.h>

#include <cstdint>
#include <initializer_list>
#include <new>

namespace {

using Kernel = TESSERA_CUPTI_KERNEL;
using Copy = TESSERA_CUPTI_MEMCPY;
constexpr std::size_t step = sizeof(Kernel) > sizeof(Copy) ? sizeof(Kernel) : sizeof(Copy);
constexpr CUpti_CallbackId launch = 1, copy = 2;

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;

template <class Activity>
Activity& put(std::uint8_t* buffer, std::size_t number, CUpti_ActivityKind kind,
              std::uint64_t start, std::uint64_t end) {
  auto& activity = *new (buffer + number * step) Activity{};
  activity.kind = kind;
  activity.start = start;
  activity.end = end;
  return activity;
}

std::size_t fill(std::uint8_t* buffer) {
  std::size_t n = 0;
  for (const std::uint64_t time : {100U, 200U, 300U}) {
    put<Kernel>(buffer, n++, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 5000, 5000 + time).name =
        "_ZN3app6tripleIfEEvPT_i";
    put<CUpti_ActivityAPI>(buffer, n++, CUPTI_ACTIVITY_KIND_RUNTIME, 4000, 4000 + 10 * time).cbid =
        launch;
  }
  put<Copy>(buffer, n++, CUPTI_ACTIVITY_KIND_MEMCPY, 1000, 2800).copyKind =
      CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  put<CUpti_ActivityAPI>(buffer, n++, CUPTI_ACTIVITY_KIND_DRIVER, 1000, 5000).cbid = copy;
  return n * step;
}

}  // namespace

extern "C" {

CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0, records = 0;
  request(&buffer, &bytes, &records);
  complete(nullptr, 0, buffer, bytes, fill(buffer));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                       CUpti_Activity** record) {
  auto* const next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + step;
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* lost) {
  *lost = 2;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == launch ? "cudaLaunchKernel_v7000"
          : domain == CUPTI_CB_DOMAIN_DRIVER_API && id == copy  ? "cuMemcpyHtoD_v2"
                                                                : "wrong";
  return CUPTI_SUCCESS;
}

}  // extern "C"
