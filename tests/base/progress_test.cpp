#include "base/progress.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/hanging.hpp"
#include "base/lines.hpp"
#include "base/note.hpp"
#include "base/progress_line.hpp"

namespace tessera {
namespace {

/// Runs `work` with a progress line and returns what is printed on stderr.
template <class Work>
std::string printed(const ProgressTimes& times, const Work& work) {
  testing::internal::CaptureStderr();
  {
    const ProgressLine line(times);
    work();
  }
  return testing::internal::GetCapturedStderr();
}

/// Waits until the text is printed on the captured stderr, a file; for ever if it is not.
void wait_until_printed(std::string_view text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    struct stat status {};
    ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
    all.resize(static_cast<std::size_t>(status.st_size));
    ASSERT_GE(pread(STDERR_FILENO, all.data(), all.size(), 0), 0);
  }
}

TEST(Progress, SaysWhatIsDoneAndLeft) {
  Progress steps("steps", 60000);
  EXPECT_EQ(steps.text(), "steps 0 of 60000, 0 s so far");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  steps.update(15000);
  EXPECT_NE(steps.text().find("steps 15000 of 60000, "), std::string::npos) << steps.text();
  EXPECT_NE(steps.text().find(" a second, "), std::string::npos) << steps.text();
  EXPECT_TRUE(steps.text().ends_with(" left")) << steps.text();
  steps.update(1e9);
  EXPECT_NE(steps.text().find("60000 of 60000"), std::string::npos) << steps.text();
}

TEST(Progress, CountsBytesFromItsBeginningOn) {
  work_done().bytes_read += 1 << 30;
  const Progress reading("read", 4 << 20, Progress::Counts::bytes_read);
  work_done().bytes_read += 1 << 20;
  EXPECT_TRUE(reading.text().starts_with("read 1 MiB of 4 MiB, ")) << reading.text();
}

TEST(Progress, ShowsAShareOfAnAmount) {
  const Progress product("product", 4e6, Progress::Counts::multiplied, {8e-3, "GFLOP"});
  EXPECT_EQ(product.text(), "product of 0.008 GFLOP, 0 s so far");
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  count_multiplied(1000000);
  EXPECT_TRUE(product.text().starts_with("product 25 % of 0.008 GFLOP, ")) << product.text();
  EXPECT_NE(product.text().find(" GFLOP/s, "), std::string::npos) << product.text();
  EXPECT_TRUE(product.text().ends_with(" left")) << product.text();
}

TEST(Filled, BreaksLinesAtSpaces) {
  EXPECT_EQ(filled("one two three", 7), "one two\n  three");
  EXPECT_EQ(filled("one two three", 80), "one two three");
  EXPECT_EQ(filled("a/long/path/that/stays whole", 9), "a/long/path/that/stays\n  whole");
  EXPECT_EQ(filled("a b c d e f", 5), "a b c\n  d e\n  f");
  EXPECT_EQ(filled("", 5), "");
  EXPECT_EQ(filled("holds 9.15 GiB a rank", 12), "holds\n  9.15 GiB a\n  rank");
  EXPECT_EQ(filled("m 64, n 1e+07 f64", 10), "m 64, n\n  1e+07 f64");
}

TEST(Hanging, IndentsByTheWidthOfTheHead) {
  EXPECT_EQ(hanging("ab: ", "one two three", 12), "ab: one two\n    three");
  EXPECT_EQ(hanging("ab: ", "one two three", 80), "ab: one two three");
  EXPECT_EQ(hanging("ab: ", "longer/than/the/screen yes", 9),
            "ab: longer/than/the/screen\n    yes");
  EXPECT_EQ(hanging("   ", "", 9), "   ");
}

/// Returns what is printed, with a phase, until `text` is, while `begin` has begun its steps.
template <class Begin>
std::string shown_until(const char* text, const Begin& begin) {
  testing::internal::CaptureStderr();
  {
    const ProgressLine line({.terminal = false, .first = 0, .every = 1e-3},
                            [] { return "verify"; });
    begin([&] { wait_until_printed(text); });
  }
  return testing::internal::GetCapturedStderr();
}

TEST(ProgressLine, ShowsThePhaseWhereNoStepTells) {
  (void)shown_until("progress: verify, ", [](const auto& wait) { wait(); });
  const std::string one = shown_until("progress: verify, ", [](const auto& wait) {
    const Progress points("points", 1);
    wait();
  });
  EXPECT_EQ(one.find("points"), std::string::npos) << one;
  (void)shown_until(": verify, ", [](const auto& wait) {
    const Progress points("points", 3);
    const Progress repetitions("repetitions", 1);
    wait_until_printed("progress: points 0 of 3, ");
    wait();
  });
  (void)shown_until("progress: steps 0 of 9, ", [](const auto& wait) {
    const Progress all("steps", 9);
    wait();
  });
}

TEST(ProgressLine, IsRemovedFromTheTerminalAtTheEndOfTheStep) {
  const std::string text = printed({.terminal = true, .first = 0, .every = 1e-3}, [] {
    Progress points("points", 3);
    points.update(1);
    Progress steps("steps", 10);
    wait_until_printed(": steps 0 of 10, ");
  });
  EXPECT_NE(text.find("\r\033[Kpoints 1 of 3, "), std::string::npos) << text;
  EXPECT_NE(text.find(": steps 0 of 10, "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(ProgressLine, IsALineOfALog) {
  const std::string text = printed({.terminal = false, .first = 0, .every = 1e-3}, [] {
    const Progress steps("steps", 10);
    wait_until_printed("\n");
  });
  EXPECT_TRUE(text.starts_with("progress: steps 0 of 10, ")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST(ProgressLine, LeavesShortStepsAndUnknownAmountsAlone) {
  const std::string text = printed({.terminal = true, .first = 0, .every = 1e-3}, [] {
    const Progress nothing("read", 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  EXPECT_EQ(text, "");
  EXPECT_EQ(printed({.terminal = true, .first = 1e9, .every = 1e-3},
                    [] {
                      const Progress steps("steps", 10);
                      std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    }),
            "");
}

TEST(ProgressLine, MakesRoomForNotes) {
  const std::string text = printed({.terminal = true, .first = 0, .every = 1e-3}, [] {
    const Progress steps("steps", 10);
    wait_until_printed("steps 0 of 10, ");
    print_note("note: a note");
  });
  EXPECT_NE(text.find("\r\033[Knote: a note\n"), std::string::npos) << text;
  EXPECT_EQ(notes().back(), "a note");
}

}  // namespace
}  // namespace tessera
