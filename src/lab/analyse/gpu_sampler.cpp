// libtessera_gpu_sampler.so: CUDA loads it into the program that tessera analyse starts
// (CUDA_INJECTION64_PATH). It has CUPTI record kernels, copies and calls of CUDA, and leaves, when
// the program ends, a line of each operation and call in the file that gpu_calls_variable names
// (gpu_calls.hpp). CUPTI is loaded at run time: where it is not, the file has the reason.

#include <cupti.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "lab/analyse/gpu_calls.hpp"

namespace {

namespace format = tessera::analyse::gpu_calls_format;
using Kernel = TESSERA_CUPTI_KERNEL;
using Copy = TESSERA_CUPTI_MEMCPY;
using Set = TESSERA_CUPTI_MEMSET;

struct Times {
  std::uint64_t calls = 0, total = 0, least = UINT64_MAX, most = 0;  // ns

  void add(std::uint64_t time) {
    ++calls;
    total += time;
    least = std::min(least, time);
    most = std::max(most, time);
  }
};

/// The functions of CUPTI that are used.
struct Cupti {
  void* library = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiGetCallbackName) name = nullptr;

  Cupti() {
    for (const char* path : {TESSERA_CUPTI_NAME, TESSERA_CUPTI_FILE})
      if (library == nullptr) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    find(enable, "cuptiActivityEnable");
    find(register_callbacks, "cuptiActivityRegisterCallbacks");
    find(next, "cuptiActivityGetNextRecord");
    find(dropped, "cuptiActivityGetNumDroppedRecords");
    find(flush, "cuptiActivityFlushAll");
    find(name, "cuptiGetCallbackName");
  }
  [[nodiscard]] bool is_whole() const {
    return enable != nullptr && register_callbacks != nullptr && next != nullptr &&
           dropped != nullptr && flush != nullptr && name != nullptr;
  }

 private:
  template <class F>
  void find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
  }
};

/// All that is known of the program; never destroyed, since CUPTI's thread may outlive main().
struct Record {
  Cupti cupti;
  std::mutex mutex;
  std::map<std::pair<char, std::string>, Times> times;  // of format::operation and format::call
  std::uint64_t lost = 0;
};
Record& record() {
  static Record* const all = new Record;
  return *all;
}

const char* direction(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "[copy host to device]";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "[copy device to host]";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "[copy device to device]";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "[copy between devices]";
    default:
      return "[copy]";
  }
}

/// Returns the name of a function of CUDA without its version: cudaLaunchKernel of
/// cudaLaunchKernel_v7000.
std::string call_name(const Cupti& cupti, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const char* name = nullptr;
  if (cupti.name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) return "[unknown]";
  const std::string whole = name;
  const auto version = whole.rfind("_v");
  return version != std::string::npos &&
                 whole.find_first_not_of("0123456789", version + 2) == std::string::npos
             ? whole.substr(0, version)
             : whole;
}

template <class Activity>
void add(Record& all, char kind, const std::string& name, const Activity& activity) {
  if (activity.end >= activity.start && activity.end != 0)
    all.times[{kind, name}].add(activity.end - activity.start);
}

void take(Record& all, const CUpti_Activity* activity) {
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const Kernel*>(activity);
      return add(all, format::operation, kernel.name == nullptr ? "[kernel]" : kernel.name, kernel);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const Copy*>(activity);
      return add(all, format::operation, direction(copy.copyKind), copy);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add(all, format::operation, "[set]", *reinterpret_cast<const Set*>(activity));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& call = *reinterpret_cast<const CUpti_ActivityAPI*>(activity);
      const auto domain = activity->kind == CUPTI_ACTIVITY_KIND_RUNTIME
                              ? CUPTI_CB_DOMAIN_RUNTIME_API
                              : CUPTI_CB_DOMAIN_DRIVER_API;
      return add(all, format::call, call_name(all.cupti, domain, call.cbid), call);
    }
    default:
      return;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  constexpr std::size_t size = std::size_t{1} << 20, alignment = 8;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, size));
  *bytes = *buffer == nullptr ? 0 : size;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t, std::size_t valid) {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* activity = nullptr;
  while (valid > 0 && all.cupti.next(buffer, valid, &activity) == CUPTI_SUCCESS)
    take(all, activity);
  std::size_t lost = 0;
  if (all.cupti.dropped(context, stream, &lost) == CUPTI_SUCCESS) all.lost += lost;
  std::free(buffer);
}

void leave(const std::string& text) {
  const char* const path = std::getenv(tessera::analyse::gpu_calls_variable);
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (file < 0) return;
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) break;
    at += static_cast<std::size_t>(written);
  }
  close(file);
}

void leave_record() {
  Record& all = record();
  all.cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(all.mutex);
  std::string text;
  for (const auto& [what, times] : all.times) {
    text += what.first;
    for (const std::uint64_t number : {times.calls, times.total, times.least, times.most})
      text += ' ' + std::to_string(number);
    text += ' ' + what.second + '\n';
  }
  if (all.lost > 0) text += std::string{format::lost} + ' ' + std::to_string(all.lost) + '\n';
  leave(text);
}

}  // namespace

/// Starts the record; CUDA calls it when it is initialised. Returns 1 for success.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  Record& all = record();
  bool records = all.cupti.is_whole();
  if (!records) {
    leave(std::string{format::failure} + " " TESSERA_CUPTI_NAME
                                         " cannot be loaded; put its folder "
                                         "in LD_LIBRARY_PATH\n");
    return 1;
  }
  records = all.cupti.register_callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER})
    records = records && all.cupti.enable(kind) == CUPTI_SUCCESS;
  if (records)
    std::atexit(leave_record);
  else
    leave(std::string{format::failure} + " CUPTI refuses to record; end other profilers\n");
  return 1;
}
