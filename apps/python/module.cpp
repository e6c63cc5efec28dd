// The extension module tessera._kernels, behind tessera/__init__.py.

#include "arrays.hpp"
#include "base/version.hpp"
#include "errors.hpp"
#include "gpu.hpp"

PYBIND11_MODULE(_kernels, module) {
  namespace py = pybind11;
  namespace python = tessera::python;
  py::register_local_exception_translator(python::translate);
  module.attr("version") = TESSERA_VERSION;
  module.def("threads", python::default_threads);
  module.def("after_fork", python::after_fork);
  module.def("use_gpu", python::use_gpu);
  py::enum_<python::Place>(module, "Place")
      .value("host", python::Place::host)
      .value("gpu", python::Place::gpu);
  module.def("matmul", python::matmul);
  module.def("transpose", python::transpose);
  module.def("sort", python::sort);
  module.def("argsort", python::argsort);
  module.def("stencil", python::stencil);
}
