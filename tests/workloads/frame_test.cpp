// The frame, with a workload defined by the test.

#include "run/common_options.hpp"
#include "workloads/frame/points.hpp"
#include "workloads/frame/time.hpp"
#include "workloads/request.hpp"

namespace tessera {
namespace {

/// Calls made to the points of a workload.
struct Asked {
  int planned = 0, run = 0;
  bool right = true;
  index_t memory = 1000;
  workloads::Mode mode = workloads::Mode::in_memory;
};

class Point final : public workloads::PlannedPoint {
 public:
  explicit Point(Asked& asked) : asked_(asked) {}
  [[nodiscard]] workloads::Mode mode() const override { return asked_.mode; }
  [[nodiscard]] bool may_go_out_of_core() const override { return true; }
  [[nodiscard]] const VariantInfo* kernel() const override { return nullptr; }
  [[nodiscard]] run::Held held() const override { return {asked_.memory}; }
  [[nodiscard]] index_t most_memory(index_t ranks) const override { return asked_.memory / ranks; }
  [[nodiscard]] workloads::Need need(const run::Ceilings&, index_t) const override {
    return {.memory = asked_.memory, .seconds = 2};
  }
  [[nodiscard]] workloads::Volumes volumes() const override { return {.generated = 3e9}; }
  void print(const run::Ceilings&, index_t) const override { ++asked_.planned; }
  [[nodiscard]] bool run(run::Session&) const override {
    ++asked_.run;
    return asked_.right;
  }

 private:
  Asked& asked_;
};

const run::OptionSet& options() {
  static const run::OptionSet set = [] {
    run::OptionSet made("sum", "a workload of a test", {"tessera sum"});
    made.add({.name = "n", .kind = run::Kind::integer, .fallback = "1,2,3", .axis = true});
    made.add({.name = "out"});
    run::add_plan_ranks(made);
    run::add_job_options(made, "go on");
    run::add_output_options(made);
    run::add_common_options(made);
    return made;
  }();
  return set;
}

class Frame : public testing::Test {
 protected:
  ExitCode points(const std::vector<std::string>& words) {
    const run::Parsed parsed = options().parse(words);
    try {
      check_request(workload, parsed);
      return run_points({comm, workload, parsed, words},
                        std::vector<workloads::FileRequest>{{parsed, resolve()}});
    } catch (const Error& error) {
      return error.code();
    }
  }
  workloads::Resolve resolve() {
    return [this](const mpi::Communicator&, const run::Values&, const run::Ceilings&) {
      return std::make_unique<Point>(asked);
    };
  }
  mpi::Communicator comm = mpi::Communicator::world();
  workloads::Workload workload{.options = &options(), .outputs = {{"out"}}};
  Asked asked;
};

TEST_F(Frame, RunsEveryPoint) {
  EXPECT_EQ(points({}), ExitCode::ok);
  EXPECT_EQ(asked.run, 3);
  EXPECT_EQ(asked.planned, 0);
}

TEST_F(Frame, PlansEveryPointAndRunsNone) {
  EXPECT_EQ(points({"--plan"}), ExitCode::ok);
  EXPECT_EQ(asked.planned, 3);
  EXPECT_EQ(asked.run, 0);
}

TEST_F(Frame, TellsThatAResultIsWrong) {
  asked.right = false;
  EXPECT_EQ(points({}), ExitCode::verification);
}

TEST_F(Frame, RefusesWhatDoesNotFit) {
  asked.memory = index_t{1} << 60;
  EXPECT_EQ(points({}), ExitCode::memory);
  EXPECT_EQ(points({"--plan"}), ExitCode::memory);
  EXPECT_EQ(asked.run, 0);
  asked.mode = workloads::Mode::out_of_core;  // uses at most its allowance
  EXPECT_EQ(points({}), ExitCode::ok);
}

TEST_F(Frame, TakesAPartOfThePoints) {
  EXPECT_EQ(points({"--part", "1/2"}), ExitCode::ok);
  EXPECT_EQ(asked.run, 2);
  EXPECT_EQ(points({"--part", "2/2"}), ExitCode::ok);
  EXPECT_EQ(asked.run, 3);
}

TEST_F(Frame, RefusesPartsOfOutputsAndNothingToGoOnFrom) {
  EXPECT_EQ(points({"--out", "f.h5:/x[:3]"}), ExitCode::usage);
  EXPECT_EQ(points({"--verify-output", "all"}), ExitCode::usage);
  EXPECT_EQ(points({"--resume", "auto"}), ExitCode::usage);
  EXPECT_EQ(points({"--ranks", "3"}), ExitCode::usage);
  EXPECT_EQ(asked.run, 0);
}

TEST_F(Frame, NeedsNoMoreThanTheMemoryOfWhatGoesOutOfCore) {
  const std::vector<std::string> words{"--memory", "100B", "--repetitions", "3", "--warmups", "2"};
  const run::Parsed parsed = options().parse(words);
  const auto needs = workloads::needs_of({comm, workload, parsed, words}, {{parsed, resolve()}}, 4);
  ASSERT_EQ(needs.size(), 3u);
  EXPECT_EQ(needs.front().memory, 100);
  EXPECT_EQ(needs.front().repetitions, 5);
  EXPECT_EQ(needs.front().seconds, 2);
}

TEST_F(Frame, CountsWarmUpsAndRepetitionsInTheTimeOfARun) {
  const std::vector<std::string> words{"--repetitions", "3", "--warmups", "2"};
  const run::Parsed parsed = options().parse(words);
  const auto needs = workloads::needs_of({comm, workload, parsed, words}, {{parsed, resolve()}}, 4);
  EXPECT_NEAR(needs.back().total, 10, 1e-9);
}

run::Ceilings rates() {
  return {"h",
          "t",
          {{"generate", 1, 1, "GB/s"},
           {"generate", 2, 2, "GB/s"},
           {"copy", 2, 4, "GB/s"},
           {"file_write", 1, 1, "GB/s"}}};
}

TEST(RunTime, NodesShareWorkButNotFiles) {
  const workloads::Volumes volumes{.generated = 8e9, .restored = 8e9, .written = 8e9};
  const auto time = workloads::time_of(volumes, 1, rates(),
                                       {.ranks = 4, .ranks_per_node = 2, .repetitions = 2}, 1);
  const std::vector<std::pair<std::string, double>> expected{
      {"read", 2}, {"prepare", 2}, {"repetitions", 2}, {"write", 8}};
  EXPECT_EQ(time.phases, expected);
  EXPECT_EQ(time.total(), 14);
}

TEST(RunTime, LoadsTheInputAgainForEveryRepetitionButTheFirst) {
  const auto time = workloads::time_of({.generated = 1e9, .reloads = true}, 1, rates(),
                                       {.warmups = 1, .repetitions = 2}, 1);
  EXPECT_EQ(time.phases[1], (std::pair<std::string, double>("prepare", 2)));
}

TEST(RunTime, NamesPhasesOfUnknownRates) {
  const auto time = workloads::time_of({.generated = 1e9, .hashed = 1e9}, 1, rates(), {}, 1);
  EXPECT_EQ(time.unknown, std::vector<std::string>{"verify"});
  EXPECT_EQ(workloads::text_of(time, 80),
            "predicted time of the run: 2 s: read 1 s, repetitions 1 s\n"
            "without verify, whose rates are unknown: run `tessera machine` once");
  EXPECT_EQ(workloads::text_of(time, 50),
            "predicted time of the run: 2 s: read 1 s,\nrepetitions 1 s\n"
            "without verify, whose rates are unknown: run\n  `tessera machine` once");
  EXPECT_EQ(workloads::text_of(workloads::time_of({}, 0.5, rates(), {}, 1), 80),
            "predicted time of the run: under 1 s: repetitions 500 ms");
  EXPECT_EQ(workloads::time_of({.generated = 1e9}, -1, rates(), {}, 1).total(), -1);
}

}  // namespace
}  // namespace tessera
