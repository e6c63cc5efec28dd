// HDF5 datasets.

#include "distributed/operations.hpp"
#include "io/dataset.hpp"

namespace tessera::python {

py::tuple describe(const std::string& file, const std::string& dataset) {
  int dims = 0;
  std::array<index_t, 32> extents{};
  call([&] {
    return tessera_dataset_extents(file.c_str(), dataset.c_str(), &dims, extents.data());
  });
  py::list shape;
  for (int d = 0; d < dims; ++d) shape.append(extents[static_cast<std::size_t>(d)]);
  const io::DatasetName name{file, dataset};
  const io::Handle opened = io::open_file(name.file);
  return py::make_tuple(py::tuple(shape),
                        io::inspect(io::open_dataset(opened, name), name).type_text());
}

void read_dataset(const std::string& file, const std::string& dataset,
                  const std::vector<index_t>& low, const std::vector<index_t>& high, py::array to) {
  const int type = type_of(to.dtype());
  std::byte* const data = memory_of(to);
  call([&] {
    return tessera_read(file.c_str(), dataset.c_str(), type, static_cast<int>(low.size()),
                        low.data(), high.data(), data);
  });
}

void write_dataset(const Ranks& ranks, const std::string& file, const std::string& dataset,
                   const std::vector<index_t>& shape, const std::vector<index_t>& low,
                   const py::array& from, bool overwrite) {
  const int type = type_of(from.dtype());
  const std::byte* const data = memory_of(from);
  std::vector<index_t> high = low;
  for (std::size_t d = 0; d < high.size(); ++d) high[d] += from.shape(static_cast<py::ssize_t>(d));
  call([&] {
    return tessera_write(ranks.handle(), file.c_str(), dataset.c_str(), type,
                         static_cast<int>(shape.size()), shape.data(), low.data(), high.data(),
                         data, overwrite ? "existing=replace" : nullptr);
  });
}

}  // namespace tessera::python
