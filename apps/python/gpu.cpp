// Arrays in the memory of the current GPU.

#include "gpu.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <numeric>

#include "machine/gpu.hpp"

namespace tessera::python {
namespace {

using machine::device::Allocation;

/// Returns a new array in the memory of the current GPU.
py::array allocated(const py::dtype& dtype, const Shape& shape) {
  const index_t bytes =
      std::accumulate(shape.begin(), shape.end(), index_t{dtype.itemsize()}, std::multiplies<>());
  auto memory = std::make_unique<Allocation>(bytes, machine::device::Home::device);
  const void* const data = memory->data();
  const py::capsule owner(memory.release(), [](void* x) { delete static_cast<Allocation*>(x); });
  return {dtype, shape, {}, data, owner};
}

}  // namespace

void use_gpu(int number) {
  const machine::Gpus& found = machine::gpus();
  if (found.devices.empty()) {
    throw py::type_error(
        fmt::format("an argument is in the memory of a GPU, which this tessera cannot use ({}): "
                    "copy it to the host first, as by cupy.asnumpy(a) or torch's a.cpu()",
                    found.reason));
  }
  machine::use_gpu(number);
}

py::array plain(const py::array& x, const char* name, Place place) {
  if (place == Place::host) return native(x);
  if (!is_plain(x)) {
    throw py::value_error(fmt::format(
        "{} is on a GPU, and unaligned or of foreign byte order: must be a plain array", name));
  }
  return x;
}

py::array result(const py::object& out, const py::dtype& dtype, const Shape& shape, Place place) {
  if (place == Place::gpu && out.is_none()) return allocated(dtype, shape);
  return result(out, dtype, shape);
}

}  // namespace tessera::python
