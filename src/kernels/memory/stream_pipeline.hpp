#pragma once
// The arithmetic of a pipeline on several streams: the order of issue, and spans from the times of
// events.

#include <span>
#include <vector>

#include "kernels/memory/device_probes.hpp"

namespace tessera::inline v1::memory {

/// What happens to a piece, in order; each stage has an engine.
enum class Stage { to_device, kernel, from_device };
inline constexpr std::array<Stage, 3> stages{Stage::to_device, Stage::kernel, Stage::from_device};
[[nodiscard]] const char* name(Stage stage);

struct Issued {
  Stage stage;
  index_t piece;
};
/// Returns the order in which the host issues the stages of all pieces; piece p is on stream
/// p % streams.
[[nodiscard]] std::vector<Issued> issue_order(index_t pieces, index_t streams, Issue issue);

/// Times of the events before the first and after each stage of a piece, in seconds.
struct PieceTimes {
  std::array<double, stages.size() + 1> reached;
};
/// Returns the spans of all stages by piece. An event records the completion of the work before it
/// in its stream, not the start of the work after it, which may wait for its engine; and the engine
/// may serve streams in another order than that of issue. A stage therefore begins when its piece
/// is ready and the engine's last completion before its own has passed, but no later than `alone`
/// before its end: seconds that the stage takes when nothing else runs.
[[nodiscard]] std::vector<DeviceSpan> spans_of(std::span<const PieceTimes> pieces, index_t streams,
                                               const std::array<double, stages.size()>& alone);

}  // namespace tessera::inline v1::memory
