#include "mpi/phases.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mpi/heartbeat.hpp"

namespace tessera::mpi {
namespace {

TEST(Phases, AreListedWhenTheyBegin) {  // there may be no memory for it at their end
  Phases phases;
  {
    const PhaseScope scope(phases, "multiply");
    ASSERT_EQ(phases.seconds().size(), 1u);
    EXPECT_EQ(phases.of("multiply"), 0);
  }
  EXPECT_EQ(phases.seconds().size(), 1u);
  EXPECT_GT(phases.of("multiply"), 0);
}

TEST(Phases, KeepStaysOnlyWhenWatched) {
  Phases phases;
  { const PhaseScope scope(phases, "compute"); }
  EXPECT_FALSE(phases.watched());
  EXPECT_TRUE(phases.stays().empty());
  phases.watch();
  const double before = phases.of("compute");
  {
    const InFlight flight(phases);
    const PhaseScope scope(phases, "compute");
  }
  ASSERT_EQ(phases.stays().size(), 2u);
  const Stay& inner = phases.stays()[0];
  const Stay& outer = phases.stays()[1];
  EXPECT_STREQ(inner.phase, "compute");
  EXPECT_STREQ(outer.phase, Phases::in_flight);
  EXPECT_LE(outer.begin, inner.begin);
  EXPECT_LE(inner.begin, inner.end);
  EXPECT_LE(inner.end, outer.end);
  EXPECT_NEAR(inner.end - inner.begin, phases.of("compute") - before,
              1e-12);                          // both use one clock reading
  EXPECT_EQ(phases.of(Phases::in_flight), 0);  // separate from the phases
  for (std::size_t i = 0; i < 2 * Phases::most_stays; ++i)
    const PhaseScope scope(phases, "compute");
  EXPECT_EQ(phases.stays().size(), Phases::most_stays);
}

TEST(Phases, AddUp) {
  Phases phases;
  phases.add("compute", 1);
  phases.add("exchange", 2);
  phases.add("compute", 0.5);
  EXPECT_EQ(phases.of("compute"), 1.5);
  EXPECT_EQ(phases.seconds().front().first, "compute");
  { const PhaseScope scope(phases, "write"); }
  EXPECT_EQ(std::string(current_phase()), "write");
  EXPECT_GE(phases.of("write"), 0);
}

}  // namespace
}  // namespace tessera::mpi
