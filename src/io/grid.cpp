#include "io/grid.hpp"

#include <algorithm>
#include <cstring>

#include "io/packed.hpp"

namespace tessera::inline v1::io {
namespace {

/// Calls body(box) for parts of the box that fit the staging memory: whole planes, or whole rows of
/// one plane; a row that does not fit is a separate part.
template <class Body>
void each_part(const Box3& box, index_t element_bytes, const Body& body) {
  if (box.empty()) return;
  const index_t row_bytes = box.size()[2] * element_bytes;
  const index_t plane_bytes = row_bytes * box.size()[1];
  const index_t planes = std::max<index_t>(1, grid_staging_bytes / plane_bytes);
  const index_t rows = planes > 1
                           ? box.size()[1]
                           : std::clamp<index_t>(grid_staging_bytes / row_bytes, 1, box.size()[1]);
  for (index_t z = box.low[0]; z < box.high[0]; z += planes) {
    for (index_t y = box.low[1]; y < box.high[1]; y += rows) {
      Box3 part = box;
      part.low[0] = z;
      part.low[1] = y;
      part.high[0] = std::min(z + planes, box.high[0]);
      part.high[1] = std::min(y + rows, box.high[1]);
      body(part);
    }
  }
}

std::vector<layout::Range> slab_of(const Box3& box, int dims) {
  std::vector<layout::Range> slab;
  for (int d = 3 - dims; d < 3; ++d) slab.push_back({box.low[d], box.high[d]});
  return slab;
}

/// Calls move(row of the view, row of the packed part, bytes) for all rows of a part.
template <class T, class Row, class Move>
void each_row(const GridView<T>& view, const Box3& box, const Box3& part, Row* packed,
              const Move& move) {
  const Index3 size = part.size();
  for (index_t z = 0; z < size[0]; ++z) {
    for (index_t y = 0; y < size[1]; ++y, packed += size[2])
      move(view.row(part.low[0] - box.low[0] + z, part.low[1] - box.low[1] + y), packed,
           static_cast<std::size_t>(size[2]) * sizeof(T));
  }
}

}  // namespace

/// As read_grid, for values unpacked from stored numbers.
template <class T>
void read_grid_of_values(const DatasetName& name, const Box3& box, const GridView<T>& to) {
  std::vector<T> values;
  each_part(box, 2 * sizeof(double), [&](const Box3& part) {
    values.resize(static_cast<std::size_t>(part.volume()));
    read_values<T>(name, slab_of(part, to.dims), values);
    each_row(to, box, part, values.data(),
             [](T* row, const T* from, std::size_t bytes) { std::memcpy(row, from, bytes); });
  });
}

template <class T>
void read_grid(const DatasetName& name, const Box3& box, const GridView<T>& to) {
  if (name.packing) return read_grid_of_values(name, box, to);
  std::vector<T> packed;
  each_part(box, sizeof(T), [&](const Box3& part) {
    packed.resize(static_cast<std::size_t>(part.volume()));
    read_slab(name, slab_of(part, to.dims),
              {native_type(element_of<T>), packed.data(), index_t{sizeof(T)}, part.size()[2]});
    each_row(to, box, part, packed.data(),
             [](T* row, const T* from, std::size_t bytes) { std::memcpy(row, from, bytes); });
  });
}

void read_missing_grid(const DatasetName& name, const Box3& box, const GridView<std::uint8_t>& to) {
  std::vector<std::uint32_t> missing;
  each_part(box, 2 * sizeof(double), [&](const Box3& part) {
    missing.assign(static_cast<std::size_t>(part.volume()), 0);
    if (name.packing && name.packing->masks()) read_missing(name, slab_of(part, to.dims), missing);
    each_row(to, box, part, missing.data(),
             [](std::uint8_t* row, const std::uint32_t* from, std::size_t n) {
               for (std::size_t x = 0; x < n; ++x) row[x] = from[x] != 0 ? 1 : 0;
             });
  });
}

template <class T>
void write_grid(const Box3& box, const GridView<const T>& from, const PutSlab& put) {
  std::vector<T> packed;
  each_part(box, sizeof(T), [&](const Box3& part) {
    packed.resize(static_cast<std::size_t>(part.volume()));
    each_row(from, box, part, packed.data(),
             [](const T* row, T* to, std::size_t bytes) { std::memcpy(to, row, bytes); });
    put(slab_of(part, from.dims), std::as_bytes(std::span(packed)));
  });
}

#define TESSERA_INSTANTIATE(T)                                                  \
  template void read_grid(const DatasetName&, const Box3&, const GridView<T>&); \
  template void write_grid(const Box3&, const GridView<const T>&, const PutSlab&);
TESSERA_INSTANTIATE(Half)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::inline v1::io
