#include "run/limiter.hpp"

#include <gtest/gtest.h>

namespace tessera::run {
namespace {

using Phases = std::vector<io::Row>;

io::Row row(const char* phase, index_t rank, double seconds) {
  return {{"point", std::string("p"), ""},
          {"repetition", index_t{0}, ""},
          {"rank", rank, ""},
          {"phase", std::string(phase), ""},
          {"seconds", seconds, "s"}};
}

TEST(LimitSentence, NamesTheLongestKindOfPhase) {
  const auto begins = [](const Phases& phases, const char* words) {
    const std::string sentence = limit_sentence(phases, std::nullopt);
    EXPECT_TRUE(sentence.starts_with(words)) << sentence;
    EXPECT_NE(sentence.find("; try "), std::string::npos) << sentence;
  };
  begins({row("read", 0, 6), row("compute", 0, 4)}, "limited by reading (60 % of 10 s)");
  begins({row("write", 0, 3), row("publish", 0, 3), row("sort", 0, 4)},
         "limited by writing (60 % of 10 s)");
  begins({row("exchange", 0, 3), row("exchange", 1, 3), row("compute", 0, 2), row("compute", 1, 2)},
         "limited by messages between ranks (60 % of 5 s)");
  begins({row("to device", 0, 2), row("compute", 0, 1)}, "limited by transfers");
  begins({row("verify", 0, 2), row("compute", 0, 1)}, "limited by the check");
  begins({row("compute", 0, 2), row("read", 0, 1)}, "limited by computing (67 % of 3 s)");
}

TEST(LimitSentence, KnowsTransfersFromKernelsOfGpus) {
  const Phases moves{row("compute", 0, 3), row("device kernels", 0, 0.5)};
  EXPECT_TRUE(limit_sentence(moves, {}).starts_with(
      "limited by transfers to and from the GPU (83 % of 3 s)"));
  const Phases computes{row("compute", 0, 3), row("device kernels", 0, 2.5)};
  const std::string sentence = limit_sentence(computes, CeilingShare{"fma_f64", 0.9});
  EXPECT_TRUE(sentence.starts_with("limited by computing on the GPU (83 % of 3 s)")) << sentence;
  EXPECT_EQ(sentence.find("--device gpu"), std::string::npos) << sentence;
}

TEST(LimitSentence, DoesNotAdviseAFileSystemWhereNoFileIsRead) {
  const Phases phases{row("read", 0, 6), row("compute", 0, 4)};
  EXPECT_TRUE(limit_sentence(phases, {}, InputFrom::generator)
                  .starts_with("limited by generating the input (60 % of 10 s); try more threads"));
}

TEST(LimitSentence, KnowsMemoryFromArithmeticByTheCeiling) {
  const Phases phases{row("compute", 0, 2)};
  EXPECT_TRUE(limit_sentence(phases, CeilingShare{"copy", 0.8})
                  .starts_with("limited by memory: 80 % of its measured bandwidth"));
  EXPECT_TRUE(limit_sentence(phases, CeilingShare{"fma_f64", 0.9})
                  .starts_with("limited by arithmetic: 90 % of the measured peak rate"));
  EXPECT_TRUE(
      limit_sentence(phases, CeilingShare{"copy", 0.3}).starts_with("limited by computing"));
}

TEST(LimitSentence, NamesImbalanceBeforeTheWaitThatItCauses) {
  const std::string sentence =
      limit_sentence({row("compute", 0, 1), row("exchange", 0, 3), row("compute", 1, 4)}, {});
  EXPECT_TRUE(sentence.starts_with("limited by imbalance: the slowest rank computed 1.6 times"))
      << sentence;
}

TEST(LimitSentence, IsSilentAboutShortAndEvenlySpentTime) {
  EXPECT_EQ(limit_sentence({row("compute", 0, 0.9)}, {}), "");
  EXPECT_EQ(limit_sentence({row("compute", 0, 1), row("read", 0, 1), row("write", 0, 1)}, {}), "");
  EXPECT_EQ(limit_sentence({}, {}), "");
}

}  // namespace
}  // namespace tessera::run
