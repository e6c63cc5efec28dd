#include "mpi/shared_memory.hpp"

#include <sys/statvfs.h>

#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::mpi {
namespace {

std::string words_of(int rc) {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  MPI_Error_string(rc, words.data(), &length);
  return words.data();
}

int allocate(const Communicator& node, index_t bytes, std::byte** mine, MPI_Win* window) {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Info_create(&info), "MPI_Info_create");
  check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
  const int rc =
      MPI_Win_allocate_shared(bytes, 1, info, node.handle(), static_cast<void*>(mine), window);
  MPI_Info_free(&info);
  return rc;
}

std::string no_room(index_t total, index_t room) {
  return "shared windows of " + human_bytes(total) + " do not fit into /dev/shm (" +
         human_bytes(room) + " left); enlarge it or choose an algorithm without shared memory";
}

}  // namespace

SharedMemory::SharedMemory(const Communicator& node, std::vector<index_t> sizes)
    : node_(node), sizes_(std::move(sizes)) {
  require(static_cast<int>(sizes_.size()) == node.size(), ExitCode::internal,
          "sizes: must have one per rank of the node");
  const index_t total = std::accumulate(sizes_.begin(), sizes_.end(), index_t{0}),
                room = available();
  // A segment is only reserved when it is made; a file system that is full shows later, as a bus
  // error, and where it fails on one rank the others wait for ever.
  together(node, "allocate",
           [&] { require(total <= room, ExitCode::memory, no_room(total, room)); });
  const index_t bytes = sizes_[static_cast<std::size_t>(node_.rank())];
  std::byte* mine = nullptr;
  const int rc = allocate(node_, round_up(bytes, page) + page, &mine, &window_);
  require(rc == MPI_SUCCESS, ExitCode::usage,
          "the MPI library cannot share memory between the ranks of a node "
          "(MPI_Win_allocate_shared failed: " +
              words_of(rc) + "); choose an algorithm without shared memory, or unset OMPI_MCA_osc");
  check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  for (int rank = 0; rank < node_.size(); ++rank) {
    MPI_Aint size = 0;
    int unit = 1;
    void* start = nullptr;
    check(MPI_Win_shared_query(window_, rank, &size, &unit, static_cast<void*>(&start)),
          "MPI_Win_shared_query");
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const auto skip = (page - static_cast<index_t>(address % page)) % page;
    segments_.push_back(static_cast<std::byte*>(start) + skip);
  }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : node_(other.node_),
      window_(std::exchange(other.window_, MPI_WIN_NULL)),
      segments_(std::move(other.segments_)),
      sizes_(std::move(other.sizes_)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(node_, other.node_);
  std::swap(window_, other.window_);
  std::swap(segments_, other.segments_);
  std::swap(sizes_, other.sizes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (window_ == MPI_WIN_NULL || leaves_alone()) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

void SharedMemory::sync() const { check(MPI_Win_sync(window_), "MPI_Win_sync"); }

void SharedMemory::fence() const {
  sync();
  node_.barrier();
  sync();
}

bool SharedMemory::works_here(const Communicator& node) {
  std::byte* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const bool made = allocate(node, page, &mine, &window) == MPI_SUCCESS;
  if (made) MPI_Win_free(&window);
  return made;
}

index_t SharedMemory::available() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0)
    return std::numeric_limits<index_t>::max();  // left to the MPI library
  return static_cast<index_t>(status.f_bavail) * static_cast<index_t>(status.f_frsize);
}

}  // namespace tessera::inline v1::mpi
