#pragma once
// The product of matrices in the memory of the ranks' devices: rows of C are stationary, and panels
// of B are fetched from their owners in cyclic order with double buffering, each during the product
// of the previous one. Every rank receives the other ranks' rows of B once.

#include "dist/matmul/multiply.hpp"
#include "mpi/device_exchange.hpp"

namespace tessera::inline v1::dist::matmul {

/// Rows of the stored B that a rank multiplies with at once: its own block, or a panel of another
/// rank's, perhaps empty.
struct DevicePanel {
  index_t owner = 0;
  layout::Range rows;  ///< of the stored B: a range of k, or of n if op_b transposes
  friend bool operator==(const DevicePanel&, const DevicePanel&) = default;
};

/// Returns panel `number` of an owner's block; all but the last have `most` rows.
[[nodiscard]] layout::Range device_panel(const layout::BlockMap& rows_of_b, index_t owner,
                                         index_t number, index_t most);
/// Returns a rank's panels in order: its own block, then the blocks of the ranks after it in
/// equally many panels each. At every position of the order the ranks read from different owners.
[[nodiscard]] std::vector<DevicePanel> device_panels(const layout::BlockMap& rows_of_b,
                                                     index_t rank, index_t most);

/// c = alpha * op(a) op(b) + beta * c; a, b (as stored) and c in row blocks. Sums follow the order
/// of panels, so the bits differ from those of the other algorithms.
template <class T>
class DeviceProduct {
 public:
  struct Formula {
    index_t m = 0, n = 0, k = 0;
    Op op_a = Op::none, op_b = Op::none;
    T alpha = T{1}, beta = T{0};
  };
  /// Bytes of a panel of B; larger panels read and write C less often.
  static constexpr index_t usual_panel = index_t{2} << 30;

  /// Allocates uninitialised memory. The kernel is the method's, or the best one for devices;
  /// panel_bytes 0: usual_panel. Collective.
  DeviceProduct(const mpi::DeviceExchange& exchange, const Formula& formula, const Method& method,
                index_t panel_bytes = 0);

  // Copies this rank's blocks from and to host memory. Precondition of the puts: no rank runs
  // concurrently.
  void put_a(const MatrixView<const T>& a);
  void put_b(const MatrixView<const T>& b);
  void put_c(const MatrixView<const T>& c);
  void get_c(const MatrixView<T>& c);

  /// Multiplies. Adds to the phases "exchange" and "compute". Collective.
  void run(mpi::Phases& phases);

  /// Returns the maximal bytes of device memory that a rank uses with any transport.
  [[nodiscard]] static index_t device_bytes(const Formula& formula, index_t rank, index_t ranks);

 private:
  struct PanelBuffer {
    machine::device::Allocation memory;
    machine::device::Event arrived, used;
  };

  [[nodiscard]] MatrixView<T> a_of(index_t rank) const;  ///< as stored, as b_of
  [[nodiscard]] MatrixView<T> b_of(index_t rank) const;
  [[nodiscard]] MatrixView<T> c() const;
  [[nodiscard]] MatrixView<T> panel_in(const PanelBuffer& place, index_t rows) const;
  [[nodiscard]] MatrixView<const T> a_slice(const layout::Range& k) const;
  void gather_a();
  void fetch(const DevicePanel& panel, PanelBuffer& place);
  void exchange_panel(std::size_t number, PanelBuffer& place);
  /// Adds the contribution of those rows of B; beta scales the existing C.
  void multiply(const layout::Range& rows, const MatrixView<const T>& b, T beta);
  void scale_only();
  void all_panels(mpi::Phases& phases);

  mpi::DeviceExchange exchange_;
  Formula formula_;
  tessera::matmul::DeviceKernel<T> kernel_;
  tessera::matmul::Tuning tuning_;
  int threads_ = 1;
  layout::BlockMap m_, a_rows_, b_rows_;  ///< rows of C, of the stored A and B, by rank
  index_t rank_ = 0, panel_rows_ = 0;
  std::vector<DevicePanel> panels_;
  mpi::PeerMemory a_, b_;
  machine::device::Allocation c_,
      gathered_a_;  ///< for a transposed A: the columns that are this rank's rows
  PanelBuffer places_[2];
  machine::device::Stream computing_, fetching_;
};

}  // namespace tessera::inline v1::dist::matmul
