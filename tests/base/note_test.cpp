// Notes and names of settings, which a program receives in its own way.

#include "base/note.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/option_names.hpp"

namespace tessera {
namespace {

TEST(Note, ReachesTheHandlerAndIsLostWithoutOne) {
  const std::vector<std::string> before = notes();
  std::vector<std::string> received;
  testing::internal::CaptureStderr();
  note("first");
  handle_notes([&](const std::string& line) { received.push_back(line); });
  note("second");
  handle_notes({});
  note("third");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(received, std::vector<std::string>{"second"});
  EXPECT_EQ(notes(), before) << "those are the program's";
}

TEST(Note, OfTheProgramIsPrintedAndKept) {
  handle_notes(print_note);
  testing::internal::CaptureStderr();
  note("note: it is so");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "note: it is so\n");
  handle_notes({});
  EXPECT_EQ(notes().back(), "it is so");
}

TEST(OptionNames, AreThoseOfProgramsWithOptions) {
  EXPECT_EQ(option_or("--overwrite", "Existing::replace"), "Existing::replace");
  name_options();
  EXPECT_EQ(option_or("--overwrite", "Existing::replace"), "--overwrite");
}

}  // namespace
}  // namespace tessera
