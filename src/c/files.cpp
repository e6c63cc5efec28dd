// Reads and writes of boxes of HDF5 datasets.

#include <algorithm>
#include <span>
#include <vector>

#include "c/context.hpp"
#include "c/options.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"

namespace tessera::inline v1::c {
namespace {

constexpr int most_dims = 32;

/// The HDF5 type of elements in memory.
struct Numbers {
  io::DatasetInfo info;
  [[nodiscard]] bool is_complex() const { return info.kind == io::DatasetInfo::Kind::complex; }
};

Numbers numbers_of(int type) { return {io::number_type(type_name(type))}; }

io::DatasetName name_of(const char* file, const char* dataset) {
  expect(file != nullptr && *file != '\0', "file", "has no name");
  expect(dataset != nullptr && *dataset == '/', "dataset", "must be a path that begins with /");
  return {file, dataset};
}

/// A box of a dataset with its elements.
struct Box {
  std::vector<layout::Range> ranges;
  index_t count = 1;
};

Box box_of(int dims, const int64_t* low, const int64_t* high) {
  expect(dims >= 1 && dims <= most_dims, "dims", "is {}: must be in 1 .. {}", dims, most_dims);
  expect(low != nullptr, "low", "is a null pointer");
  expect(high != nullptr, "high", "is a null pointer");
  Box box;
  for (int d = 0; d < dims; ++d) {
    expect(low[d] >= 0, "low", "has {}: must be at least 0", low[d]);
    expect(high[d] >= low[d], "high", "has {}: must be at least {}, as low", high[d], low[d]);
    box.ranges.push_back({low[d], high[d]});
    box.count = checked_mul(box.count, high[d] - low[d], "high");
  }
  return box;
}

void expect_inside(const Box& box, std::span<const index_t> extents) {
  for (std::size_t d = 0; d < extents.size(); ++d) {
    expect(box.ranges[d].end <= extents[d], "high", "has {}: must be at most {}, the extent",
           box.ranges[d].end, extents[d]);
  }
}

/// Returns the bytes of a box in memory.
index_t bytes_of_box(const Box& box, index_t element_bytes) {
  return checked_mul(box.count, element_bytes, "high");
}

/// Throws Error(usage) on every rank unless the boxes of the ranks cover the dataset, without
/// overlap. Collective.
void expect_cover(const Context& context, const Box& box, std::span<const index_t> extents) {
  index_t all = 1;
  for (const index_t extent : extents) all = checked_mul(all, extent, "extents");
  const index_t there = context.comm.sum(box.count);
  expect(there == all, "low", "and high of all ranks have {} elements: must have {}, the dataset",
         there, all);
  const std::size_t dims = box.ranges.size();
  std::vector<index_t> mine;
  for (const layout::Range& range : box.ranges) {
    mine.push_back(range.begin);
    mine.push_back(range.end);
  }
  const std::vector<index_t> boxes = context.comm.all_gather(std::span<const index_t>(mine));
  agree(context, [&](Fingerprint&) {
    for (int rank = 0; rank < context.comm.size(); ++rank) {
      bool overlaps = rank != context.comm.rank();
      for (std::size_t d = 0; d < dims; ++d) {
        const std::size_t at = 2 * (static_cast<std::size_t>(rank) * dims + d);
        overlaps =
            overlaps && !layout::intersect(box.ranges[d], {boxes[at], boxes[at + 1]}).empty();
      }
      expect(!overlaps, "low", "and high overlap the box of rank {}", rank);
    }
  });
}

struct Output {
  io::DatasetName name;
  std::vector<index_t> extents;
  Box box;
  Numbers numbers;
  io::OutputFile::Existing existing = io::OutputFile::Existing::refuse;
};

void write(const Context& context, const Output& output, const void* data) {
  const io::Handle type = io::number_type(output.numbers.info);
  io::OutputFile file(context.comm, output.name.file,
                      {{output.name.path, output.extents, type, {}}}, output.existing);
  mpi::together(context.comm, "write", [&] {
    const auto bytes =
        static_cast<std::size_t>(bytes_of_box(output.box, output.numbers.info.element_bytes));
    if (bytes > 0)
      file.write_slab(0, output.box.ranges, {static_cast<const std::byte*>(data), bytes});
    file.check_written(io::OutputFile::ReadBack::automatic, context.threads);
  });
  file.publish([](hid_t) {});
}

}  // namespace
}  // namespace tessera::inline v1::c

int tessera_dataset_extents(const char* file, const char* dataset, int* dims, int64_t extents[32]) {
  using namespace tessera;
  return c::guarded([&] {
    const io::DatasetName name = c::name_of(file, dataset);
    c::expect(dims != nullptr, "dims", "is a null pointer");
    c::expect(extents != nullptr, "extents", "is a null pointer");
    const io::Handle opened = io::open_file(name.file);
    const std::vector<index_t> shape = io::inspect(io::open_dataset(opened, name), name).shape;
    *dims = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), extents);
  });
}

int tessera_read(const char* file, const char* dataset, int type, int dims, const int64_t* low,
                 const int64_t* high, void* data) {
  using namespace tessera;
  return c::guarded([&] {
    const io::DatasetName name = c::name_of(file, dataset);
    const c::Numbers numbers = c::numbers_of(type);
    const c::Box box = c::box_of(dims, low, high);
    c::expect_memory(data, c::bytes_of_box(box, numbers.info.element_bytes), "data");
    {
      const io::Handle opened = io::open_file(name.file);
      io::require_complete(opened, name.file);
      const io::DatasetInfo there = io::inspect(io::open_dataset(opened, name), name);
      c::expect(there.shape.size() == box.ranges.size(), "dims", "is {}: {} has {}", dims,
                name.text(), there.shape.size());
      c::expect_inside(box, there.shape);
      require(numbers.is_complex() == (there.kind == io::DatasetInfo::Kind::complex),
              ExitCode::bad_data,
              fmt::format("{} holds {}: cannot be read as {}", name.text(), there.type_text(),
                          numbers.info.type_text()));
    }
    if (box.count == 0) return;
    const io::Handle memory = numbers.is_complex()
                                  ? io::complex_form(name, numbers.info.element_bytes)
                                  : io::number_type(numbers.info);
    io::read_slab(name, box.ranges,
                  {memory, data, numbers.info.element_bytes, box.ranges.back().size()});
  });
}

int tessera_write(tessera_context context, const char* file, const char* dataset, int type,
                  int dims, const int64_t* extents, const int64_t* low, const int64_t* high,
                  const void* data, const char* options) {
  using namespace tessera;
  return c::guarded([&] {
    const auto on = c::context_of(context);
    c::Output output;
    c::agree(*on, [&](c::Fingerprint& same) {
      same.add(file).add(dataset).add(type).add(dims).add(options);
      output.name = c::name_of(file, dataset);
      output.numbers = c::numbers_of(type);
      output.box = c::box_of(dims, low, high);
      c::expect(extents != nullptr, "extents", "is a null pointer");
      output.extents.assign(extents, extents + dims);
      for (const index_t extent : output.extents) {
        c::expect(extent >= 0, "extents", "has {}: must be at least 0", extent);
        same.add(extent);
      }
      c::expect_inside(output.box, output.extents);
      c::expect_memory(data, c::bytes_of_box(output.box, output.numbers.info.element_bytes),
                       "data");
      const c::Options asked(options, {"existing"});
      const std::string_view existing = asked.text("existing");
      if (existing == "replace")
        output.existing = io::OutputFile::Existing::replace;
      else if (!existing.empty())
        c::unknown_value("existing", existing, {"replace"});
    });
    c::expect_cover(*on, output.box, output.extents);
    c::write(*on, output, data);
  });
}
