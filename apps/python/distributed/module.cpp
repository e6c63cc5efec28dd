// The extension module tessera._distributed, behind tessera/distributed.py.

#include <pybind11/stl.h>

#include "distributed/operations.hpp"
#include "errors.hpp"
#include "mpi/loaded.hpp"
#include "mpi/runtime.hpp"

PYBIND11_MODULE(_distributed, module) {
  namespace py = pybind11;
  using namespace tessera::python;
  py::register_local_exception_translator(translate);
  module.def("mpi_library", tessera::mpi::library_version);
  module.def("require_one_library", tessera::mpi::require_one_library);
  module.def("version_in", [](const std::string& text) { return tessera::mpi::version_in(text); });
  py::class_<Ranks>(module, "Ranks")
      .def(py::init<int>())
      .def_property_readonly("size", [](const Ranks& ranks) { return ranks.comm().size(); })
      .def("same", &Ranks::same)
      .def("agree", &Ranks::agree)
      .def("broadcast", &Ranks::broadcast);
  py::class_<Cut>(module, "Cut")
      .def(py::init<const Ranks&, std::vector<tessera::index_t>,
                    const std::vector<tessera::index_t>&, const std::vector<tessera::index_t>&,
                    std::vector<tessera::index_t>>())
      .def_property_readonly("local_shape", &Cut::local_shape)
      .def("indices", &Cut::indices);
  module.def("nearest_grid", nearest_grid);
  module.def("relayout", relayout);
  module.def("matmul", matmul_distributed);
  module.def("sort", sort_distributed);
  module.def("argsort", argsort_distributed);
  module.def("take", take);
  module.def("searchsorted", searchsorted);
  module.def("groups", groups);
  module.def("unique", unique);
  module.def("describe", describe);
  module.def("read", read_dataset);
  module.def("write", write_dataset);
  py::class_<Field>(module, "Field")
      .def(py::init<const Ranks&, const std::vector<tessera::index_t>&, const py::dtype&,
                    const std::string&, const py::object&, const std::string&, double,
                    const std::string&>())
      .def_property_readonly("low", &Field::low)
      .def_property_readonly("high", &Field::high)
      .def_property_readonly("grid", &Field::grid)
      .def("local", &Field::local)
      .def("advance", &Field::advance);
  using Numbers = std::vector<tessera::index_t>;
  py::class_<Halo>(module, "Halo")
      .def(py::init([](const Ranks& ranks, const Numbers& shape, const py::dtype& dtype,
                       const Numbers& widths, const Numbers& grid, const std::string& boundary,
                       double value, int fields, const std::string& options) {
        return std::make_unique<Halo>(
            ranks, HaloArguments{shape, dtype, widths, grid, boundary, value, fields}, options);
      }))
      .def_property_readonly("low", &Halo::low)
      .def_property_readonly("high", &Halo::high)
      .def_property_readonly("bytes", &Halo::bytes)
      .def("start", &Halo::start)
      .def("wait", &Halo::wait);
  py::class_<Relayout>(module, "Relayout")
      .def(py::init<const Ranks&, const Cut&, const std::vector<int>&, const Cut&, tessera::index_t,
                    int>())
      .def_property_readonly("bytes", &Relayout::bytes)
      .def("start", &Relayout::start)
      .def("wait", &Relayout::wait)
      .def("free", &Relayout::free);
}
