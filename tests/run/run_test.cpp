#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "run/ceilings.hpp"
#include "run/common_options.hpp"
#include "run/held.hpp"
#include "run/options.hpp"
#include "run/threads.hpp"

namespace tessera::run {
namespace {

OptionSet make() {
  OptionSet set("demo", "for tests", {"tessera demo"});
  set.add(
      {.name = "n", .kind = Kind::integer, .fallback = "8", .axis = true, .low = 0, .high = 1e12});
  set.add({.name = "kernel",
           .kind = Kind::choice,
           .fallback = "naive",
           .choices = {"naive", "tiled"},
           .axis = true});
  set.add({.name = "alpha", .kind = Kind::real, .fallback = "1"});
  set.add({.name = "seed", .kind = Kind::integer, .fallback = "1"});
  set.add({.name = "quick", .kind = Kind::flag, .identity = false});
  set.add({.name = "limit", .kind = Kind::bytes, .identity = false});
  set.add({.name = "config"});
  return set;
}

std::string message_of(const std::vector<std::string>& arguments) {
  try {
    (void)make().parse(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Options, TakeComplexNumbersAsPythonWritesThem) {
  using Z = Complex<double>;
  for (const auto& [text, want] : {std::pair{"1.5", Z(1.5)},
                                   {"-2e-3", Z(-2e-3)},
                                   {"2j", Z(0, 2)},
                                   {"-2.5j", Z(0, -2.5)},
                                   {"1.5-2j", Z(1.5, -2)},
                                   {"-1e-2+3E+1j", Z(-1e-2, 30)},
                                   {"0+1e-3j", Z(0, 1e-3)}}) {
    EXPECT_EQ(parse_complex(text, "--alpha"), want) << text;
  }
  for (const char* text :
       {"", "j", "1+j", "1+2", "1-2i", "nan", "1+infj", "1++2j", "+-2j", "1 + 2j", "1e999j"})
    EXPECT_THROW((void)parse_complex(text, "--alpha"), Error) << text;
}

TEST(Options, NumbersThatWouldBecomeZeroOrInfiniteAreNotHeld) {
  for (const double value : {0.0, 1.5, -1e300, 1e-300})
    EXPECT_TRUE(holds(Element::f64, value)) << value;
  for (const Element element : {Element::f32, Element::c64}) {
    for (const double value : {0.0, -0.0, 1e38, -1e38, 1e-45})
      EXPECT_TRUE(holds(element, value)) << value;
    for (const double value : {1e39, -1e39, 1e-46, -1e-46})
      EXPECT_FALSE(holds(element, value)) << value;
  }
  for (const double value : {65504.0, -65519.0, 6e-8})
    EXPECT_TRUE(holds(Element::f16, value)) << value;
  for (const double value : {65520.0, -1e300, 2e-8})
    EXPECT_FALSE(holds(Element::f16, value)) << value;
}

TEST(Options, ComplexNumbersThatAreNoneAreQuotedWhole) {
  for (const char* text : {"j", "1 + 2j", "(1+2j)"}) {
    try {
      (void)parse_complex(text, "--alpha");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos)
          << error.what();
    }
  }
}

class TomlFile {
 public:
  explicit TomlFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               ("tessera_run_test_" + std::to_string(getpid()) + ".toml"))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~TomlFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Options, FlagBeatsEnvironmentBeatsTomlBeatsDefault) {
  const TomlFile toml("n = 3\nalpha = 0.5\nseed = 9\n");
  setenv("TESSERA_N", "2", 1);
  setenv("TESSERA_ALPHA", "0.25", 1);
  const auto parsed = make().parse({"--n", "1", "--config", toml.path()});
  unsetenv("TESSERA_N");
  unsetenv("TESSERA_ALPHA");
  EXPECT_EQ(parsed.lists.at("n").front(), "1");
  EXPECT_EQ(parsed.lists.at("alpha").front(), "0.25");
  EXPECT_EQ(parsed.lists.at("seed").front(), "9");
  EXPECT_EQ(parsed.lists.at("kernel").front(), "naive");
  EXPECT_EQ(parsed.sources.at("n"), "flag");
  EXPECT_EQ(parsed.sources.at("alpha"), "environment");
  EXPECT_NE(parsed.sources.at("seed").find(":3:"), std::string::npos);
  EXPECT_EQ(parsed.sources.at("kernel"), "default");
}

TEST(Options, UnknownNamesGetTheNearest) {
  EXPECT_NE(message_of({"--kernle", "naive"}).find("did you mean 'kernel'"), std::string::npos);
  EXPECT_NE(message_of({"--kernel", "tield"}).find("did you mean 'tiled'"), std::string::npos);
  EXPECT_NE(message_of({"stray"}).find("'stray'"), std::string::npos);
  EXPECT_NE(message_of({"--n"}).find("value"), std::string::npos);
}

TEST(Options, TomlErrorsNameLineAndColumn) {
  const TomlFile unknown("n = 3\nkernell = 'naive'\n");
  const auto message = message_of({"--config", unknown.path()});
  EXPECT_NE(message.find(":2:1:"), std::string::npos) << message;
  EXPECT_NE(message.find("'kernel'"), std::string::npos) << message;
  const TomlFile broken("n = = 3\n");
  EXPECT_NE(message_of({"--config", broken.path()}).find(":1:"), std::string::npos);
  const TomlFile list("seed = [1, 2]\n");
  EXPECT_NE(message_of({"--config", list.path()}).find("not a list"), std::string::npos);
  const TomlFile table("[n]\nx = 1\n");
  EXPECT_NE(message_of({"--config", table.path()}).find("n: must be"), std::string::npos);
}

TEST(Options, MissingTomlIsMissingInput) {
  try {
    (void)make().parse({"--config", "/nowhere/x.toml"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::missing_input);
  }
}

TEST(Options, ListsAndRangesAreAxes) {
  const OptionSet set = make();
  const auto points =
      set.points(set.parse({"--n", "1,256:1024:x2,10:30:10", "--kernel", "naive,tiled"}));
  ASSERT_EQ(points.size(), 14u);
  EXPECT_EQ(points[0].text("kernel"), "naive");
  EXPECT_EQ(points[1].text("kernel"), "tiled");
  EXPECT_EQ(points[2].integer("n"), 256);
  EXPECT_EQ(points[13].integer("n"), 30);
}

TEST(Options, NumbersAreChecked) {
  for (const char* bad : {"x", "1.5", "-1", "1e30", "10:1:1", "1:10:x1", "1:2:3:4", "",
                          "1:1000000:1", "99999999999999999999"}) {
    EXPECT_NE(message_of({"--n", bad}), "") << bad;
  }
  EXPECT_EQ(make().parse({"--n", "1e6"}).lists.at("n").front(), "1000000");
  EXPECT_EQ(make().parse({"--seed", "3e17"}).lists.at("seed").front(), "300000000000000000");
  EXPECT_NE(message_of({"--alpha", "one"}), "");
  EXPECT_NE(message_of({"--limit", "12 parsecs"}), "");
  EXPECT_NE(message_of({"--seed", "1,2"}), "");
}

TEST(Options, RangesEndAtTheEndsOfTheIntegers) {
  Option any{.name = "n", .kind = Kind::integer, .axis = true};
  const auto count = [&](const std::string& text) { return expand(any, text, "--n").size(); };
  EXPECT_EQ(count("-9223372036854775808:-9223372036854775800:100"), 1u);
  EXPECT_EQ(count("9223372036854775800:9223372036854775807:3"), 3u);
  EXPECT_EQ(count("-9223372036854775808:9223372036854775807:9223372036854775807"), 3u);
  EXPECT_EQ(count("1:9223372036854775807:x2"), 63u);
}

TEST(Options, ASweepOfTooManyPointsIsRefusedBeforeItFillsTheMemory) {
  const OptionSet set = make();
  EXPECT_THROW((void)set.points(set.parse({"--n", "1:9999,1:9999,1:9999"})), Error);
  EXPECT_THROW((void)set.points(set.parse({"--n", "1:5001", "--kernel", "naive,tiled"})), Error);
  EXPECT_EQ(set.points(set.parse({"--n", "1:5000", "--kernel", "naive,tiled"})).size(), 10000u);
}

TEST(Options, AnEmptyValueTakesNoOtherArgumentForOne) {
  EXPECT_NE(message_of({"--limit=", "--quick"}).find("'--limit='"), std::string::npos);
  EXPECT_NE(message_of({"--limit", "--n", "10"}).find("'--limit'"), std::string::npos);
  EXPECT_NE(message_of({"--limit", "--n=10"}).find("'--limit'"), std::string::npos);
  EXPECT_NE(message_of({"--kernel", "naive", "--limit"}).find("'--limit'"), std::string::npos);
  EXPECT_NE(message_of({"--config", "", "--quick"}).find("'--config'"), std::string::npos);
}

TEST(Options, AFlagThatIsNeitherTrueNorFalseSaysWhatItTakes) {
  EXPECT_NE(message_of({"--quick=maybe"}).find("=true"), std::string::npos);
  EXPECT_FALSE(make().parse({"--quick=false"}).lists.at("quick").front() == "true");
}

TEST(Options, DenormalNumbersAreNumbers) {
  EXPECT_GT(make().parse({"--alpha", "1e-310"}).real("alpha"), 0);
}

TEST(Options, FlagsComeFromTomlToo) {
  const TomlFile toml("quick = true\nlimit = '64MiB'\n");
  const OptionSet set = make();
  const auto point = set.points(set.parse({"--config", toml.path()})).front();
  EXPECT_TRUE(point.flag("quick"));
  EXPECT_EQ(point.bytes("limit"), index_t{64} << 20);
  EXPECT_FALSE(set.points(set.parse({})).front().flag("quick"));
}

TEST(Options, AFlagThatIsFalseBeatsEnvironmentAndToml) {
  setenv("TESSERA_QUICK", "true", 1);
  for (const auto& [words, want] : {std::pair<std::vector<std::string>, bool>{{}, true},
                                    {{"--quick=false"}, false},
                                    {{"--quick", "--quick=false"}, false},
                                    {{"--quick=false", "--quick"}, true}}) {
    const Parsed parsed = make().parse(words);
    EXPECT_EQ(make().points(parsed).front().flag("quick"), want) << join(words, " ");
    EXPECT_EQ(parsed.sources.at("quick"), words.empty() ? "environment" : "flag");
  }
  unsetenv("TESSERA_QUICK");
}

TEST(Options, WhatNoPointUsesIsTold) {
  OptionSet set = make();
  set.add({.name = "tile",
           .kind = Kind::integer,
           .fallback = "4",
           .axis = true,
           .users = {"kernel", {"tiled", "of_another_build"}}});
  const auto idle = [&](const std::vector<std::string>& words) {
    return set.idle_flags(set.parse(words));
  };
  EXPECT_EQ(idle({"--tile", "8"}),
            std::vector<std::string>{"--tile has no effect: it applies to --kernel tiled"});
  EXPECT_EQ(idle({"--tile", "4,8"}).size(), 1U);
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--tile", "4"},
                                                {"--tile", "8", "--kernel", "tiled"},
                                                {"--tile", "8", "--kernel", "naive,tiled"}})
    EXPECT_TRUE(idle(words).empty()) << join(words, " ");
  setenv("TESSERA_TILE", "8", 1);  // applies to all commands and is not a flag
  EXPECT_TRUE(idle({}).empty());
  unsetenv("TESSERA_TILE");
}

TEST(Options, AnOptionIsNoAxisOfVariantsThatIgnoreIt) {
  OptionSet set = make();
  set.add({.name = "tile",
           .kind = Kind::integer,
           .fallback = "4",
           .axis = true,
           .users = {"kernel", {"tiled"}}});
  std::vector<std::string> keys;
  for (const auto& point :
       set.points(set.parse({"--n", "5,7", "--kernel", "naive,tiled", "--tile", "2,8,16"})))
    keys.push_back(point.text("n") + point.text("kernel") + point.text("tile"));
  EXPECT_EQ(keys, (std::vector<std::string>{"5naive2", "5tiled2", "5tiled8", "5tiled16", "7naive2",
                                            "7tiled2", "7tiled8", "7tiled16"}));
  EXPECT_EQ(set.points(set.parse({"--kernel", "naive", "--tile", "2,8"})).size(), 1U);
}

TEST(Options, KeyHoldsTheIdentityOnly) {
  const OptionSet set = make();
  const auto point = set.points(set.parse({"--quick", "--n", "5"})).front();
  EXPECT_EQ(set.key(point), "demo n=5 kernel=naive alpha=1 seed=1");
}

TEST(Options, HelpShowsExamplesLast) {
  const std::string help = make().help("all");
  EXPECT_GT(help.find("Examples:"), help.find("--n"));
  EXPECT_NE(help.find("(default 8)"), std::string::npos);
  EXPECT_EQ(make().parse({"--help"}).help, "all");
  EXPECT_EQ(make().parse({"-h"}).help, "brief");
}

TEST(Options, HelpFitsATerminal) {
  OptionSet set("demo", "for tests", {"tessera demo"});
  set.add({.name = "kernel",
           .kind = Kind::choice,
           .help = "Select the kernel. The details follow the choices.",
           .choices = std::vector<std::string>(40, "a_long_name")});
  set.lead_with({"kernel"});
  for (const std::string& line : split(set.help("all"), '\n')) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(set.help("all").find(". The details"), set.help("all").rfind("a_long_name") + 11);
  EXPECT_NE(set.help("brief").find("  --kernel NAME            Select the kernel\n"),
            std::string::npos);
}

TEST(CommonOptions, AreDeclaredOnce) {
  OptionSet set("demo", "", {});
  add_common_options(set);
  const auto point = set.points(set.parse({"--repetitions", "3"})).front();
  EXPECT_EQ(point.integer("repetitions"), 3);
  EXPECT_THROW((void)set.parse({"--repetitions", "0"}), Error);
}

TEST(Ceilings, GiveThePlanWhatShiftsWereMeasuredOnNoMoreRanks) {
  Ceilings ceilings;
  EXPECT_EQ(network(ceilings, 8).shift_bandwidth[0], mpi::Network{}.bandwidth);
  ceilings.all = {{"mpi_bandwidth", 2, 10, "GB/s"}, {shift_name(0), 4, 9, "GB/s"},
                  {shift_name(1), 4, 8, "GB/s"},    {shift_name(1), 16, 7, "GB/s"},
                  {shift_name(3), 16, 2, "GB/s"},   {"mpi_all_to_all", 16, 48, "GB/s"}};
  EXPECT_EQ(shift_name(3), "mpi_shift_8");
  const mpi::Network few = network(ceilings, 8), many = network(ceilings, 100);
  EXPECT_EQ(few.shift_bandwidth[1], 8e9);
  EXPECT_EQ(many.shift_bandwidth[0], 9e9);
  EXPECT_EQ(many.shift_bandwidth[1], 7e9);
  EXPECT_EQ(many.shift_bandwidth[2], 0) << "taken from the distance below";
  EXPECT_EQ(many.shift_bandwidth[3], 2e9);
  EXPECT_EQ(many.crowd_bandwidth, 3e9);
}

TEST(Ceilings, TakeOfABusyMachineOnlyWhatIsBetter) {
  Ceilings ceilings;
  ceilings.all = {{"copy", 1, 58, "GB/s"}, {"copy", 2, 70, "GB/s"}, {"mpi_latency", 2, 1.5, "us"}};
  const auto refused = take_over(ceilings,
                                 {{"copy", 1, 8, "GB/s"},
                                  {"copy", 2, 71, "GB/s"},
                                  {"mpi_latency", 2, 9, "us"},
                                  {"triad", 1, 5, "GB/s"}},
                                 true);
  ASSERT_EQ(refused.size(), 3u);
  EXPECT_EQ(refused[0].name, "copy");
  EXPECT_EQ(refused[1].name, "mpi_latency");
  EXPECT_EQ(refused[2].name, "triad");
  EXPECT_EQ(ceilings.at("copy", 1), 58);
  EXPECT_EQ(ceilings.at("copy", 2), 71);
  EXPECT_EQ(ceilings.at("mpi_latency", 2), 1.5);
  EXPECT_FALSE(ceilings.at("triad", 1));
  EXPECT_TRUE(
      take_over(ceilings, {{"copy", 1, 8, "GB/s"}, {"triad", 1, 5, "GB/s"}}, false).empty());
  EXPECT_EQ(ceilings.at("copy", 1), 8);
  EXPECT_EQ(ceilings.at("triad", 1), 5);
  EXPECT_EQ(ceilings.all.size(), 4u);
}

TEST(Ceilings, SurviveTheFileAndInterpolate) {
  const std::string file = (std::filesystem::temp_directory_path() /
                            ("tessera_ceilings_" + std::to_string(getpid())) / "m.toml")
                               .string();
  save_ceilings(
      file, {"here", "2026-01-01T00:00:00Z", {{"triad", 1, 10, "GB/s"}, {"triad", 4, 31, "GB/s"}}});
  const Ceilings loaded = load_ceilings(file);
  std::filesystem::remove_all(std::filesystem::path(file).parent_path());
  EXPECT_EQ(loaded.host, "here");
  EXPECT_DOUBLE_EQ(loaded.at("triad", 1).value(), 10);
  EXPECT_DOUBLE_EQ(loaded.at("triad", 2).value(), 17);
  EXPECT_DOUBLE_EQ(loaded.at("triad", 64).value(), 31);
  EXPECT_FALSE(loaded.at("fma_f64", 1).has_value());
  EXPECT_TRUE(load_ceilings("/nowhere/m.toml").all.empty());
}

}  // namespace
}  // namespace tessera::run
