#include "io/mapped.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "io/home_file.hpp"
#include "io/pieces.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older kernels reject it
#endif

namespace tessera::inline v1::io {
namespace {

constexpr index_t close_runs = 4;  // maximal distance of close runs, in multiples of their length

/// Maps the whole file; returns nullptr on failure.
std::byte* map_file(const std::string& path, index_t& bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  void* map = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
    bytes = static_cast<index_t>(status.st_size);
    map = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, descriptor, 0);
  }
  close(descriptor);
  return map == MAP_FAILED ? nullptr : static_cast<std::byte*>(map);
}

/// Advises on the pages of [begin, end); returns 0 or errno.
int advise(const std::byte* begin, const std::byte* end, int advice) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / page_bytes * page_bytes;
  const auto length = reinterpret_cast<std::uintptr_t>(end) - first;
  return madvise(reinterpret_cast<void*>(first), length, advice) == 0 ? 0 : errno;
}

}  // namespace

std::unique_ptr<MappedMatrix> MappedMatrix::open(const DatasetName& name, Element element) {
  const Handle file = open_file(name.file);
  const Handle dataset = open_dataset(file, name);
  const DatasetInfo info = inspect(dataset, name);
  const auto is_index = [](const auto& pick) { return pick.is_index; };
  if (info.shape.size() != 2 ||
      std::any_of(name.selection.begin(), name.selection.end(), is_index) || !info.chunk.empty() ||
      name.packing || !is_stored_as(name, element) || !is_in_file(dataset, file))
    return nullptr;
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF || static_cast<index_t>(offset) % info.element_bytes != 0)
    return nullptr;
  std::unique_ptr<MappedMatrix> matrix(new MappedMatrix);
  matrix->map_ = map_file(std::filesystem::canonical(name.file), matrix->map_bytes_);
  matrix->name_ = name.text();
  matrix->element_bytes_ = info.element_bytes;
  matrix->row_bytes_ = info.shape[1] * info.element_bytes;
  const auto begin = static_cast<index_t>(offset), end = begin + info.shape[0] * matrix->row_bytes_;
  if (matrix->map_ == nullptr || end == begin || end > matrix->map_bytes_ ||
      advise(matrix->map_ + begin, matrix->map_ + begin + 1, MADV_POPULATE_READ) != 0)
    return nullptr;
  const auto selection = resolve(name.selection, info.shape, name.text());
  matrix->first_ = matrix->map_ + begin + selection[0].begin * matrix->row_bytes_ +
                   selection[1].begin * info.element_bytes;
  return matrix;
}

MappedMatrix::~MappedMatrix() {
  coming_ = {};
  if (map_ != nullptr) munmap(map_, static_cast<std::size_t>(map_bytes_));
}

/// Reads close runs in a thread, together with the gaps, as one sequential range: requested one by
/// one, as distant runs are, 134 MB in runs of 8 KiB, a quarter of their rows, took five times as
/// long on Linux 6.18 and ten times the processor time (small pages in its cache, and requests of 8
/// KiB).
void MappedMatrix::will_bring(const layout::Box& box) {
  coming_ = {};
  if (box.empty()) return;
  if (close_runs * box.cols.size() * element_bytes_ < row_bytes_) {
    each_run(box, [](const std::byte* begin, const std::byte* end) {
      (void)advise(begin, end, MADV_WILLNEED);
    });
    return;
  }
  const std::byte* const begin = row(box.rows.begin) + box.cols.begin * element_bytes_;
  const std::byte* const end = row(box.rows.end - 1) + box.cols.end * element_bytes_;
  try {
    coming_ = std::async(std::launch::async,
                         [begin, end] { (void)advise(begin, end, MADV_POPULATE_READ); });
  } catch (const std::system_error&) {
    // No thread is available: bring() reads all of it.
  }
}

void MappedMatrix::bring(const layout::Box& box) const {
  each_run(box, [&](const std::byte* begin, const std::byte* end) {
    const int error = advise(begin, end, MADV_POPULATE_READ);
    require(error == 0, ExitCode::io,
            name_ + " cannot be read (" + std::strerror(error) +
                "); check whether its file was truncated or its file system unmounted");
  });
}

}  // namespace tessera::inline v1::io
