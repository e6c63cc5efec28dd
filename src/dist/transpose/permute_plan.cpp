// A permutation is a relayout to the grid of b, of which the axes are permuted here: one message a
// pair of ranks. Where b has the axes of a in two groups exchanged, the relayout transposes.

#include "dist/transpose/permute_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "dist/relayout/relayout.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/permute.hpp"
#include "kernels/transpose/strided.hpp"
#include "machine/buffer.hpp"
#include "machine/reach.hpp"
#include "mpi/agreement.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::inline v1::dist::transpose {
namespace {

using layout::ArrayGrid;
using relayout::LocalArray;
using relayout::Relayout;

struct Unit16 {
  std::uint64_t words[2];
};

/// Returns the largest unit that relayouts move elements of `bytes` bytes in.
index_t unit_of(index_t bytes) {
  return std::min<index_t>(bytes & -bytes, static_cast<index_t>(sizeof(Unit16)));
}

std::vector<index_t> extents(const ArrayGrid& grid) {
  std::vector<index_t> all;
  for (const layout::AxisParts& axis : grid.axes) all.push_back(axis.extent);
  return all;
}

void check(const ArrayPermutation& p) {
  require_argument(p.bytes >= 1, "bytes", fmt::format("is {}: must be at least 1", p.bytes));
  require_argument(!p.a.axes.empty(), "a", "has no axes: must have at least 1");
  const std::vector<index_t> shape = extents(p.a);
  tessera::transpose::require_permutation(shape, p.axes);
  require_argument(p.b.axes.size() == shape.size(), "b",
                   fmt::format("has {} axes: must have {}, as a", p.b.axes.size(), shape.size()));
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const index_t wanted = shape[static_cast<std::size_t>(p.axes[k])];
    require_argument(p.b.axes[k].extent == wanted, "b",
                     fmt::format("has {} indices in axis {}: must have {}, as axis {} of a",
                                 p.b.axes[k].extent, k, wanted, p.axes[k]));
  }
}

/// Returns the grid with elements of `bytes` bytes as a last axis of units, if they are several.
ArrayGrid in_units(ArrayGrid grid, index_t bytes) {
  if (bytes > unit_of(bytes)) grid.axes.push_back(layout::replicated(bytes / unit_of(bytes), 1));
  return grid;
}

/// Returns how many leading axes of a are the last ones of b, if b is a rotation of a's axes; 0 for
/// other permutations.
std::size_t rotated(std::span<const int> axes) {
  const std::size_t n = axes.size();
  const auto first = static_cast<std::size_t>(axes.front());
  for (std::size_t k = 0; k < n; ++k)
    if (static_cast<std::size_t>(axes[k]) != (first + k) % n) return 0;
  return first;
}

/// The permutation of the axes of one rank's share.
struct Turning {
  std::span<const index_t> shape;  ///< by axis of a
  std::span<const int> axes;
  index_t bytes;
  int threads;
};

/// Memory of a share between the relayout and the permutation, and how the latter is done there.
class Between {
 public:
  Between() = default;
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
  virtual ~Between() = default;

  /// Allocates the memory. Local.
  virtual void allocate(index_t bytes) = 0;
  [[nodiscard]] virtual std::byte* data() = 0;
  [[nodiscard]] virtual index_t size() const = 0;
  virtual void permute(const Turning& what, const std::byte* from, std::byte* to) = 0;
};

class OnHost : public Between {
 public:
  void allocate(index_t bytes) override { memory_ = machine::Buffer<std::byte>(bytes); }
  std::byte* data() override { return memory_.data(); }
  [[nodiscard]] index_t size() const override { return memory_.size(); }
  void permute(const Turning& what, const std::byte* from, std::byte* to) override {
    tessera::transpose::permute(what.shape, what.axes, what.bytes, from, to,
                                {.threads = what.threads});
  }

 private:
  machine::Buffer<std::byte> memory_;
};

class OnDevice : public Between {
 public:
  void allocate(index_t bytes) override {
    memory_ = machine::device::Allocation(bytes, machine::device::Home::device);
  }
  std::byte* data() override { return memory_.data(); }
  [[nodiscard]] index_t size() const override { return memory_.size(); }
  void permute(const Turning& what, const std::byte* from, std::byte* to) override {
    tessera::transpose::Rearrangement task{
        .rank = static_cast<int>(what.axes.size()), .axis = {}, .bytes = what.bytes};
    for (std::size_t d = 0; d < what.axes.size(); ++d) task.axis[d].extent = what.shape[d];
    index_t from_stride = what.bytes, to_stride = what.bytes;
    for (std::size_t d = what.axes.size(); d-- > 0;) {
      auto& same = task.axis[d];
      same.from = from_stride;
      from_stride *= same.extent;
      auto& turned = task.axis[static_cast<std::size_t>(what.axes[d])];
      turned.to = to_stride;
      to_stride *= turned.extent;
    }
    machine::device::synchronize();  // `from` may be the caller's, filled on any stream
    if (rearrange_ == nullptr) return move_strided(task, from, to, {.threads = 1});
    rearrange_(task, from, to, stream_);
    stream_.wait();
  }

 private:
  machine::device::Allocation memory_;
  machine::device::Stream stream_;
  tessera::transpose::DeviceRearrange rearrange_ = tessera::transpose::device_rearrange();
};

/// Returns the columns of a rank's share of a matrix.
index_t leading(const layout::Distribution& matrix, index_t rank) {
  return std::max<index_t>(1, matrix.local_box(rank, 0).cols.end);
}

}  // namespace

struct PermutePlan::State {
  /// A device: that of an exchange, or by the best transport.
  State(const mpi::Communicator& comm, const ArrayPermutation& p, int thread_count, Space where,
        const mpi::DeviceExchange* exchange)
      : unit(unit_of(p.bytes)),
        bytes(p.bytes),
        threads(thread_count),
        place(where),
        axes(p.axes.begin(), p.axes.end()) {
    check(p);
    [[maybe_unused]] const layout::Distribution grid_fits(p.b, 1, comm.size());
    const index_t rank = comm.rank();
    std::vector<std::size_t> back(axes.size());  // the axis of b that is axis d of a
    for (std::size_t k = 0; k < axes.size(); ++k) back[static_cast<std::size_t>(axes[k])] = k;
    const ArrayGrid there = permuted(p.b, back);
    for (std::size_t d = 0; d < axes.size(); ++d) {
      shape.push_back(count(segments(there, d, rank)));
      a_elements = (d == 0 ? 1 : a_elements) * count(segments(p.a, d, rank));
    }
    b_elements = 1;
    for (const index_t extent : shape) b_elements *= extent;
    const std::size_t turned = unit == bytes ? rotated(axes) : 0;
    is_direct = turned > 0 || std::is_sorted(axes.begin(), axes.end());
    const ArrayGrid from = in_units(p.a, bytes);
    const ArrayGrid to = turned > 0 ? p.b : in_units(there, bytes);
    const std::size_t rows = turned > 0              ? turned
                             : from.axes.size() == 1 ? 1
                                                     : layout::fewest_segments(from, to);
    const std::size_t to_rows = turned > 0 ? axes.size() - turned : rows;
    const Relayout matrix{{from, rows, comm.size()},
                          turned > 0 ? relayout::Op::transpose : relayout::Op::none,
                          {to, to_rows, comm.size()}};
    a_leading = leading(matrix.a, rank);
    to_leading = leading(matrix.b, rank);
    if (exchange != nullptr)
      moves.emplace(*exchange, std::span(&matrix, 1), unit);
    else
      moves.emplace(comm, std::span(&matrix, 1), unit, threads, place);
    stays = !is_direct && moves->sent_bytes() == 0 && moves->received_bytes() == 0;
    for (std::size_t d = 0; d < axes.size(); ++d)
      stays = stays && segments(p.a, d, rank) == segments(there, d, rank);
    // A rank whose share stays takes part in no message: it permutes what is in a.
    const auto allocate = [&] {
      between = place == Space::host ? std::unique_ptr<Between>(std::make_unique<OnHost>())
                                     : std::make_unique<OnDevice>();
      if (!is_direct && !stays) between->allocate(b_elements * bytes);
    };
    if (place == Space::host)
      allocate();
    else
      mpi::together(comm, "allocate", allocate);
  }

  template <class T>
  void relay(const std::byte* from, std::byte* to) {
    const LocalArray<const T> source{reinterpret_cast<const T*>(from), a_leading};
    const LocalArray<T> target{reinterpret_cast<T*>(to), to_leading};
    const relayout::Memory<T> memory{std::span(&source, 1), std::span(&target, 1)};
    moves->start<T>(std::span(&memory, 1));
  }
  void relay(const std::byte* from, std::byte* to) {
    switch (unit) {
      case 1:
        return relay<std::uint8_t>(from, to);
      case 2:
        return relay<std::uint16_t>(from, to);
      case 4:
        return relay<std::uint32_t>(from, to);
      case 8:
        return relay<std::uint64_t>(from, to);
      default:
        return relay<Unit16>(from, to);
    }
  }

  /// Permutes the axes of this rank's share of b, which is at `from` in the order of a.
  void permute(const std::byte* from) {
    if (b_elements == 0) return;
    const Timer timer;
    between->permute({shape, axes, bytes, threads}, from, b);
    own.add("permute", timer.seconds());
  }

  index_t unit, bytes;
  int threads;
  Space place;
  std::vector<int> axes;
  std::vector<index_t> shape;  ///< of what this rank permutes, by axis of a
  index_t a_elements = 1, b_elements = 1, a_leading = 1, to_leading = 1;
  bool is_direct = false;  ///< the relayout writes b
  bool stays = false;      ///< nothing of this rank is moved to another
  std::optional<relayout::Plan> moves;
  std::unique_ptr<Between> between;
  std::byte* b = nullptr;  ///< of the execution that is started
  bool started = false;
  mpi::Phases own;
};

PermutePlan::PermutePlan(const mpi::Communicator& comm, const ArrayPermutation& permutation,
                         int threads, Space place)
    : state_(std::make_unique<State>(comm, permutation, threads, place, nullptr)) {}
PermutePlan::PermutePlan(const mpi::DeviceExchange& exchange, const ArrayPermutation& permutation)
    : state_(std::make_unique<State>(exchange.comm(), permutation, 1, Space::device, &exchange)) {}
PermutePlan::PermutePlan(PermutePlan&&) noexcept = default;
PermutePlan& PermutePlan::operator=(PermutePlan&&) noexcept = default;
PermutePlan::~PermutePlan() = default;

void PermutePlan::start(const std::byte* a, std::byte* b) {
  State& s = *state_;
  require(!s.started, ExitCode::usage, "start: the plan is started already; call wait first");
  const auto require_array = [&](const std::byte* data, index_t elements, const char* name) {
    if (elements == 0) return;
    if (data == nullptr)
      throw Error::of_argument(name, fmt::format("is null: must have {} elements", elements));
    const char* const why = machine::out_of_reach(data, s.place == Space::device);
    if (why != nullptr) throw Error::of_argument(name, why);
  };
  require_array(a, s.a_elements, "a");
  require_array(b, s.b_elements, "b");
  s.b = b;
  s.started = true;
  if (s.stays) return s.permute(a);
  s.relay(a, s.is_direct ? b : s.between->data());
}

void PermutePlan::wait() {
  State& s = *state_;
  require(s.started, ExitCode::usage, "wait: the plan is not started; call start first");
  s.started = false;
  if (s.stays) return;
  s.moves->wait();
  if (!s.is_direct) s.permute(s.between->data());
}

index_t PermutePlan::a_elements() const { return state_->a_elements; }
index_t PermutePlan::b_elements() const { return state_->b_elements; }
index_t PermutePlan::sent_bytes() const { return state_->moves->sent_bytes(); }
index_t PermutePlan::buffer_bytes() const {
  return state_->moves->buffer_bytes() + state_->between->size();
}

mpi::Phases PermutePlan::phases() const {
  mpi::Phases all = state_->own;
  for (const auto& [name, seconds] : state_->moves->phases().seconds()) all.add(name, seconds);
  return all;
}

}  // namespace tessera::inline v1::dist::transpose
