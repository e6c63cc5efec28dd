// The product on devices: stationary rows of C, panels of B with double buffering.

#include "dist/matmul/on_devices.hpp"

#include <algorithm>

#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::dist::matmul {
namespace {

namespace device = machine::device;
using layout::BlockMap;
using layout::Range;
using machine::device_ld;
using tessera::matmul::DeviceKernel;

template <class T>
constexpr auto size_of = static_cast<index_t>(sizeof(T));

index_t most_rows(const BlockMap& rows) {
  index_t most = 0;
  for (index_t part = 0; part < rows.parts(); ++part) most = std::max(most, rows.size(part));
  return most;
}

/// Returns the number of columns of the stored operand.
template <class T>
index_t cols_of_a(const typename DeviceProduct<T>::Formula& p) {
  return p.op_a == Op::none ? p.k : p.m;
}
template <class T>
index_t cols_of_b(const typename DeviceProduct<T>::Formula& p) {
  return p.op_b == Op::none ? p.n : p.k;
}

template <class T>
index_t bytes_of(index_t rows, index_t cols) {
  return checked_mul(rows, device_ld(cols, size_of<T>) * size_of<T>, "size of a device matrix");
}

template <class T>
MatrixView<T> matrix_at(std::byte* data, index_t rows, index_t cols) {
  return {reinterpret_cast<T*>(data), rows, cols, device_ld(cols, size_of<T>)};
}

/// Returns the rows of a panel: whole tiles of the kernels if it is long enough.
index_t rows_of_panel(index_t bytes, index_t row_bytes) {
  constexpr index_t tile = 256;
  const index_t rows = std::max<index_t>(1, bytes / std::max<index_t>(1, row_bytes));
  return rows > tile ? rows / tile * tile : rows;
}

template <class T>
DeviceKernel<T> kernel_of(const Method& method) {
  const auto* const row = method.kernel != nullptr ? method.kernel : tessera::matmul::best_device();
  DeviceKernel<T> kernel = nullptr;
  if (row != nullptr) {
    if constexpr (std::is_same_v<T, float>)
      kernel = row->on_device.f32;
    else
      kernel = row->on_device.f64;
  }
  require(
      kernel != nullptr, ExitCode::usage,
      "product in device memory needs a device kernel; use a cuda_ kernel in a build with CUDA");
  return kernel;
}

}  // namespace

Range device_panel(const BlockMap& rows_of_b, index_t owner, index_t number, index_t most) {
  const Range block = rows_of_b.range(owner);
  const index_t begin = std::min(block.begin + number * most, block.end);
  return {begin, std::min(begin + most, block.end)};
}

std::vector<DevicePanel> device_panels(const BlockMap& rows_of_b, index_t rank, index_t most) {
  std::vector<DevicePanel> panels{{rank, rows_of_b.range(rank)}};
  const index_t ranks = rows_of_b.parts(), each = ceil_div(most_rows(rows_of_b), most);
  for (index_t distance = 1; distance < ranks; ++distance) {
    const index_t owner = (rank + distance) % ranks;
    for (index_t number = 0; number < each; ++number)
      panels.push_back({owner, device_panel(rows_of_b, owner, number, most)});
  }
  return panels;
}

template <class T>
index_t DeviceProduct<T>::device_bytes(const Formula& p, index_t rank, index_t ranks) {
  constexpr index_t messages = index_t{512} << 20;  // in flight
  const BlockMap m(p.m, ranks);
  const index_t a_rows = BlockMap(p.op_a == Op::none ? p.m : p.k, ranks).size(rank);
  const BlockMap b_rows(p.op_b == Op::none ? p.k : p.n, ranks);
  const index_t row = device_ld(cols_of_b<T>(p), size_of<T>) * size_of<T>;
  const index_t panel = ranks == 1 ? 0 : std::min(usual_panel, most_rows(b_rows) * row);
  const index_t gathered = p.op_a == Op::none ? 0 : bytes_of<T>(p.k, m.size(rank));
  return bytes_of<T>(a_rows, cols_of_a<T>(p)) + b_rows.size(rank) * row +
         bytes_of<T>(m.size(rank), p.n) + 2 * panel + gathered + messages;
}

template <class T>
DeviceProduct<T>::DeviceProduct(const mpi::DeviceExchange& exchange, const Formula& formula,
                                const Method& method, index_t panel_bytes)
    : exchange_(exchange),
      formula_(formula),
      kernel_(kernel_of<T>(method)),
      tuning_(method.tuning),
      threads_(method.threads),
      m_(formula.m, exchange.comm().size()),
      a_rows_(formula.op_a == Op::none ? formula.m : formula.k, exchange.comm().size()),
      b_rows_(formula.op_b == Op::none ? formula.k : formula.n, exchange.comm().size()),
      rank_(exchange.comm().rank()),
      panel_rows_(rows_of_panel(panel_bytes > 0 ? panel_bytes : usual_panel,
                                device_ld(cols_of_b<T>(formula), size_of<T>) * size_of<T>)),
      panels_(device_panels(b_rows_, rank_, panel_rows_)),
      a_(exchange, bytes_of<T>(a_rows_.size(rank_), cols_of_a<T>(formula))),
      b_(exchange, bytes_of<T>(b_rows_.size(rank_), cols_of_b<T>(formula))) {
  mpi::together(exchange.comm(), "allocate", [&] {
    c_ = device::Allocation(bytes_of<T>(m_.size(rank_), formula.n), device::Home::device);
    if (formula.op_a == Op::transpose)
      gathered_a_ =
          device::Allocation(bytes_of<T>(formula.k, m_.size(rank_)), device::Home::device);
    if (m_.parts() == 1) return;
    for (PanelBuffer& place : places_)
      place.memory = device::Allocation(
          bytes_of<T>(std::min(panel_rows_, most_rows(b_rows_)), cols_of_b<T>(formula)),
          device::Home::device);
  });
}

template <class T>
MatrixView<T> DeviceProduct<T>::a_of(index_t rank) const {
  return matrix_at<T>(a_.of(static_cast<int>(rank)), a_rows_.size(rank), cols_of_a<T>(formula_));
}
template <class T>
MatrixView<T> DeviceProduct<T>::b_of(index_t rank) const {
  return matrix_at<T>(b_.of(static_cast<int>(rank)), b_rows_.size(rank), cols_of_b<T>(formula_));
}
template <class T>
MatrixView<T> DeviceProduct<T>::c() const {
  return matrix_at<T>(c_.data(), m_.size(rank_), formula_.n);
}
template <class T>
MatrixView<T> DeviceProduct<T>::panel_in(const PanelBuffer& place, index_t rows) const {
  return matrix_at<T>(place.memory.data(), rows, cols_of_b<T>(formula_));
}

template <class T>
void DeviceProduct<T>::put_a(const MatrixView<const T>& a) {
  device::upload(in_bytes(a), in_bytes(a_of(rank_)), threads_);
}
template <class T>
void DeviceProduct<T>::put_b(const MatrixView<const T>& b) {
  device::upload(in_bytes(b), in_bytes(b_of(rank_)), threads_);
}
template <class T>
void DeviceProduct<T>::put_c(const MatrixView<const T>& from) {
  device::upload(in_bytes(from), in_bytes(c()), threads_);
}
template <class T>
void DeviceProduct<T>::get_c(const MatrixView<T>& to) {
  device::download(in_bytes(c()), in_bytes(to), threads_);
}

template <class T>
MatrixView<const T> DeviceProduct<T>::a_slice(const Range& k) const {
  if (formula_.op_a == Op::none) return a_of(rank_).cols_range(k.begin, k.size());
  return matrix_at<const T>(gathered_a_.data(), formula_.k, m_.size(rank_))
      .rows_range(k.begin, k.size());
}

/// Gathers, for a transposed A, this rank's columns of all blocks.
template <class T>
void DeviceProduct<T>::gather_a() {
  const auto gathered = [&](index_t owner) {
    return in_bytes(matrix_at<T>(gathered_a_.data(), formula_.k, m_.size(rank_))
                        .rows_range(a_rows_.begin(owner), a_rows_.size(owner)));
  };
  const auto columns = [&](index_t owner, index_t of) {
    return in_bytes(a_of(owner).cols_range(m_.begin(of), m_.size(of)));
  };
  std::vector<mpi::DeviceOut> out;
  std::vector<mpi::DeviceIn> in;
  for (index_t distance = 0; distance < m_.parts(); ++distance) {
    const index_t owner = (rank_ + distance) % m_.parts();
    if (owner == rank_ || exchange_.reaches()) {
      device::copy(columns(owner, rank_), gathered(owner), fetching_);
      continue;
    }
    out.push_back({static_cast<int>(owner), columns(rank_, owner)});
    in.push_back({static_cast<int>(owner), gathered(owner)});
  }
  exchange_.exchange(out, in);
  fetching_.wait();
}

template <class T>
void DeviceProduct<T>::fetch(const DevicePanel& panel, PanelBuffer& place) {
  const index_t first = panel.rows.begin - b_rows_.begin(panel.owner);
  place.used.before_next(fetching_);
  if (!panel.rows.empty()) {
    device::copy(in_bytes(b_of(panel.owner).rows_range(first, panel.rows.size())),
                 in_bytes(panel_in(place, panel.rows.size())), fetching_);
  }
  place.arrived.record(fetching_);
}

/// Exchanges panels as messages: this rank's panel of the same number is sent the same distance in
/// the opposite direction.
template <class T>
void DeviceProduct<T>::exchange_panel(std::size_t number, PanelBuffer& place) {
  const index_t ranks = m_.parts();
  const index_t each = (static_cast<index_t>(panels_.size()) - 1) / (ranks - 1);
  const index_t distance = (static_cast<index_t>(number) - 1) / each + 1;
  const DevicePanel& panel = panels_[number];
  const Range mine =
      device_panel(b_rows_, rank_, (static_cast<index_t>(number) - 1) % each, panel_rows_);
  const mpi::DeviceOut out{
      static_cast<int>((rank_ + ranks - distance) % ranks),
      in_bytes(b_of(rank_).rows_range(mine.begin - b_rows_.begin(rank_), mine.size()))};
  const mpi::DeviceIn in{static_cast<int>(panel.owner),
                         in_bytes(panel_in(place, panel.rows.size()))};
  place.used.wait();
  exchange_.exchange({&out, 1}, {&in, 1});
}

template <class T>
void DeviceProduct<T>::multiply(const Range& rows, const MatrixView<const T>& b, T beta) {
  const bool along_k = formula_.op_b == Op::none;
  const MatrixView<T> to = along_k ? c() : c().cols_range(rows.begin, rows.size());
  if (to.empty()) return;
  kernel_({formula_.alpha, a_slice(along_k ? rows : Range{0, formula_.k}), formula_.op_a, b,
           formula_.op_b, beta, to},
          tuning_, computing_);
}

/// Computes c = beta * c; neither operand may be read.
template <class T>
void DeviceProduct<T>::scale_only() {
  if (c().empty()) return;
  kernel_({T{1},
           {nullptr, c().rows, 0, 0},
           Op::none,
           {nullptr, 0, c().cols, c().cols},
           Op::none,
           formula_.beta,
           c()},
          tuning_, computing_);
}

template <class T>
void DeviceProduct<T>::all_panels(mpi::Phases& phases) {
  const bool reaches = exchange_.reaches();
  std::size_t asked = 1;
  const auto ask = [&] {
    if (!reaches || asked == panels_.size()) return;
    fetch(panels_[asked], places_[asked % 2]);
    ++asked;
  };
  ask();
  ask();
  T beta = formula_.beta;
  for (std::size_t number = 0; number < panels_.size(); ++number) {
    const DevicePanel& panel = panels_[number];
    PanelBuffer& place = places_[number % 2];
    if (number > 0 && reaches) place.arrived.before_next(computing_);
    if (number > 0 && !reaches) {
      const mpi::PhaseScope scope(phases, "exchange");
      exchange_panel(number, place);
    }
    if (!panel.rows.empty()) {
      multiply(panel.rows, number == 0 ? b_of(rank_) : panel_in(place, panel.rows.size()), beta);
      if (formula_.op_b == Op::none) beta = T{1};  // further panels add to these sums
    }
    if (number == 0) continue;
    place.used.record(computing_);
    ask();
  }
}

template <class T>
void DeviceProduct<T>::run(mpi::Phases& phases) {
  const bool reads = formula_.alpha != T{0} && formula_.k > 0;
  {
    const mpi::PhaseScope scope(phases, "exchange");
    exchange_.comm().barrier();  // all blocks are complete
    if (reads && formula_.op_a == Op::transpose) gather_a();
  }
  if (reads)
    all_panels(phases);
  else
    scale_only();
  {
    const mpi::PhaseScope scope(phases, "compute");
    const mpi::Computing computing;
    computing_.wait();
  }
  const mpi::PhaseScope scope(phases, "exchange");
  exchange_.comm().barrier();  // all ranks have read them
}

template class DeviceProduct<float>;
template class DeviceProduct<double>;

}  // namespace tessera::inline v1::dist::matmul
