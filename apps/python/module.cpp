// The extension module tessera._kernels, behind tessera/__init__.py.

#include <fmt/format.h>

#include <string>

#include "arrays.hpp"
#include "base/version.hpp"
#include "errors.hpp"
#include "gpu.hpp"

namespace {

/// Throws ImportError if pybind11 is older than numpy 2 and numpy is not: it would read the members
/// of dtypes at other offsets.
void require_known_numpy() {
  constexpr int first_with_numpy_2 = 0x020C0000;
  const auto version = pybind11::module_::import("numpy").attr("__version__").cast<std::string>();
  if (PYBIND11_VERSION_HEX < first_with_numpy_2 && !version.starts_with("1.")) {
    throw pybind11::import_error(fmt::format(
        "tessera was built with pybind11 {}.{}, which does not support numpy {}: build it with "
        "pybind11 2.12 or newer (`pip install .` does so), or use numpy 1",
        PYBIND11_VERSION_MAJOR, PYBIND11_VERSION_MINOR, version));
  }
}

}  // namespace

PYBIND11_MODULE(_kernels, module) {
  namespace py = pybind11;
  namespace python = tessera::python;
  require_known_numpy();
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
