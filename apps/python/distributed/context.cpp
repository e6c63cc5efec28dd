// The ranks of an array, and what they agree on.

#include "distributed/context.hpp"

#include <fmt/format.h>

#include <array>

namespace tessera::python {
namespace {

/// The exceptions that are raised as they are on all ranks; others as ValueError.
const std::array<PyObject*, 5>& kinds() {
  static const std::array<PyObject*, 5> all{PyExc_ValueError, PyExc_TypeError, PyExc_MemoryError,
                                            PyExc_FileNotFoundError, PyExc_OSError};
  return all;
}

index_t kind_of(const py::error_already_set& raised) {
  for (std::size_t kind = 1; kind < kinds().size(); ++kind)
    if (raised.matches(kinds()[kind])) return static_cast<index_t>(kind);
  return 0;
}

}  // namespace

Ranks::Ranks(int fortran_handle) {
  call([&] { return tessera_context_create_f(fortran_handle, &handle_); });
  context_ = c::context_of(handle_);
}

Ranks::~Ranks() { [[maybe_unused]] const int code = tessera_context_free(&handle_); }

py::object Ranks::agree(const py::function& check) const {
  py::object value;
  index_t kind = 0;
  const auto checked = [&](c::Fingerprint& same) {
    const py::gil_scoped_acquire gil;
    try {
      value = check();
      same.add(text(py::repr(value)).c_str());
    } catch (const py::error_already_set& raised) {
      kind = kind_of(raised);
      throw Error(ExitCode::usage, text(raised.value()));
    }
  };
  std::string message;
  {
    const py::gil_scoped_release release;
    try {
      c::agree(*context_, checked);
      return value;
    } catch (const mpi::AgreedError& error) {
      message = error.what();
      kind = comm().all_gather(kind)[static_cast<std::size_t>(error.rank())];
    }
  }
  PyErr_SetString(kinds()[static_cast<std::size_t>(kind)], message.c_str());
  throw py::error_already_set();
}

py::bytes Ranks::broadcast(const std::string& bytes, int root) const {
  std::string result;
  {
    const py::gil_scoped_release release;
    result = comm().broadcast(bytes, root);
  }
  return {result};
}

int type_of(const py::dtype& dtype) {
  struct Known {
    char kind;
    py::ssize_t bytes;
    int type;
  };
  constexpr Known known[] = {{'f', 2, TESSERA_F16},  {'f', 4, TESSERA_F32}, {'f', 8, TESSERA_F64},
                             {'i', 1, TESSERA_I8},   {'i', 2, TESSERA_I16}, {'i', 4, TESSERA_I32},
                             {'i', 8, TESSERA_I64},  {'u', 1, TESSERA_U8},  {'u', 2, TESSERA_U16},
                             {'u', 4, TESSERA_U32},  {'u', 8, TESSERA_U64}, {'c', 8, TESSERA_C64},
                             {'c', 16, TESSERA_C128}};
  if (dtype.byteorder() == '<' || dtype.byteorder() == '>') {
    throw py::type_error(
        fmt::format("dtype is {}: must have the byte order of this machine", text(dtype)));
  }
  for (const Known& each : known)
    if (each.kind == dtype.kind() && each.bytes == dtype.itemsize()) return each.type;
  throw py::type_error(fmt::format(
      "dtype is {}: must be an integer, a float of at most 64 bits, complex64 or complex128",
      text(dtype)));
}

std::byte* memory_of(const py::array& x) {
  require_contiguous(x);
  return const_cast<std::byte*>(bytes_of(x));
}

}  // namespace tessera::python
