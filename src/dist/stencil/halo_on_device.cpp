// Halo exchanges of fields in the memory of a device: layers are packed there, travel through
// pinned memory of the host, and are unpacked there. Without a device, the host emulates one.

#include <type_traits>

#include "dist/stencil/ghost_layers.hpp"
#include "dist/stencil/halo_messages.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/strided.hpp"
#include "machine/device.hpp"
#include "mpi/packed_on_device.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

using machine::device::Allocation, machine::device::Home;

/// Points in device memory: the first one, and the bytes from one to the next.
template <class Byte>
struct Points {
  Byte* first = nullptr;
  Index3 step;
  operator Points<const std::byte>() const  // NOLINT: implicit
      requires(!std::is_const_v<Byte>) {
    return {first, step};
  }
};
using Field = Points<std::byte>;

class DeviceMoves : public HaloMoves::Impl {
 public:
  DeviceMoves(const mpi::Communicator& comm, const HaloShape& shape,
              const HaloMoves::Points& points, index_t fields)
      : Impl(comm, shape, Space::device),
        bytes_(points.bytes),
        fields_(static_cast<std::size_t>(fields)) {
    if (!box().empty()) {
      ghosts_ = GhostLayers(shape, comm.rank());
      schedule_ = HaloSchedule(shape, comm.rank());
    }
    messages_ =
        mpi::DevicePackedMessages::make(mpi::DeviceExchange(comm, mpi::DeviceTransport::staged),
                                        HaloSchedule::sizes(schedule_.out, fields * bytes_),
                                        HaloSchedule::sizes(schedule_.in, fields * bytes_));
    keep(points.beyond);
  }

  [[nodiscard]] std::size_t fields() const override { return fields_.size(); }
  void bind(std::size_t field, const HaloMoves::Memory& memory) override {
    Index3 step;
    for (int d = 0; d < 3; ++d) step[d] = memory.stride[d] * bytes_;
    fields_[field] = {static_cast<std::byte*>(memory.data), step};
  }
  void start() override {
    messages_->start_receives();
    machine::device::synchronize();  // the caller has filled the boxes on any stream
    for (std::size_t m = 0; m < schedule_.out.size(); ++m) {
      each_piece(schedule_.out[m], messages_->out(m),
                 [&](const Box3& part, const Field& field, const Field& packed) {
                   move(part.size(), at(field, part.low), packed);
                 });
      messages_->packed(m, stream_);
    }
    messages_->send();
  }
  void wait() override {
    for (auto complete = messages_->arrived(stream_); !complete.empty();
         complete = messages_->arrived(stream_)) {
      for (const std::size_t m : complete) {
        each_piece(
            schedule_.in[m], messages_->in(m),
            [&](const Box3& part, const Field& field, const Points<const std::byte>& packed) {
              move(part.size(), packed, at(field, part.low));
            });
      }
    }
    machine::device::synchronize();  // the caller may have changed the boxes
    if (!box().empty())
      for (const Field& field : fields_) fill(field);
    stream_.wait();
    messages_->finish();
  }
  [[nodiscard]] index_t messages() const override { return std::ssize(schedule_.out); }
  [[nodiscard]] index_t buffer_bytes() const override { return messages_->buffer_bytes(); }

 private:
  /// Copies the values beyond constant sides to the device.
  void keep(const HaloMoves::Values& beyond) {
    constexpr auto n = static_cast<index_t>(sizeof(beyond));
    beyond_ = Allocation(n, Home::device);
    machine::device::upload({reinterpret_cast<const std::byte*>(&beyond), 1, n, n},
                            {beyond_.data(), 1, n, n}, 1);
  }
  [[nodiscard]] static Field at(const Field& field, const Index3& p) {
    return {field.first + p[0] * field.step[0] + p[1] * field.step[1] + p[2] * field.step[2],
            field.step};
  }

  void move(const Index3& size, const Points<const std::byte>& from,
            const Points<std::byte>& to) const {
    tessera::transpose::Rearrangement task{.rank = 3, .axis = {}, .bytes = bytes_};
    for (int d = 0; d < 3; ++d) task.axis[d] = {size[d], from.step[d], to.step[d]};
    if (rearrange_ == nullptr) return move_strided(task, from.first, to.first, {.threads = 1});
    rearrange_(task, from.first, to.first, stream_);
  }
  /// Calls f(box, field, its packed points) for the boxes of all fields in a message.
  template <class Byte, class F>
  void each_piece(const HaloMessage& message, Byte* packed, const F& f) const {
    for (const Box3& part : message.boxes) {
      const Index3 n = part.size();
      for (const Field& field : fields_) {
        f(part, field, Points<Byte>{packed, {{n[1] * n[2] * bytes_, n[2] * bytes_, bytes_}}});
        packed += part.volume() * bytes_;
      }
    }
  }
  void fill(const Field& field) const {
    const auto set = [&](const Box3& part, std::size_t d, std::size_t side) {
      const auto number = static_cast<index_t>(2 * d + side);
      constexpr auto size = static_cast<index_t>(sizeof(HaloMoves::Value));
      move(part.size(), {beyond_.data() + number * size, {{0, 0, 0}}}, at(field, part.low));
    };
    ghosts_.each_layer(set, [&](const Box3& layer, const Index3& from) {
      move(layer.size(), at(field, from), at(field, layer.low));
    });
  }

  index_t bytes_;
  std::vector<Field> fields_;  ///< of the last start()
  GhostLayers ghosts_;
  HaloSchedule schedule_;
  Allocation beyond_;
  std::unique_ptr<mpi::DevicePackedMessages> messages_;
  machine::device::Stream stream_;
  tessera::transpose::DeviceRearrange rearrange_ = tessera::transpose::device_rearrange();
};

}  // namespace

std::unique_ptr<HaloMoves::Impl> device_moves(const mpi::Communicator& comm, const HaloShape& shape,
                                              const HaloMoves::Points& points, index_t fields) {
  return std::make_unique<DeviceMoves>(comm, shape, points, fields);
}

}  // namespace tessera::inline v1::dist::stencil
