#pragma once
// Checks of the arguments that functions of the C API share.

#include <cstddef>
#include <string_view>

#include "base/bfloat16.hpp"
#include "base/element.hpp"
#include "base/view.hpp"
#include "c/status.hpp"
#include "kernels/matmul/gemm.hpp"
#include "kernels/sort/key.hpp"

namespace tessera::inline v1::c {

/// Whether the rows of matrices, or their columns, are contiguous.
enum class Storage { rows, columns };
[[nodiscard]] Storage storage_of(int order, const char* argument = "order");
[[nodiscard]] matmul::Op op_of(int op, const char* argument);
[[nodiscard]] sort::Order direction_of(int direction);

/// Returns the name of a type, or its number.
[[nodiscard]] std::string type_text(int type);

/// Calls f(Type<T>{}) for f32, f64, c64 and c128; throws Error(usage) naming `type` for others.
template <class F>
decltype(auto) dispatch_number(int type, F&& f, const char* others = "") {
  expect(type == TESSERA_F32 || type == TESSERA_F64 || type == TESSERA_C64 || type == TESSERA_C128,
         "type", "is {}: must be TESSERA_F32, F64{}, C64 or C128", type_text(type), others);
  return dispatch_field(type == TESSERA_F32   ? Element::f32
                        : type == TESSERA_F64 ? Element::f64
                        : type == TESSERA_C64 ? Element::c64
                                              : Element::c128,
                        std::forward<F>(f));
}

/// As above, also for f16 and bf16.
template <class F>
decltype(auto) dispatch_factor(int type, F&& f) {
  if (type == TESSERA_F16) return f(Type<Half>{});
  if (type == TESSERA_BF16) return f(Type<BFloat16>{});
  return dispatch_number(type, std::forward<F>(f), ", F16, BF16");
}

/// Calls f(Type<T>{}) for the types of fields: f32, f64, f16 and bf16; throws Error(usage) naming
/// `type` for others.
template <class F>
decltype(auto) dispatch_point(int type, F&& f) {
  if (type == TESSERA_F16) return f(Type<Half>{});
  if (type == TESSERA_BF16) return f(Type<BFloat16>{});
  expect(type == TESSERA_F32 || type == TESSERA_F64, "type",
         "is {}: must be TESSERA_F32, F64, F16 or BF16", type);
  return dispatch_floating(type == TESSERA_F32 ? Element::f32 : Element::f64, std::forward<F>(f));
}

/// Returns the element of keys of 32 or 64 bits; throws Error(usage) naming `argument` for types
/// that are no keys.
[[nodiscard]] Element key_element(int type, const char* argument);
/// Calls f(Type<T>{}) for a type of keys; throws Error(usage) naming `argument` for others.
template <class F>
decltype(auto) dispatch_key(int type, const char* argument, F&& f) {
  switch (type) {
    case TESSERA_I8:
      return f(Type<std::int8_t>{});
    case TESSERA_I16:
      return f(Type<std::int16_t>{});
    case TESSERA_U8:
      return f(Type<std::uint8_t>{});
    case TESSERA_U16:
      return f(Type<std::uint16_t>{});
    case TESSERA_F16:
      return f(Type<Half>{});
    default:
      return dispatch_element(key_element(type, argument), std::forward<F>(f));
  }
}
/// Throws Error(usage) naming `argument` unless it is a type of keys.
void expect_key(int type, const char* argument);

/// Returns the name of a type of numbers in files, "i16"; throws Error(usage) naming `type` for
/// others.
[[nodiscard]] std::string_view type_name(int type);
/// Returns the bytes of an element of any type; throws Error(usage) naming `type`.
[[nodiscard]] index_t bytes_of(int type);

/// A matrix of the caller: rows x cols elements, as its storage has them.
struct Shape {
  index_t rows = 0, cols = 0;
  Storage storage = Storage::rows;

  /// Returns the extents of the same memory in rows.
  [[nodiscard]] index_t outer() const { return storage == Storage::rows ? rows : cols; }
  [[nodiscard]] index_t inner() const { return storage == Storage::rows ? cols : rows; }
};

/// Throws Error(usage) naming `argument` if it is negative.
void expect_extent(index_t extent, const char* argument);
/// Throws Error(usage) naming `argument` if data is null though there are elements.
void expect_memory(const void* data, index_t elements, const char* argument);
/// Throws Error(usage) unless ld (named "ld" + name) reaches from one row to the next, and data
/// (named `name`) is memory that can be addressed.
void expect_matrix(const char* name, const void* data, index_t ld, const Shape& shape,
                   index_t bytes);

/// The memory of a matrix.
struct Extent {
  const void* data;
  index_t bytes;
  [[nodiscard]] bool overlaps(const Extent& other) const;
};
[[nodiscard]] Extent extent_of(const void* data, index_t ld, const Shape& shape, index_t bytes);
/// Throws Error(usage) naming `result` if it overlaps the argument.
void refuse_overlap(const char* result, const Extent& written, const char* argument,
                    const Extent& read);

/// Returns the view of the memory in rows: of the transposed matrix if columns are contiguous.
template <class T>
[[nodiscard]] MatrixView<const T> view_of(const void* data, index_t ld, const Shape& shape) {
  return {static_cast<const T*>(data), shape.outer(), shape.inner(), ld};
}
template <class T>
[[nodiscard]] MatrixView<T> view_of(void* data, index_t ld, const Shape& shape) {
  return {static_cast<T*>(data), shape.outer(), shape.inner(), ld};
}

/// The factors of products in a call, of type Factor<T> for elements T; null: 1 and 0.
struct Factors {
  const void *alpha, *beta;
};

/// Returns the factor at `value`, or `otherwise` for nullptr.
template <class T>
[[nodiscard]] T factor_of(const void* value, double otherwise) {
  if (value == nullptr) return T(static_cast<Real<T>>(otherwise));
  T factor;
  std::memcpy(&factor, value, sizeof(T));
  return factor;
}

}  // namespace tessera::inline v1::c
