#include "run/understood.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "mpi/agreement.hpp"
#include "run/roll_call.hpp"

namespace tessera::run {
namespace {

OptionSet demo() {
  OptionSet set("demo", "for tests", {"tessera demo"});
  set.add(
      {.name = "n", .kind = Kind::integer, .fallback = "8", .axis = true, .low = 0, .high = 1e12});
  set.add({.name = "out"});
  set.add(
      {.name = "threads", .kind = Kind::integer, .fallback = "0", .axis = true, .differs = true});
  set.add({.name = "memory", .kind = Kind::bytes, .differs = true});
  return set;
}

/// Returns the comparison's message on this rank; "" if all ranks agree.
template <class Compare>
std::string message_of(ExitCode code, const Compare& compare) {
  try {
    compare();
    return "";
  } catch (const mpi::AgreedError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
}

void compare_files(const mpi::Communicator& world, const std::string& file) {
  mpi::Agreement agreement(world, "compare");
  const Alike seen(agreement, seen_of_file(file));
  agreement.settle();
  require_same_file(world, seen);
}

std::string said_of(const mpi::Communicator& world, const std::vector<std::string>& arguments) {
  const OptionSet set = demo();
  const auto facts = understood("demo", &set, set.parse(arguments));
  return message_of(ExitCode::usage, [&] { require_same_facts(world, facts); });
}

TEST(Understood, NamesTheFirstThatDiffersOnEveryRank) {
  const auto world = mpi::Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "one rank was told one thing";
  const bool last = world.rank() + 1 == world.size();
  const std::string other = "rank " + std::to_string(world.size() - 1) + " ";
  EXPECT_EQ(said_of(world, {"--n", "5"}), "");
  const std::string sizes = said_of(world, {"--n", last ? "6" : "5", "--out", last ? "b" : "a"});
  EXPECT_NE(sizes.find("rank 0 --n 5, " + other + "--n 6"), std::string::npos) << sizes;
  EXPECT_EQ(world.broadcast(sizes, 0), sizes);
  const std::string outs = last ? said_of(world, {"--out", "x"}) : said_of(world, {});
  EXPECT_NE(outs.find("rank 0 no --out, " + other + "--out x"), std::string::npos) << outs;
}

TEST(Understood, LetsDifferWhatMay) {
  const auto world = mpi::Communicator::world();
  const std::string mine = std::to_string(1 + world.rank());
  EXPECT_EQ(said_of(world, {"--threads", mine, "--memory", mine + "GiB"}), "");
  if (world.size() == 1) return;
  const std::string counts = said_of(world, {"--threads", world.rank() == 0 ? "1" : "1,2"});
  EXPECT_NE(counts.find("--threads 1 value, rank 1 --threads 2 values"), std::string::npos)
      << counts;
}

TEST(Understood, ComparesCommandsBeforeTheirOptions) {
  const auto world = mpi::Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "one rank was told one thing";
  const OptionSet set = demo();
  const auto facts = world.rank() == 1 ? understood("--help", nullptr, {})
                                       : understood("demo", &set, set.parse({}));
  const std::string message =
      message_of(ExitCode::usage, [&] { require_same_facts(world, facts); });
  EXPECT_NE(message.find("rank 0 the command demo, rank 1 the command --help"), std::string::npos)
      << message;
}

TEST(RollCall, TellsOfFailuresTasksAndNeighbours) {
  const auto world = mpi::Communicator::world();
  const bool last = world.rank() + 1 == world.size();
  const RollCall well(world, ExitCode::ok, {{"n", "5", "flag"}});
  EXPECT_TRUE(well.all_well());
  EXPECT_FALSE(well.all_failed());
  EXPECT_TRUE(well.same_facts());
  EXPECT_EQ(well.neighbours().on_host, world.node().size());
  EXPECT_GE(well.neighbours().on_cores, 1);
  const RollCall ill(world, last ? ExitCode::usage : ExitCode::ok,
                     {{"n", last ? "6" : "5", "flag"}});
  EXPECT_FALSE(ill.all_well());
  EXPECT_EQ(ill.all_failed(), world.size() == 1);
  EXPECT_EQ(ill.same_facts(), world.size() == 1);
}

TEST(SameFile, IsOneThatAllSee) {
  const auto world = mpi::Communicator::world();
  const std::string folder = std::filesystem::temp_directory_path();
  const std::string mine = folder + "/tessera-understood-" + std::to_string(getppid());
  const std::string file = mine + "-" + std::to_string(world.rank());
  std::ofstream(file) << std::string(static_cast<std::size_t>(100 + world.rank()), 'a');
  world.barrier();
  EXPECT_EQ(message_of(ExitCode::missing_input, [&] { compare_files(world, mine + "-0"); }), "");
  if (world.size() > 1) {
    const std::string message =
        message_of(ExitCode::missing_input, [&] { compare_files(world, file); });
    EXPECT_NE(message.find("it has 100 bytes, on rank 1"), std::string::npos) << message;
  }
  world.barrier();
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tessera::run
