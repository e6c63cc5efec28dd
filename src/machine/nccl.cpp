#include "machine/nccl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "machine/environment.hpp"
#include "machine/loaded.hpp"

namespace tessera::inline v1::machine {
namespace {

// The subset of the NCCL 2 interface in use (NVIDIA 2017), without the prefix of its names.
using Result = int;  // 0: success
using Comm = void*;
struct UniqueId {
  char internal[128];
};
constexpr int bytes_type = 0;  // ncclInt8

struct Library {
  std::string missing;
  Result (*unique_id)(UniqueId*) = nullptr;
  Result (*init)(Comm*, int, UniqueId, int) = nullptr;
  Result (*destroy)(Comm) = nullptr;
  Result (*abort)(Comm) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Comm, device::StreamHandle) = nullptr;
  Result (*receive)(void*, std::size_t, int, int, Comm, device::StreamHandle) = nullptr;
  const char* (*text)(Result) = nullptr;
};

Library load() {
  Library found;
  const char* const named = std::getenv("TESSERA_NCCL");
  void* const file = dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    const char* const why = dlerror();
    found.missing = why != nullptr ? why : "libnccl.so.2 cannot be loaded";
    return found;
  }
  find_function(file, "ncclGetUniqueId", found.unique_id, found.missing);
  find_function(file, "ncclCommInitRank", found.init, found.missing);
  find_function(file, "ncclCommDestroy", found.destroy, found.missing);
  find_function(file, "ncclCommAbort", found.abort, found.missing);
  find_function(file, "ncclGroupStart", found.group_start, found.missing);
  find_function(file, "ncclGroupEnd", found.group_end, found.missing);
  find_function(file, "ncclSend", found.send, found.missing);
  find_function(file, "ncclRecv", found.receive, found.missing);
  find_function(file, "ncclGetErrorString", found.text, found.missing);
  return found;
}

const Library& library() {
  static const Library found = load();
  return found;
}

/// Scope of the calls in which the library reads its settings. Multicast can make the GPUs of a
/// host unusable for all processes.
struct Settings {
  EnvironmentScope multicast{"NCCL_NVLS_ENABLE", "0"};
};

void check(Result rc, const char* call) {
  if (rc == 0) return;
  throw Error(ExitCode::internal, std::string(call) + " failed: " + library().text(rc));
}

}  // namespace

const std::string& nccl_missing() { return library().missing; }

Nccl::Id Nccl::make_id() {
  UniqueId id{};
  const Settings settings;
  check(library().unique_id(&id), "ncclGetUniqueId");
  return std::to_array(id.internal);
}

Nccl::Nccl(const Id& id, int rank, int ranks) {
  UniqueId native{};
  const Settings settings;
  std::copy(id.begin(), id.end(), native.internal);
  check(library().init(&handle_, ranks, native, rank), "ncclCommInitRank");
}

Nccl::~Nccl() {
  // Destruction waits for the other ranks, which may have failed.
  if (std::uncaught_exceptions() > 0)
    library().abort(handle_);
  else
    library().destroy(handle_);
}

void Nccl::begin() { check(library().group_start(), "ncclGroupStart"); }
void Nccl::send(const std::byte* data, index_t bytes, int peer, device::StreamHandle stream) {
  check(library().send(data, static_cast<std::size_t>(bytes), bytes_type, peer, handle_, stream),
        "ncclSend");
}
void Nccl::receive(std::byte* data, index_t bytes, int peer, device::StreamHandle stream) {
  check(library().receive(data, static_cast<std::size_t>(bytes), bytes_type, peer, handle_, stream),
        "ncclRecv");
}
void Nccl::end() { check(library().group_end(), "ncclGroupEnd"); }

}  // namespace tessera::inline v1::machine
