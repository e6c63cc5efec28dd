// Halo exchanges of fields in the memory of a device: layers are packed there, travel through
// pinned memory of the host, and are unpacked there. Without a device, the host emulates one.

#include <cstring>

#include "dist/stencil/ghost_layers.hpp"
#include "dist/stencil/halo_messages.hpp"
#include "kernels/transpose/cuda.hpp"
#include "kernels/transpose/strided.hpp"
#include "machine/device.hpp"
#include "mpi/repeated.hpp"

namespace tessera::inline v1::dist::stencil {
namespace {

using machine::device::Allocation, machine::device::Home;

/// Points in device memory: the first one, and the bytes from one to the next.
struct Points {
  std::byte* first = nullptr;
  Index3 step;
};

class DeviceMoves : public HaloMoves::Impl {
 public:
  DeviceMoves(const mpi::Communicator& comm, const HaloShape& shape,
              const HaloMoves::Points& points, index_t fields)
      : Impl(comm, shape), bytes_(points.bytes), fields_(static_cast<std::size_t>(fields)) {
    if (box().empty()) return;
    const auto periodic = periodic_of(shape.sides);
    const int rank = comm.rank();
    ghosts_ = GhostLayers(shape, rank);
    sends_ = messages_of(layout::halo_sends(shape.grid, rank, shape.widths, periodic), fields);
    receives_ =
        messages_of(layout::halo_receives(shape.grid, rank, shape.widths, periodic), fields);
    outgoing_ = Staged(total(sends_) * bytes_);
    incoming_ = Staged(total(receives_) * bytes_);
    keep(points.beyond);
    std::vector<mpi::RepeatedMessages::Out> out;
    std::vector<mpi::RepeatedMessages::In> in;
    for (const HaloMessage& m : sends_) out.push_back({m.peer, piece(outgoing_, m)});
    for (const HaloMessage& m : receives_) in.push_back({m.peer, piece(incoming_, m)});
    messages_ = mpi::RepeatedMessages(comm, out, in);
  }

  [[nodiscard]] std::size_t fields() const override { return fields_.size(); }
  void bind(std::size_t field, const HaloMoves::Memory& memory) override {
    Index3 step;
    for (int d = 0; d < 3; ++d) step[d] = memory.stride[d] * bytes_;
    fields_[field] = {static_cast<std::byte*>(memory.data), step};
  }
  void start() override {
    messages_.start_receives();
    machine::device::synchronize();  // the caller has filled the boxes on any stream
    for (const HaloMessage& m : sends_)
      each_piece(outgoing_, m, [&](const Box3& part, const Points& field, const Points& packed) {
        move(part.size(), at(field, part.low), packed);
      });
    copy(outgoing_.there, outgoing_.here);
    stream_.wait();
    for (std::size_t m = 0; m < sends_.size(); ++m) messages_.start_send(m);
  }
  void wait() override {
    while (!messages_.arrived().empty()) {
    }
    messages_.finish();
    machine::device::synchronize();  // the caller may have changed the boxes
    copy(incoming_.here, incoming_.there);
    for (const HaloMessage& m : receives_)
      each_piece(incoming_, m, [&](const Box3& part, const Points& field, const Points& packed) {
        move(part.size(), packed, at(field, part.low));
      });
    if (!box().empty())
      for (const Points& field : fields_) fill(field);
    stream_.wait();
  }
  [[nodiscard]] index_t messages() const override { return static_cast<index_t>(sends_.size()); }
  [[nodiscard]] index_t buffer_bytes() const override {
    return 2 * (outgoing_.here.size() + incoming_.here.size());
  }

 private:
  /// Messages of one direction, on the host and on the device.
  struct Staged {
    Staged() = default;
    explicit Staged(index_t bytes) : here(bytes, Home::pinned), there(bytes, Home::device) {}
    Allocation here, there;
  };

  /// Copies the values beyond constant sides to the device.
  void keep(const HaloMoves::Values& beyond) {
    constexpr auto size = static_cast<index_t>(sizeof(beyond));
    beyond_ = Staged(size);
    std::memcpy(beyond_.here.data(), &beyond, sizeof(beyond));
    copy(beyond_.here, beyond_.there);
    stream_.wait();
  }
  [[nodiscard]] std::span<std::byte> piece(const Staged& all, const HaloMessage& m) const {
    return {all.here.data() + m.offset * bytes_, static_cast<std::size_t>(m.elements * bytes_)};
  }
  [[nodiscard]] static Points at(const Points& field, const Index3& p) {
    return {field.first + p[0] * field.step[0] + p[1] * field.step[1] + p[2] * field.step[2],
            field.step};
  }

  void copy(const Allocation& from, const Allocation& to) const {
    const index_t n = from.size();
    if (n > 0) machine::device::copy({from.data(), 1, n, n}, {to.data(), 1, n, n}, stream_);
  }
  void move(const Index3& size, const Points& from, const Points& to) const {
    tessera::transpose::Rearrangement task{.rank = 3, .axis = {}, .bytes = bytes_};
    for (int d = 0; d < 3; ++d) task.axis[d] = {size[d], from.step[d], to.step[d]};
    if (rearrange_ == nullptr) return move_strided(task, from.first, to.first, {.threads = 1});
    rearrange_(task, from.first, to.first, stream_);
  }
  /// Calls f(box, field, its packed points) for the boxes of all fields in a message.
  template <class F>
  void each_piece(const Staged& all, const HaloMessage& message, const F& f) const {
    std::byte* packed = all.there.data() + message.offset * bytes_;
    for (const Box3& part : message.boxes) {
      const Index3 n = part.size();
      for (const Points& field : fields_) {
        f(part, field, {packed, {{n[1] * n[2] * bytes_, n[2] * bytes_, bytes_}}});
        packed += part.volume() * bytes_;
      }
    }
  }
  void fill(const Points& field) const {
    const auto set = [&](const Box3& part, std::size_t d, std::size_t side) {
      const auto number = static_cast<index_t>(2 * d + side);
      constexpr auto size = static_cast<index_t>(sizeof(HaloMoves::Value));
      move(part.size(), {beyond_.there.data() + number * size, {{0, 0, 0}}}, at(field, part.low));
    };
    ghosts_.each_layer(set, [&](const Box3& layer, const Index3& from) {
      move(layer.size(), at(field, from), at(field, layer.low));
    });
  }

  index_t bytes_;
  std::vector<Points> fields_;  ///< of the last start()
  GhostLayers ghosts_;
  std::vector<HaloMessage> sends_, receives_;
  Staged outgoing_, incoming_, beyond_;
  mpi::RepeatedMessages messages_;
  machine::device::Stream stream_;
  tessera::transpose::DeviceRearrange rearrange_ = tessera::transpose::device_rearrange();
};

}  // namespace

std::unique_ptr<HaloMoves::Impl> device_moves(const mpi::Communicator& comm, const HaloShape& shape,
                                              const HaloMoves::Points& points, index_t fields) {
  return std::make_unique<DeviceMoves>(comm, shape, points, fields);
}

}  // namespace tessera::inline v1::dist::stencil
