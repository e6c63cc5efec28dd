#include "errors.hpp"

#include <pybind11/pybind11.h>

#include "base/error.hpp"

namespace tessera::python {
namespace {

/// Returns the type of the exception for a code.
PyObject* exception_of(ExitCode code) {
  if (code == ExitCode::usage || code == ExitCode::bad_data) return PyExc_ValueError;
  if (code == ExitCode::memory) return PyExc_MemoryError;
  if (code == ExitCode::missing_input) return PyExc_FileNotFoundError;
  if (code == ExitCode::cannot_create || code == ExitCode::io) return PyExc_OSError;
  return PyExc_RuntimeError;
}

}  // namespace

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(exception_of(error.code()), error.what());
  }
}

}  // namespace tessera::python
