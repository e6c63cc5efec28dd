#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "allocations.hpp"
#include "base/directory.hpp"
#include "base/element.hpp"
#include "base/hash.hpp"
#include "base/index.hpp"
#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "base/view.hpp"

namespace tessera {
namespace {

TEST(NamesIn, AreThoseOfFilesAndFolders) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tessera-names-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "b");
  std::ofstream(folder / ".a") << "x";
  std::vector<std::string> names = names_in(folder);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".a", "b"}));
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(Narrow, KeepsWhatFits) {
  EXPECT_EQ(narrow<int>(index_t{2147483647}), 2147483647);
  EXPECT_EQ(narrow<int>(index_t{-5}), -5);
}

TEST(Narrow, RefusesWhatDoesNot) {
  EXPECT_THROW((void)narrow<int>(index_t{1} << 31), Error);
  EXPECT_THROW((void)narrow<int>((index_t{1} << 32) + 5), Error);
  EXPECT_THROW((void)narrow<std::uint32_t>(index_t{-1}), Error);
}

TEST(CheckedMul, NamesWhatOverflows) {
  EXPECT_EQ(checked_mul(1 << 20, 1 << 20, "x"), index_t{1} << 40);
  try {
    (void)checked_mul(index_t{1} << 40, index_t{1} << 40, "m x n");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("m x n"), std::string::npos);
    EXPECT_EQ(e.code(), ExitCode::usage);
  }
}

TEST(MatrixView, BlocksShareTheStride) {
  double data[12];
  for (int i = 0; i < 12; ++i) data[i] = i;
  const auto a = matrix_view(data, 3, 4);
  const auto b = a.block(1, 2, 2, 2);
  EXPECT_EQ(b(0, 0), 6);
  EXPECT_EQ(b(1, 1), 11);
  EXPECT_EQ(b.ld, 4);
  EXPECT_TRUE(a.block(0, 0, 0, 4).empty());
}

TEST(Random, DependsOnSeedStreamAndIndexOnly) {
  EXPECT_EQ(random_symmetric<double>(1, 2, 3), random_symmetric<double>(1, 2, 3));
  EXPECT_NE(random_symmetric<double>(1, 2, 3), random_symmetric<double>(1, 2, 4));
  EXPECT_NE(random_symmetric<double>(1, 2, 3), random_symmetric<double>(1, 3, 3));
  EXPECT_NE(random_symmetric<double>(1, 2, 3), random_symmetric<double>(2, 2, 3));
}

TEST(Random, IsUniformInMeanAndVariance) {
  const index_t n = 100000;
  double sum = 0, squares = 0;
  for (index_t i = 0; i < n; ++i) {
    const double x = random_symmetric<double>(7, 0, i);
    ASSERT_GE(x, -1.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.0, 4 / std::sqrt(3.0 * n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.01);
}

TEST(Hash, SumDoesNotDependOnTheOrderButOnThePosition) {
  EXPECT_EQ(hash_at(5, 1) + hash_at(6, 2), hash_at(6, 2) + hash_at(5, 1));
  EXPECT_NE(hash_at(5, 1) + hash_at(6, 2), hash_at(5, 2) + hash_at(6, 1));
}

TEST(Summarize, GivesOrderStatistics) {
  const auto s = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.max, 5);
  EXPECT_EQ(s.ci_low, 1);  // five samples cannot cover the median with 95 %: the whole range
  EXPECT_EQ(s.ci_high, 5);
}

TEST(Summarize, IntervalOfTenIsSecondToNinth) {
  std::vector<double> samples;
  for (int i = 10; i >= 1; --i) samples.push_back(i);
  const auto s = summarize(samples);
  EXPECT_EQ(s.ci_low, 2);  // P(X <= 1) = 11/1024 = 1.1 % on each side; the third would be 5.5 %
  EXPECT_EQ(s.ci_high, 9);
}

TEST(Summarize, FewSamplesSayHowFarTheirIntervalGoes) {
  std::string texts;
  for (const std::size_t count : {1U, 2U, 3U, 4U, 5U, 6U}) {
    std::vector<double> samples(count, 2.0);
    samples.front() = 1;
    texts += interval_text(summarize(samples)) + "; ";
  }
  EXPECT_EQ(texts,
            "-; 1 .. 2 s (50 %); 1 .. 2 s (75 %); 1 .. 2 s (88 %); 1 .. 2 s (94 %); 1 .. 2 s; ");
}

TEST(Summarize, EmptyIsZero) { EXPECT_EQ(summarize({}).count, 0u); }

TEST(Text, HumanQuantitiesHaveUnits) {
  EXPECT_EQ(human_bytes(312), "312 B");
  EXPECT_EQ(human_bytes(index_t{1} << 20), "1 MiB");
  EXPECT_EQ(human_bytes(1.5 * 1024 * 1024 * 1024), "1.50 GiB");
  EXPECT_EQ(human_bytes(std::ldexp(5, 60)), "5 EiB");
  EXPECT_EQ(human_seconds(0.0456), "45.6 ms");
  EXPECT_EQ(human_seconds(2), "2 s");
  EXPECT_EQ(human_seconds(7199), "7199 s");
  EXPECT_EQ(human_seconds(7200), "2 h");
  EXPECT_EQ(human_seconds(2769117), "32.0 days");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
}

TEST(Text, NearestFindsTyposAndRefusesStrangers) {
  const std::vector<std::string> names{"naive", "tiled", "transposed", "cache_oblivious"};
  EXPECT_EQ(nearest("tield", names), "tiled");
  EXPECT_EQ(nearest("cache", names), "cache_oblivious");
  EXPECT_EQ(nearest("zzzzzz", names), "");
  EXPECT_EQ(nearest("C", {"N", "T"}), "");
  EXPECT_EQ(nearest("blas", {"cublas", "naive"}), "");
  EXPECT_EQ(nearest("aive", names), "naive");
  EXPECT_EQ(suggestion("naiv", names), "; did you mean 'naive'?");
}

TEST(Text, PrintableKeepsWordsAndTellsControlCharacters) {
  EXPECT_EQ(printable("caf\xc3\xa9 /A"), "caf\xc3\xa9 /A");
  EXPECT_EQ(printable(std::string_view("a\nb\t\x1b[2J\x7f\0", 10)), "a\\nb\\t\\x1b[2J\\x7f\\x00");
}

TEST(Text, ParsesBytes) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("64MiB"), index_t{64} << 20);
  EXPECT_EQ(parse_bytes("1.5G"), index_t{3} << 29);
  EXPECT_EQ(parse_bytes("2 GB"), 2000000000);
  EXPECT_EQ(parse_bytes("1.5PiB"), index_t{3} << 49);
  EXPECT_EQ(parse_bytes("5 EiB"), index_t{5} << 60);
  for (const char* bad : {"", "x", "12Q", "-1", "1e30G", "1e300", "9.3e18", "5 MiBs", "nan"}) {
    EXPECT_THROW((void)parse_bytes(bad), Error) << bad;
  }
}

TEST(Table, AlignsNumbersRightAndWordsLeft) {
  Table t({"variant", "GFLOP/s"});
  t.add({"naive", "1.5"});
  t.add({"tiled", "12.25"});
  EXPECT_EQ(t.text(),
            "variant  GFLOP/s\n"
            "-------  -------\n"
            "naive        1.5\n"
            "tiled      12.25\n");
}

TEST(Table, FitsTheTerminal) {
  Table t({"kernel", "n", "median", "interval", "rate", "check"});
  t.add({"naive", "8", "1.5 ms", "363 us .. 2 ms", "2.25", "-"});
  t.add({"naive", "16", "12 ms", "1.25 .. 2 ms", "12", "-"});
  EXPECT_EQ(t.fitted(2, 80),
            "kernel   n  median, ms        interval   rate\n"
            "------  --  ----------  --------------  -----\n"
            "naive    8         1.5  363 us .. 2 ms   2.25\n"
            "naive   16        12      1.25 .. 2 ms  12\n");
  EXPECT_EQ(t.fitted(2, 40),
            "kernel naive\n"
            " n  median, ms        interval   rate\n"
            "--  ----------  --------------  -----\n"
            " 8         1.5  363 us .. 2 ms   2.25\n"
            "16        12      1.25 .. 2 ms  12\n");
}

TEST(Table, BreaksHeadingsThenNarrowsGaps) {
  Table t({"rank", "sent at most", "work space"});
  t.add({"0", "8.94 GiB", "12.5 MiB"});
  EXPECT_EQ(t.within(30), t.text());
  EXPECT_EQ(t.within(29),
            "       sent at      work\n"
            "rank      most     space\n"
            "----  --------  --------\n"
            "   0  8.94 GiB  12.5 MiB\n");
  EXPECT_EQ(t.within(23).substr(t.within(23).find("----")),
            "---- -------- --------\n"
            "   0 8.94 GiB 12.5 MiB\n");
}

TEST(Table, BreaksSentencesOfTheLastColumn) {
  Table t({"kernel", "n", "what it does"});
  t.add({"naive", "8", "triple loop i, j, p; one thread (reference)"});
  t.add({"tiled", "16", "square tiles"});
  EXPECT_EQ(t.within(60), t.text());
  EXPECT_EQ(t.within(42),
            "kernel   n  what it does\n"
            "------  --  ------------------------\n"
            "naive    8  triple loop i, j, p; one\n"
            "            thread (reference)\n"
            "tiled   16  square tiles\n");
}

TEST(Element, DispatchGivesTheType) {
  EXPECT_EQ(dispatch_floating(Element::f32,
                              [](auto type) { return sizeof(typename decltype(type)::type); }),
            4u);
  EXPECT_THROW((void)dispatch_floating(Element::i32, [](auto) { return 0; }), Error);
  for (const auto& e : elements) {
    EXPECT_EQ(dispatch_element(e.element,
                               [](auto type) { return sizeof(typename decltype(type)::type); }),
              e.bytes);
  }
  for (const auto& e : complex_elements) {
    EXPECT_EQ(
        dispatch_field(e.element, [](auto type) { return sizeof(typename decltype(type)::type); }),
        e.bytes);
    EXPECT_THROW((void)dispatch_element(e.element, [](auto) { return 0; }), Error);
    EXPECT_EQ(name(e.element), e.name);
  }
}

TEST(Complex, MultipliesAndConjugates) {
  using Z = Complex<double>;
  EXPECT_EQ(Z(1, 2) * Z(3, -4), Z(11, 2));
  EXPECT_EQ(conjugate(Z(1, 2)), Z(1, -2));
  EXPECT_EQ(conjugate(3.0), 3.0);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(scaled(Z(2), Z(1, inf)), Z(2, inf)) << "a real factor leaves the parts to themselves";
}

TEST(RequireArgument, AllocatesOnlyToThrow) {
  constexpr const char* problem = "is longer than what a string holds without an allocation";
  const std::size_t before = allocated_bytes();
  require_argument(true, "an argument of many letters", problem);
  require_argument(true, "comm", "is an empty communicator, of which no rank is a part here");
  require_argument(true, "n", [] { return std::string("is long enough for an allocation here"); });
  EXPECT_EQ(allocated_bytes(), before);
  try {
    require_argument(false, "n", problem);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string("n ") + problem);
    EXPECT_EQ(error.argument(), "n");
  }
}

}  // namespace
}  // namespace tessera
