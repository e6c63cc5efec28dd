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

/// Waits until something is printed on the captured stderr.
void wait_until_printed() {
  struct stat status {};
  while (fstat(STDERR_FILENO, &status) == 0 && status.st_size == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
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

TEST(ProgressLine, ShowsThePhaseWhereNoStepTells) {
  const ProgressTimes often{.terminal = false, .first = 0, .every = 1e-3};
  const auto shown = [&](const auto& work) {
    testing::internal::CaptureStderr();
    {
      const ProgressLine line(often, [] { return "verify"; });
      work();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(shown([] {}).find("progress: verify, 0 s so far\n"), std::string::npos);
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const std::string one = shown([&] {
    const Progress points("points", 1);
    sleep();
  });
  EXPECT_EQ(one.find("points"), std::string::npos) << one;
  const std::string several = shown([&] {
    const Progress points("points", 3);
    const Progress repetitions("repetitions", 1);
    sleep();
  });
  EXPECT_NE(several.find("progress: points 0 of 3, 0 s so far: verify, 0 s so far\n"),
            std::string::npos)
      << several;
  const std::string steps = shown([&] {
    const Progress all("steps", 9);
    sleep();
  });
  EXPECT_NE(steps.find("progress: steps 0 of 9, "), std::string::npos) << steps;
}

TEST(ProgressLine, IsRemovedFromTheTerminalAtTheEndOfTheStep) {
  const std::string text = printed({.terminal = true, .first = 0, .every = 1e-3}, [] {
    Progress points("points", 3);
    points.update(1);
    Progress steps("steps", 10);
    wait_until_printed();
  });
  EXPECT_NE(text.find("\r\033[Kpoints 1 of 3, "), std::string::npos) << text;
  EXPECT_NE(text.find(": steps 0 of 10, "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\033[K")) << text;
}

TEST(ProgressLine, IsALineOfALog) {
  const std::string text = printed({.terminal = false, .first = 0, .every = 1e-3}, [] {
    const Progress steps("steps", 10);
    wait_until_printed();
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
    wait_until_printed();
    print_note("note: a note");
  });
  EXPECT_NE(text.find("\r\033[Knote: a note\n"), std::string::npos) << text;
  EXPECT_EQ(notes().back(), "a note");
}

}  // namespace
}  // namespace tessera
