#pragma once
// Relayout: B = alpha op(A) + beta B between any two distributions, in the caller's memory. Does
// what pdgemr2d, pdtran and COSTA (Kabic et al. 2021) do: one message a pair of ranks, for several
// matrices at once.

#include <complex>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/matmul/gemm.hpp"
#include "kernels/relayout/move_blocks.hpp"
#include "kernels/variant.hpp"
#include "layout/distribution.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"
#include "mpi/phases.hpp"

namespace tessera::inline v1::mpi {
class DeviceExchange;
}

namespace tessera::inline v1::dist::relayout {

using tessera::matmul::Op;

/// Which indices of a local array are next to each other: those of a row, or of a column.
enum class StorageOrder { row_major, column_major };

/// One matrix: b = op(a), distributed as a and b. The distribution of a has every element once
/// (replicas aside); b may be replicated.
struct Relayout {
  layout::Distribution a;
  Op op = Op::none;
  layout::Distribution b;
  StorageOrder a_order = StorageOrder::row_major;
  StorageOrder b_order = StorageOrder::row_major;
};

/// A local array of this rank: the elements from one row (or column) to the next are ld.
template <class T>
struct LocalArray {
  T* data = nullptr;
  index_t ld = 0;
};

/// float, double and complex numbers of them: relayouts scale and conjugate these.
template <class T>
concept Scalable = std::is_same_v<T, float> || std::is_same_v<T, double> || mpi::is_any_complex<T>;
/// Other types of at most 64 bytes are only moved.
template <class T>
concept Movable = std::is_trivially_copyable_v<T> && sizeof(T) <= 64;

/// The memory of one matrix on this rank: an array for each of the distribution's. beta == 0 never
/// reads b, alpha == 0 never reads a.
template <Movable T>
struct Memory {
  using Factor = std::conditional_t<Scalable<T>, T, double>;
  std::span<const LocalArray<const T>> a;
  std::span<const LocalArray<T>> b;
  Factor alpha{1};
  Factor beta{0};  ///< of a type that is only moved: alpha must be 1, beta 0
};

/// A relayout that is planned once and executed many times. Executions allocate nothing; they must
/// be in the same order on all ranks as those of other plans of the communicator.
class Plan {
 public:
  /// Plans the relayout of matrices with elements of `bytes` bytes (1 to 64), and allocates
  /// buffer_bytes(). Throws Error(usage) on all ranks, naming the argument, if shapes or ranks do
  /// not match. Local, but with Space::device: then all arrays are in the memory of the device that
  /// is current in all calls, messages travel by the best transport between the ranks' devices,
  /// start() acts after all earlier work of the device, and the destructor is collective, too.
  Plan(const mpi::Communicator& comm, std::span<const Relayout> matrices, index_t bytes,
       int threads = machine::default_threads(), Space place = Space::host);
  /// As with Space::device, by a transport that is chosen already. Collective.
  Plan(const mpi::DeviceExchange& exchange, std::span<const Relayout> matrices, index_t bytes);
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  /// Executes: memory[k] is that of matrix k. a and b must not overlap. Throws Error(usage), naming
  /// the argument, on the rank whose memory does not fit; the other ranks then wait in vain.
  /// Collective.
  template <Movable T>
  void execute(std::span<const Memory<T>> memory) {
    start(memory);
    wait();
  }
  /// Starts an execution, for work of the caller until wait(): packs a, starts the messages and
  /// moves what stays on this rank. Afterwards a may be written; b belongs to the plan. Throws as
  /// execute(), and if the plan is started already. Collective.
  template <Movable T>
  void start(std::span<const Memory<T>> memory) {
    check(memory);
    start_messages();
  }
  /// Waits for the messages and completes b. Throws Error(usage) without start(). Collective.
  void wait();
  /// Throws as execute(), and exchanges nothing. Local.
  template <Movable T>
  void check(std::span<const Memory<T>> memory) {
    begin(memory.size(), static_cast<index_t>(sizeof(T)));
    for (const Memory<T>& each : memory) {
      for (const LocalArray<const T>& a : each.a)
        add_source({reinterpret_cast<const std::byte*>(a.data), a.ld});
      for (const LocalArray<T>& b : each.b)
        add_target({reinterpret_cast<std::byte*>(b.data), b.ld});
      finish_matrix(factors_of(each), number_of<T>());
    }
  }

  /// Returns the bytes that this rank sends, and receives, as messages.
  [[nodiscard]] index_t sent_bytes() const;
  [[nodiscard]] index_t received_bytes() const;
  [[nodiscard]] index_t messages() const;  ///< sent by this rank
  /// Returns the bytes of the plan's buffers on this rank: of the messages, sent and received; with
  /// Space::device those of the device and of the host.
  [[nodiscard]] index_t buffer_bytes() const;
  /// Returns the seconds of all executions so far: "pack", "local", "exchange", "unpack".
  [[nodiscard]] const mpi::Phases& phases() const;

 private:
  template <Movable T>
  static std::optional<Element> number_of() {
    if constexpr (!Scalable<T>) return std::nullopt;
    if constexpr (mpi::is_any_complex<T>) return sizeof(T) == 8 ? Element::c64 : Element::c128;
    return sizeof(T) == 4 ? Element::f32 : Element::f64;
  }
  template <Movable T>
  static tessera::relayout::Factors factors_of(const Memory<T>& memory) {
    return {wide(memory.alpha), wide(memory.beta), mpi::is_any_complex<T>};
  }
  template <class F>
  static Complex<double> wide(const Complex<F>& x) {
    return {x.re, x.im};
  }
  template <class F>
  static Complex<double> wide(const std::complex<F>& x) {
    return {x.real(), x.imag()};
  }
  static Complex<double> wide(double x) { return {x}; }

  void begin(std::size_t matrices, index_t bytes);
  void add_source(tessera::relayout::Array<const std::byte> array);
  void add_target(tessera::relayout::Array<std::byte> array);
  void finish_matrix(tessera::relayout::Factors factors, std::optional<Element> number);
  void start_messages();

  struct State;
  std::unique_ptr<State> state_;
};

/// Relays out several matrices at once. Throws Error(usage) on all ranks, naming the argument, if
/// anything does not fit, and Error(memory). Collective.
template <Movable T>
void relayout(const mpi::Communicator& comm, std::span<const Relayout> matrices,
              std::span<const Memory<T>> memory, int threads = machine::default_threads()) {
  std::optional<Plan> plan;
  mpi::together(comm, "relayout", [&] {
    plan.emplace(comm, matrices, static_cast<index_t>(sizeof(T)), threads);
    plan->check(memory);
  });
  plan->execute(memory);
}
template <Movable T>
void relayout(const mpi::Communicator& comm, const Relayout& matrix, const Memory<T>& memory,
              int threads = machine::default_threads()) {
  relayout<T>(comm, std::span(&matrix, 1), std::span(&memory, 1), threads);
}

}  // namespace tessera::inline v1::dist::relayout
