// The extension module tessera._kernels, behind tessera/__init__.py.

#include "arrays.hpp"
#include "base/error.hpp"
#include "base/version.hpp"

namespace {

namespace py = pybind11;

/// Throws the library's errors as exceptions of Python.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const tessera::Error& error) {
    PyObject* type = PyExc_RuntimeError;
    if (error.code() == tessera::ExitCode::memory) type = PyExc_MemoryError;
    if (error.code() == tessera::ExitCode::usage || error.code() == tessera::ExitCode::bad_data)
      type = PyExc_ValueError;
    PyErr_SetString(type, error.what());
  }
}

}  // namespace

PYBIND11_MODULE(_kernels, module) {
  namespace python = tessera::python;
  py::register_local_exception_translator(translate);
  module.attr("version") = TESSERA_VERSION;
  module.def("threads", python::default_threads);
  module.def("after_fork", python::after_fork);
  module.def("matmul", python::matmul);
  module.def("transpose", python::transpose);
  module.def("sort", python::sort);
  module.def("argsort", python::argsort);
  module.def("stencil", python::stencil);
}
