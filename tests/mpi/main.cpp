// Main function of all tests run by mpirun: rank 0 prints, any rank's failure fails the test.
#include <gtest/gtest.h>

#include "mpi/runtime.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return tessera::mpi::run_main(&argc, &argv, [](const tessera::mpi::Communicator& comm) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (!comm.is_root()) {
      class Failures : public testing::EmptyTestEventListener {
        void OnTestPartResult(const testing::TestPartResult& result) override {
          if (!result.failed()) return;
          std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(),
                       result.message());
        }
      };
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new Failures);
    }
    const auto failed = comm.sum(tessera::index_t{RUN_ALL_TESTS() != 0 ? 1 : 0});
    return failed == 0 ? tessera::ExitCode::ok : tessera::ExitCode::verification;
  });
}
