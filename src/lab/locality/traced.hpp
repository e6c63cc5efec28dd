#pragma once
// Element type that reports its loads and stores, for which the kernels are instantiated a second
// time. It contains its number, so a traced run computes the same result.

#include <functional>
#include <type_traits>

#include "lab/locality/tracer.hpp"

namespace tessera::inline v1::locality {

template <class T>
class Traced {
 public:
  Traced() = default;
  Traced(T value) : value_(value) {}                     // NOLINT: implicit, like arithmetic types
  Traced(const Traced& other) : value_(other.load()) {}  // into a local: a register
  Traced& operator=(const Traced& other) {
    store(other.load());
    return *this;
  }
  Traced& operator=(T value) {
    store(value);
    return *this;
  }
  /// Implicit for integers, which index arrays.
  explicit(std::is_floating_point_v<T>) operator T() const { return load(); }

  [[nodiscard]] T load() const {
    report(Access::Kind::load, this, sizeof(T));
    return value_;
  }
  void store(T value) {
    report(Access::Kind::store, this, sizeof(T));
    value_ = value;
  }
  /// Returns the number without reporting: to fill and check arrays, and for vectors, which report
  /// themselves.
  [[nodiscard]] const T& raw() const { return value_; }
  [[nodiscard]] T& raw() { return value_; }

  Traced& operator+=(const Traced& other) {
    return *this = static_cast<T>(calculate(*this, other, std::plus<>{}));
  }
  Traced& operator-=(const Traced& other) {
    return *this = static_cast<T>(calculate(*this, other, std::minus<>{}));
  }
  Traced& operator*=(const Traced& other) {
    return *this = static_cast<T>(calculate(*this, other, std::multiplies<>{}));
  }
  Traced& operator++() {
    ++recorder.arithmetic;
    return *this = static_cast<T>(load() + T{1});
  }
  T operator++(int) {
    ++recorder.arithmetic;
    const T before = load();
    store(static_cast<T>(before + T{1}));
    return before;
  }

  // Sums and products of floating-point elements are elements, as the kernel templates expect;
  // those of integers are plain numbers.
  friend Traced operator+(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    return calculate(a, b, std::plus<>{});
  }
  friend Traced operator-(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    return calculate(a, b, std::minus<>{});
  }
  friend Traced operator*(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    return calculate(a, b, std::multiplies<>{});
  }
  friend Traced operator/(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    return calculate(a, b, std::divides<>{});
  }
  friend bool operator==(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    const T first = a.load();
    return first == b.load();
  }
  friend bool operator<(const Traced& a, const Traced& b) requires std::is_floating_point_v<T> {
    const T first = a.load();
    return first < b.load();
  }

 private:
  /// Counts an operation and loads a before b: operands in one expression have no order.
  template <class Operation>
  static auto calculate(const Traced& a, const Traced& b, Operation operation) {
    ++recorder.arithmetic;
    const T first = a.load();
    return operation(first, b.load());
  }

  T value_;
};

}  // namespace tessera::inline v1::locality

namespace tessera::inline v1 {

template <class T>
inline constexpr bool is_traced<locality::Traced<T>> = true;
template <class T, class U>
struct LikeOf<locality::Traced<T>, U> {
  using type = locality::Traced<U>;
};
template <class T>
struct PlainOf<locality::Traced<T>> {
  using type = T;
};

template <class T>
struct Subproblem<locality::Traced<T>> {
  Subproblem() {
    if (locality::recorder.bytes != 0) locality::record({locality::Access::Kind::enter, 0, 0});
  }
  ~Subproblem() {
    if (locality::recorder.bytes != 0) locality::record({locality::Access::Kind::leave, 0, 0});
  }
  Subproblem(const Subproblem&) = delete;
  Subproblem& operator=(const Subproblem&) = delete;
};

namespace machine {
template <class T>
struct Storage<locality::Traced<T>> {
  static void* allocate(index_t bytes) { return locality::Tracer::allocate_workspace(bytes); }
  static void release(void* data) noexcept { locality::Tracer::release_workspace(data); }
};
}  // namespace machine

}  // namespace tessera::inline v1
