// Snapshots and checkpoints of stencils.

#include "workloads/request.hpp"
#include "workloads/stencil/problem.hpp"
#include "workloads/stencil/stops.hpp"

namespace tessera {
namespace {

using test::Folder;
using Words = std::vector<std::string>;
namespace stencil = workloads::stencil;

class Stencil : public testing::Test {
 protected:
  ExitCode sweep(Words words) {
    words.insert(words.begin(), {"--shape", "40x37", "--overwrite"});
    return test::run(folder.comm(), apps::stencil_command(), words);
  }
  [[nodiscard]] std::string name(const std::string& file) const {
    return folder.file(file) + ":/u";
  }
  [[nodiscard]] std::vector<double> field(const std::string& file) const {
    return test::read_numbers<double>(folder.file(file), "/u", Element::f64, {40, 37});
  }
  Folder folder;
};

TEST_F(Stencil, GoesOnFromACheckpointWithTheSameBits) {
  ASSERT_EQ(sweep({"--steps", "30", "--out", name("whole.h5")}), ExitCode::ok);
  const std::string checkpoint = folder.file("ck.h5");
  ASSERT_EQ(sweep({"--steps", "12", "--checkpoint", checkpoint, "--checkpoint-every", "6"}),
            ExitCode::ok);
  ASSERT_EQ(sweep({"--steps", "30", "--checkpoint", checkpoint, "--checkpoint-every", "50",
                   "--resume", "auto", "--out", name("resumed.h5")}),
            ExitCode::ok);
  EXPECT_EQ(field("resumed.h5"), field("whole.h5"));
}

TEST_F(Stencil, KeepsASnapshotOfEveryFewSteps) {
  ASSERT_EQ(sweep({"--steps", "10", "--every", "4", "--snapshots", name("s.h5"), "--out",
                   name("out.h5")}),
            ExitCode::ok);
  const auto frames = test::read_numbers<double>(folder.file("s.h5"), "/u", Element::f64,
                                                 {4, 40, 37});  // steps 0, 4, 8, 10
  const auto last = field("out.h5");
  EXPECT_TRUE(std::equal(last.begin(), last.end(),
                         frames.end() - static_cast<std::ptrdiff_t>(last.size())));
  ASSERT_EQ(sweep({"--steps", "4", "--out", name("four.h5")}), ExitCode::ok);
  const auto four = field("four.h5");
  EXPECT_TRUE(std::equal(four.begin(), four.end(),
                         frames.begin() + static_cast<std::ptrdiff_t>(four.size())));
}

TEST(Frames, AreThoseOfMultiplesAndTheEnds) {
  stencil::Problem problem;
  problem.every = 4;
  problem.shape.steps = 10;
  EXPECT_EQ(stencil::frames_of(problem, 0), (std::vector<index_t>{0, 4, 8, 10}));
  EXPECT_EQ(stencil::frames_of(problem, 6), (std::vector<index_t>{6, 8, 10}));
  EXPECT_EQ(stencil::frames_of(problem, 8), (std::vector<index_t>{8, 10}));
  problem.shape.steps = 8;
  EXPECT_EQ(stencil::frames_of(problem, 0), (std::vector<index_t>{0, 4, 8}));
}

TEST(Sides, AreWrittenInWords) {
  using dist::stencil::Boundary;
  const auto sides = stencil::parse_sides("x=periodic,y-=constant:1.5,y+=mirror", 2);
  EXPECT_EQ(sides[2][0].kind, Boundary::periodic);
  EXPECT_EQ(sides[2][1].kind, Boundary::periodic);
  EXPECT_EQ(sides[1][0].kind, Boundary::constant);
  EXPECT_EQ(sides[1][0].value, 1.5);
  EXPECT_EQ(sides[1][1].kind, Boundary::mirror);
  for (const char* wrong : {"z=periodic", "x=constant", "x=clamp:1", "x=clamp,x-=mirror", "w"})
    EXPECT_THROW((void)stencil::parse_sides(wrong, 2), Error) << wrong;
}

TEST(Interval, IsSecondsOrSteps) {
  EXPECT_EQ(stencil::parse_interval("600s").seconds, 600);
  EXPECT_EQ(stencil::parse_interval("1000").steps, 1000);
  for (const char* wrong : {"", "s", "-5", "1.5", "0"})
    EXPECT_THROW((void)stencil::parse_interval(wrong), Error) << wrong;
}

}  // namespace
}  // namespace tessera
