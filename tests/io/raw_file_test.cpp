#include "io/raw_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tessera::io {
namespace {

namespace fs = std::filesystem;

TEST(RawFile, ReportsAFullDeviceAsSuch) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const RawFile full("/dev/full", RawFile::Mode::read_write);
  const std::vector<std::byte> data(10);
  try {
    full.write_at(0, data);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_create);
  }
}

TEST(RawFile, LongNamesHaveHiddenOnesBesideThem) {
  const std::string name(250, 'n'), file = "folder/" + name + ".h5",
                                    other = "folder/" + name + "2.h5";
  for (const std::string& hidden :
       {partial_name(file), stopped_name(file), hidden_name(file, ".lock")}) {
    EXPECT_TRUE(hidden.starts_with("folder/.nnn")) << hidden;
    EXPECT_LE(fs::path(hidden).filename().string().size(), 255U) << hidden;
  }
  EXPECT_EQ(stopped_name(file), stopped_name(file));
  EXPECT_NE(stopped_name(file), stopped_name(other));
  EXPECT_EQ(stopped_name("a/b.h5"), "a/.b.h5.stopped");
}

}  // namespace
}  // namespace tessera::io
