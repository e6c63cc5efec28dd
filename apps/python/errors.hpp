#pragma once
// The library's errors as exceptions of Python.

#include <exception>

namespace tessera::python {

/// Raises the exception of Python for an Error; register it with
/// pybind11::register_local_exception_translator.
void translate(std::exception_ptr thrown);

}  // namespace tessera::python
