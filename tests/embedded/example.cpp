// An installed example, EXAMPLE.cpp, as the function run_EXAMPLE() of a program that gives it a
// communicator.

#define main unused_main  // of the example: initialises MPI by itself
#include TESSERA_EXAMPLE_SOURCE
#undef main

#include "embedded/examples.hpp"

namespace tessera::embedded {

ExitCode TESSERA_EXAMPLE_RUN(const mpi::Communicator& comm, const std::string& folder) {
  const auto run = [&](const auto& on) {
    const std::vector<std::string> names{folder + "/in.h5:/X", folder + "/out.h5:/scores",
                                         "example"};
    if constexpr (requires { body(on); }) {
      return body(on);
    } else if constexpr (requires { body(on, 10); }) {
      return body(on, 10);
    } else {
      return body(on, names);
    }
  };
  return run(comm);
}

}  // namespace tessera::embedded
