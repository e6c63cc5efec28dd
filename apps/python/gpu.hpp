#pragma once
// Arrays in the memory of the current GPU, which numpy arrays describe.

#include "arrays.hpp"
#include "machine/device_call.hpp"

namespace tessera::python {

/// Makes the GPU of that number current; throws TypeError, which says what to do, where there is
/// none, or this build cannot use it.
void use_gpu(int number);

/// Returns x in native byte order and aligned: a copy if it is not so, for which arrays on a GPU
/// are refused with ValueError.
[[nodiscard]] py::array plain(const py::array& x, const char* name, Place place);
/// Returns `out`, or a new array at that place if it is None; throws as result().
[[nodiscard]] py::array result(const py::object& out, const py::dtype& dtype, const Shape& shape,
                               Place place);

/// Calls f(stream) without the GIL, after all earlier work of the GPU, and waits for its work.
template <class F>
void call_on_gpu(const F& f) {
  const py::gil_scoped_release release;
  machine::device::call(f);
}

}  // namespace tessera::python
