#include "machine/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::machine {
namespace {

TEST(EnvironmentScope, RestoresWhatWasThere) {
  constexpr const char* name = "TESSERA_TEST_OF_SCOPE";
  {
    const EnvironmentScope scope(name, "1");
    EXPECT_STREQ(std::getenv(name), "1");
    {
      const EnvironmentScope inner(name, "2");
      EXPECT_STREQ(std::getenv(name), "2");
    }
    EXPECT_STREQ(std::getenv(name), "1");
  }
  EXPECT_EQ(std::getenv(name), nullptr);
}

}  // namespace
}  // namespace tessera::machine
