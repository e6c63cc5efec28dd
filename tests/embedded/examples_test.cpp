// The installed examples, which check their results, on the communicator of some ranks.

#include "embedded/examples.hpp"

#include "embedded/embedded.hpp"
#include "embedded/folder.hpp"

namespace tessera::embedded {
namespace {

TEST_F(Embedded, Examples) {
  const Folder folder(comm);
  EXPECT_EQ(run_fft(comm, folder.path()), ExitCode::ok);
  EXPECT_EQ(run_heat(comm, folder.path()), ExitCode::ok);
  EXPECT_EQ(run_join(comm, folder.path()), ExitCode::ok);
  EXPECT_EQ(run_kmeans(comm, folder.path()), ExitCode::ok);
  EXPECT_EQ(run_pca(comm, folder.path()), ExitCode::ok);
}

}  // namespace
}  // namespace tessera::embedded
