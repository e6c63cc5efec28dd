#pragma once
// The ranks on which arrays are distributed, and calls of the C API.

#include <string>

#include "arrays.hpp"
#include "c/context.hpp"

namespace tessera::python {

/// Calls a function of the C API without the GIL; throws its error.
template <class F>
void call(const F& function) {
  int code = TESSERA_OK;
  {
    const py::gil_scoped_release release;
    code = function();
  }
  if (code != TESSERA_OK) throw Error(static_cast<ExitCode>(code), tessera_error_text());
}

/// The ranks of a communicator of mpi4py.
class Ranks {
 public:
  /// Takes the communicator's handle in Fortran. Collective over it.
  explicit Ranks(int fortran_handle);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] tessera_context handle() const { return handle_; }
  [[nodiscard]] const mpi::Communicator& comm() const { return context_->comm; }
  [[nodiscard]] int threads() const { return context_->threads; }
  [[nodiscard]] bool same(const Ranks& other) const {
    return comm().handle() == other.comm().handle();
  }

  /// Returns what `check` returns, a local function whose result must have the same repr() on all
  /// ranks. If it raises an exception on any rank, or the results differ, all ranks raise the same
  /// one. Collective.
  [[nodiscard]] py::object agree(const py::function& check) const;
  /// Returns the bytes of rank `root` on all ranks. Collective.
  [[nodiscard]] py::bytes broadcast(const std::string& bytes, int root) const;

 private:
  tessera_context handle_ = nullptr;
  std::shared_ptr<c::Context> context_;
};

/// Returns the type of the C API for a dtype; throws TypeError for others.
[[nodiscard]] int type_of(const py::dtype& dtype);
/// Returns the memory of an array that is contiguous in C's order; throws ValueError for others.
[[nodiscard]] std::byte* memory_of(const py::array& x);

}  // namespace tessera::python
