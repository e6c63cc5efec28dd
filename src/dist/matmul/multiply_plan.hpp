#pragma once
// Products of the same shape in the same distributions, in the caller's memory: planned once,
// computed many times.

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "dist/matmul/multiply.hpp"
#include "dist/relayout/relayout.hpp"

namespace tessera::inline v1::dist::matmul {

/// A matrix of a planned product: where its elements are.
struct StoredMatrix {
  layout::Distribution distribution;
  relayout::StorageOrder order = relayout::StorageOrder::row_major;
};

/// c = alpha op(a) op(b) + beta c, as far as a plan depends on it.
struct ProductLayouts {
  StoredMatrix a;
  Op op_a = Op::none;
  StoredMatrix b;
  Op op_b = Op::none;
  StoredMatrix c;
  bool reads_c = true;  ///< whether beta may be other than 0, which takes memory for c
};

/// The factors and the memory of one execution on this rank: an array for each of a distribution's.
/// beta == 0 never reads c, alpha == 0 reads neither a nor b. c overlaps neither.
template <class T, class S = T>
struct ProductMemory {
  Factor<T> alpha = Factor<T>{1};
  std::span<const relayout::LocalArray<const S>> a, b;
  Factor<T> beta = Factor<T>{0};
  std::span<const relayout::LocalArray<T>> c;
};

/// A product that is planned once and executed many times. Executions allocate nothing beyond what
/// kernel and MPI keep from the first ones, and search no plan; they must be in the same order on
/// all ranks as those of other plans of the communicator. T is float, double, Complex of these, or
/// a half, under any name. Operands are of type S: T, or halves where T is float.
template <class T, class S = T>
class MultiplyPlan {
 public:
  /// Searches the recursive plan (as multiply()) and allocates workspace_bytes(). Of the method,
  /// kernel, tuning, threads, weights and flops_per_word are used. Throws Error(usage) on all
  /// ranks, naming the argument, if shapes, ranks or method do not match. Local.
  MultiplyPlan(const mpi::Communicator& comm, const ProductLayouts& layouts,
               const Method& method = {});
  MultiplyPlan(MultiplyPlan&&) noexcept;
  MultiplyPlan& operator=(MultiplyPlan&&) noexcept;
  MultiplyPlan(const MultiplyPlan&) = delete;
  MultiplyPlan& operator=(const MultiplyPlan&) = delete;
  ~MultiplyPlan();

  /// Multiplies, with the bits of multiply() (of c in columns: of the transposed product). Operands
  /// are read, and c is accumulated, where they are if a rank has all that it computes with as one
  /// block of an array; otherwise they travel in one message a pair of ranks. Throws Error(usage),
  /// naming the argument, on the rank whose memory does not fit; the other ranks then wait in vain.
  /// Collective.
  void execute(const ProductMemory<T, S>& memory);
  /// Multiplies matrices that have one array a rank.
  void execute(T alpha, relayout::LocalArray<const S> a, relayout::LocalArray<const S> b, T beta,
               relayout::LocalArray<T> c) {
    execute({alpha, std::span(&a, 1), std::span(&b, 1), beta, std::span(&c, 1)});
  }
  /// Throws as execute(), and computes nothing. Local.
  void check(const ProductMemory<T, S>& memory) const;

  /// Returns workspace_bytes() of the plan that these arguments make, without its memory. Throws as
  /// the constructor. Local.
  [[nodiscard]] static index_t workspace_bytes(const mpi::Communicator& comm,
                                               const ProductLayouts& layouts,
                                               const Method& method = {});
  /// Returns the bytes of the plan's buffers on this rank: operands and results that are not used
  /// where they are, and messages. A thread of the kernel cache_oblivious has
  /// tessera::matmul::working_memory() in addition, which it keeps.
  [[nodiscard]] index_t workspace_bytes() const;
  /// Returns the bytes that this rank sends, and receives, in an execution with beta == 0.
  [[nodiscard]] index_t sent_bytes() const;
  [[nodiscard]] index_t received_bytes() const;
  /// Returns the seconds of all executions so far: "exchange", "compute".
  [[nodiscard]] const mpi::Phases& phases() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Products of halves: a product in float whose c, in memory of the plan, is rounded once. All
/// ranks need that memory for c even if they have none of the sums.
template <class T>
requires is_stored_half<T>
class MultiplyPlan<T, T> {
 public:
  MultiplyPlan(const mpi::Communicator& comm, const ProductLayouts& layouts,
               const Method& method = {});

  void execute(const ProductMemory<T>& memory);
  void execute(float alpha, relayout::LocalArray<const T> a, relayout::LocalArray<const T> b,
               float beta, relayout::LocalArray<T> c) {
    execute({alpha, std::span(&a, 1), std::span(&b, 1), beta, std::span(&c, 1)});
  }
  void check(const ProductMemory<T>& memory) const;

  [[nodiscard]] static index_t workspace_bytes(const mpi::Communicator& comm,
                                               const ProductLayouts& layouts,
                                               const Method& method = {});
  [[nodiscard]] index_t workspace_bytes() const;
  [[nodiscard]] index_t sent_bytes() const { return plan_.sent_bytes(); }
  [[nodiscard]] index_t received_bytes() const { return plan_.received_bytes(); }
  [[nodiscard]] const mpi::Phases& phases() const { return plan_.phases(); }

 private:
  MultiplyPlan<float, T> plan_;
  int threads_;
  std::array<std::vector<layout::Box>, 3> needed_;  ///< of a, b and c on this rank, as stored
  std::vector<machine::Buffer<float>> sums_;        ///< the arrays of c, without gaps
  std::vector<relayout::LocalArray<float>> arrays_;
};

/// Products of numbers under others' names, as of Tessera's.
template <class T, class S>
requires is_foreign<S>
class MultiplyPlan<T, S> {
  template <class N>
  using Arrays = std::vector<relayout::LocalArray<N>>;

 public:
  MultiplyPlan(const mpi::Communicator& comm, const ProductLayouts& layouts,
               const Method& method = {})
      : plan_(comm, layouts, method) {}

  void execute(const ProductMemory<T, S>& memory) { plan_.execute(own_memory(memory)); }
  void execute(Factor<T> alpha, relayout::LocalArray<const S> a, relayout::LocalArray<const S> b,
               Factor<T> beta, relayout::LocalArray<T> c) {
    execute({alpha, std::span(&a, 1), std::span(&b, 1), beta, std::span(&c, 1)});
  }
  void check(const ProductMemory<T, S>& memory) const { plan_.check(own_memory(memory)); }

  [[nodiscard]] static index_t workspace_bytes(const mpi::Communicator& comm,
                                               const ProductLayouts& layouts,
                                               const Method& method = {}) {
    return MultiplyPlan<Own<T>, Own<S>>::workspace_bytes(comm, layouts, method);
  }
  [[nodiscard]] index_t workspace_bytes() const { return plan_.workspace_bytes(); }
  [[nodiscard]] index_t sent_bytes() const { return plan_.sent_bytes(); }
  [[nodiscard]] index_t received_bytes() const { return plan_.received_bytes(); }
  [[nodiscard]] const mpi::Phases& phases() const { return plan_.phases(); }

 private:
  /// Returns the same memory; its arrays are valid until the next call.
  [[nodiscard]] ProductMemory<Own<T>, Own<S>> own_memory(const ProductMemory<T, S>& memory) const {
    const auto convert = [](const auto& from, auto& to) {
      to.clear();
      using To = std::remove_pointer_t<decltype(to.data()->data)>;
      for (const auto& array : from) to.push_back({reinterpret_cast<To*>(array.data), array.ld});
    };
    convert(memory.a, a_);
    convert(memory.b, b_);
    convert(memory.c, c_);
    return {own(memory.alpha), a_, b_, own(memory.beta), c_};
  }

  MultiplyPlan<Own<T>, Own<S>> plan_;
  mutable Arrays<const Own<S>> a_, b_;
  mutable Arrays<Own<T>> c_;
};

}  // namespace tessera::inline v1::dist::matmul
