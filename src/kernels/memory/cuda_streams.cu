// A pipeline on several streams: transfers to the device, a kernel and transfers back, issued depth
// first or breadth first, while the host computes or waits.

#include "base/timer.hpp"
#include "kernels/memory/cuda_steps.cuh"
#include "kernels/memory/stream_pipeline.hpp"

namespace tessera::inline v1::memory {
namespace {

constexpr index_t pieces = 16, events_a_piece = stages.size() + 1;
constexpr index_t host_lane = -1;  // its "stream"

/// Every piece goes to the device, through a kernel and back, in the order of its stream.
class Streams final : public DeviceProbe {
 public:
  explicit Streams(const DeviceWalk& walk)
      : n_(word_count(walk)),
        rounds_(walk.rounds),
        host_rounds_(walk.host_rounds),
        order_(issue_order(pieces, walk.streams, static_cast<Issue>(walk.issue))),
        from_(n_),
        to_(n_),
        host_(host_rounds_ > 0 ? ceil_div(n_, pieces) : 0),
        device_from_(n_),
        device_to_(n_),
        streams_(static_cast<std::size_t>(walk.streams)),
        events_(events_a_piece * pieces) {
    fill_words(from_.data(), n_);
  }
  [[nodiscard]] double run() override {
    const std::array alone = seconds_alone();
    poison(to_.data(), n_);
    fill_words(host_.data(), host_.size());
    cuda::check(cudaMemset(device_to_.data(), 0xa5, byte_count(n_)), "cudaMemset");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const Timer timer;
    begin_.record(streams_.front());
    for (std::size_t s = 1; s < streams_.size(); ++s) begin_.before_next(streams_[s]);
    issue_all();
    const double began = timer.seconds();
    walk_words(host_.data(), host_.size(), host_rounds_);
    const double ended = timer.seconds();
    for (const cuda::Stream& stream : streams_) stream.wait();
    spans_ = spans_of(times(), ssize(streams_), alone);
    if (host_rounds_ > 0) spans_.push_back({"host", 0, host_lane, began, ended});
    double last = 0;
    for (const DeviceSpan& span : spans_) last = std::max(last, span.end);
    return last;
  }
  [[nodiscard]] DeviceCheck check() override {
    return exact(wrong_powers(to_.data(), n_, 1, rounds_) +
                     wrong_powers(host_.data(), host_.size(), 1, host_rounds_),
                 n_ + host_.size());
  }
  [[nodiscard]] double work() const override { return 2.0 * static_cast<double>(byte_count(n_)); }
  [[nodiscard]] std::vector<DeviceSpan> spans() const override { return spans_; }

 private:
  [[nodiscard]] const cuda::Stream& stream_of(index_t piece) const {
    return streams_[static_cast<std::size_t>(piece % ssize(streams_))];
  }
  [[nodiscard]] cuda::Event& event(index_t piece, index_t number) {
    return events_[static_cast<std::size_t>(events_a_piece * piece + number)];
  }

  /// Starts a stage of a piece on its stream.
  void start(Stage stage, index_t piece) {
    const index_t begin = n_ * piece / pieces, count = n_ * (piece + 1) / pieces - begin;
    const cuda::Stream& stream = stream_of(piece);
    if (stage == Stage::to_device) {
      cuda::copy(from_.data() + begin, device_from_.data() + begin, count, cudaMemcpyHostToDevice,
                 stream);
    } else if (stage == Stage::from_device) {
      cuda::copy(device_to_.data() + begin, to_.data() + begin, count, cudaMemcpyDeviceToHost,
                 stream);
    } else if (count > 0) {
      steps<<<some_blocks(count), step_threads, 0, stream>>>(
          device_to_.data() + begin, device_from_.data() + begin, count, narrow<int>(rounds_));
      cuda::check(cudaGetLastError(), "probe kernel");
    }
  }

  /// Issues all stages, each between two events of its stream.
  void issue_all() {
    for (const Issued& next : order_) {
      const auto number = static_cast<index_t>(next.stage);
      if (number == 0) event(next.piece, 0).record(stream_of(next.piece));
      start(next.stage, next.piece);
      event(next.piece, number + 1).record(stream_of(next.piece));
    }
  }

  /// Returns the seconds of each stage of the first piece without another on the device.
  std::array<double, stages.size()> seconds_alone() {
    std::array<double, stages.size()> seconds{};
    for (const Stage stage : stages) {
      cuda::Stopwatch watch(stream_of(0));
      start(stage, 0);
      seconds[static_cast<std::size_t>(stage)] = watch.seconds();
    }
    return seconds;
  }

  std::vector<PieceTimes> times() {
    std::vector<PieceTimes> result(pieces);
    for (index_t piece = 0; piece < pieces; ++piece)
      for (index_t e = 0; e < events_a_piece; ++e)
        result[static_cast<std::size_t>(piece)].reached[static_cast<std::size_t>(e)] =
            event(piece, e).seconds_since(begin_);
    return result;
  }

  index_t n_, rounds_, host_rounds_;
  std::vector<Issued> order_;
  cuda::PinnedBuffer<DeviceWord> from_, to_;
  machine::Buffer<DeviceWord> host_;
  DeviceWords device_from_, device_to_;
  std::vector<cuda::Stream> streams_;
  std::vector<cuda::Event> events_;
  cuda::Event begin_;
  std::vector<DeviceSpan> spans_;
};

}  // namespace

std::unique_ptr<DeviceProbe> cuda_streams(const DeviceWalk& walk) {
  return std::make_unique<Streams>(walk);
}

void add_stream_functions(Functions& to) {
  to.push_back(machine::device_function("cuda_streams", "", steps, step_threads));
}

}  // namespace tessera::inline v1::memory
