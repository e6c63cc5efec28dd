#include "run/build_facts.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.hpp"
#include "io/h5.hpp"
#include "kernels/matmul/blas.hpp"
#include "machine/gpu.hpp"
#include "machine/isa.hpp"
#include "run/provenance.hpp"

namespace tessera::inline v1::run {
namespace {

std::string compiler() {
#ifdef __clang__
  return std::string("Clang ") + __clang_version__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

std::vector<std::string> compiled_sets() {
  const auto names = machine::isa_names();
  return {names.begin(), names.end()};
}

/// Returns why the library cannot be used; null if it can.
Json blas_missing() {
  try {
    const std::string& why = tessera::matmul::blas_missing();
    return why.empty() ? Json() : Json(why);
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

Json build_facts() {
  return {{"commit", commit()},
          {"build_type", build_type()},
          {"compiler", compiler()},
          {"mpi", mpi_library()},
          {"hdf5", io::library_version()},
          {"instruction_sets", compiled_sets()},
          {"instruction_set", machine::name(machine::isa())},
          {"cuda", machine::built_with_cuda() ? Json(machine::cuda_version()) : Json()},
          {"blas_missing", blas_missing()}};
}

std::string answer_version() {
  const Json facts = build_facts();
  answer().set("facts", facts);
  const auto text = [&](const char* name) { return facts.at(name).get<std::string>(); };
  const auto sets = facts.at("instruction_sets").get<std::vector<std::string>>();
  const bool blas = facts.at("blas_missing").is_null();
  return fmt::format("tessera {}\n", version()) +
         fmt::format("commit    {}, {}\n", text("commit"), text("build_type")) +
         fmt::format("compiler  {}\n", text("compiler")) +
         fmt::format("MPI       {}\n", text("mpi")) + fmt::format("HDF5      {}\n", text("hdf5")) +
         fmt::format("SIMD      {} selected of {}\n", text("instruction_set"), join(sets, ", ")) +
         fmt::format("CUDA      {}\n", facts.at("cuda").is_null() ? "none" : text("cuda")) +
         fmt::format("BLAS      {}\n", blas ? "OpenBLAS" : "none (libopenblas.so.0)");
}

}  // namespace tessera::inline v1::run
