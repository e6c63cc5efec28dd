#include "io/contiguous.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

#include "base/work_done.hpp"
#include "io/h5.hpp"
#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr index_t part_bytes = index_t{4} << 20;  // of a run, per call

/// Returns the descriptor of the dataset's file; nothing if the library reaches it otherwise, or if
/// this process has the file open for writing: what it has written may be in the library's buffers.
std::optional<int> descriptor_of(hid_t file) {
  const Handle access(H5Fget_access_plist(file), H5Pclose);
  void* descriptor = nullptr;
  unsigned intent = 0;
  if (access < 0 || H5Fget_intent(file, &intent) < 0 || (intent & H5F_ACC_RDWR) != 0 ||
      H5Pget_driver(access) != H5FD_SEC2 || H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0 ||
      descriptor == nullptr)
    return std::nullopt;
  return *static_cast<const int*>(descriptor);
}

/// Returns whether the dataset's elements lie in its file as in memory of that type.
bool is_plain(hid_t dataset, hid_t type) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const Handle stored(H5Dget_type(dataset), H5Tclose);
  return creation >= 0 && H5Pget_layout(creation) == H5D_CONTIGUOUS &&
         H5Pget_external_count(creation) == 0 && stored >= 0 && H5Tequal(stored, type) > 0;
}

/// The runs of a box that are contiguous both in the file and in the array, in bytes. The box's
/// dimensions before `outer` enumerate them.
class Runs {
 public:
  Runs(std::span<const index_t> extents, const Ranges& box, const HeldArray& to)
      : box_(box), bytes_(to.element_bytes), outer_(box.size()) {
    index_t file_step = to.element_bytes, memory_step = to.element_bytes;
    file_steps_.resize(box.size());
    memory_steps_.resize(box.size());
    for (bool whole = true; outer_ > 0 && whole;) {
      const std::size_t d = --outer_;
      bytes_ *= box[d].size();
      first_ += box[d].begin * file_step;
      whole = box[d].size() == extents[d] && box[d].size() == to.extents[d];
      file_step *= extents[d];
      memory_step *= to.extents[d];
    }
    for (std::size_t d = outer_; d-- > 0;) {
      file_steps_[d] = file_step;
      memory_steps_[d] = memory_step;
      count_ *= box[d].size();
      file_step *= extents[d];
      memory_step *= to.extents[d];
    }
  }

  [[nodiscard]] index_t bytes() const { return bytes_; }
  [[nodiscard]] index_t count() const { return count_; }
  /// Where a run begins, in the dataset and in the array.
  struct Place {
    index_t in_file, in_memory;
  };
  [[nodiscard]] Place place(index_t run) const {
    Place place{first_, 0};
    for (std::size_t d = outer_; d-- > 0; run /= box_[d].size()) {
      const index_t i = run % box_[d].size();
      place.in_file += (box_[d].begin + i) * file_steps_[d];
      place.in_memory += i * memory_steps_[d];
    }
    return place;
  }

 private:
  const Ranges& box_;
  index_t bytes_, first_ = 0, count_ = 1;
  std::size_t outer_;
  std::vector<index_t> file_steps_, memory_steps_;
};

/// Returns the number of threads that may read: one on a thread of a queue, since others compute
/// at the same time.
index_t reading_threads() { return gettid() == getpid() ? machine::default_threads() : 1; }

/// Reads bytes of a file; returns false at its end or on an error.
bool read_all(int descriptor, index_t offset, std::byte* to, index_t bytes) {
  while (bytes > 0) {
    const auto got = pread(descriptor, to, static_cast<std::size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += got;
    to += got;
    bytes -= got;
  }
  return true;
}

}  // namespace

bool read_contiguous(hid_t dataset, const Ranges& box, const HeldArray& to, index_t least_bytes) {
  index_t all = to.element_bytes;
  for (const layout::Range range : box) all *= range.size();
  if (all < least_bytes || all == 0 || !is_plain(dataset, to.type)) return false;
  const haddr_t offset = H5Dget_offset(dataset);
  const Handle file(H5Iget_file_id(dataset), H5Fclose);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  if (offset == HADDR_UNDEF || file < 0 || space < 0) return false;
  const auto descriptor = descriptor_of(file);
  const Runs runs(extents_of_space(space), box, to);
  if (!descriptor || runs.bytes() < page_bytes) return false;
  const index_t parts = ceil_div(runs.bytes(), part_bytes), units = runs.count() * parts;
  std::atomic<index_t> next = 0;
  std::atomic<bool> failed = false;
  const auto threads = static_cast<int>(std::min(units, reading_threads()));
  machine::on_each_thread(threads, [&](int thread, int) {
    for (index_t unit = next++; unit < units && !failed; unit = next++) {
      const auto [in_file, in_memory] = runs.place(unit / parts);
      const index_t begin = unit % parts * part_bytes,
                    bytes = std::min(part_bytes, runs.bytes() - begin);
      if (!read_all(*descriptor, static_cast<index_t>(offset) + in_file + begin,
                    static_cast<std::byte*>(to.data) + in_memory + begin, bytes))
        failed = true;
      if (thread == 0) mpi::heartbeat();
    }
  });
  if (!failed) work_done().bytes_read += all;
  return !failed;
}

}  // namespace tessera::inline v1::io
