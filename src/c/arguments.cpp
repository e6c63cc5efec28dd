// Checks of arguments.

#include "c/arguments.hpp"

#include <algorithm>
#include <limits>

#include "kernels/transpose/records.hpp"

namespace tessera::inline v1::c {
namespace {

struct NumberType {
  int type;
  std::string_view name;  ///< in files
  index_t bytes;
};
constexpr NumberType numbers[] = {
    {TESSERA_F32, "f32", 4}, {TESSERA_F64, "f64", 8},    {TESSERA_I32, "i32", 4},
    {TESSERA_I64, "i64", 8}, {TESSERA_U32, "u32", 4},    {TESSERA_U64, "u64", 8},
    {TESSERA_C64, "c64", 8}, {TESSERA_C128, "c128", 16}, {TESSERA_I8, "i8", 1},
    {TESSERA_I16, "i16", 2}, {TESSERA_U8, "u8", 1},      {TESSERA_U16, "u16", 2},
    {TESSERA_F16, "f16", 2}};

const NumberType* find_number(int type) {
  const auto* const found = std::ranges::find(numbers, type, &NumberType::type);
  return found == std::end(numbers) ? nullptr : found;
}

}  // namespace

Storage storage_of(int order, const char* argument) {
  expect(order == TESSERA_ROW_MAJOR || order == TESSERA_COL_MAJOR, argument,
         "is {}: must be TESSERA_ROW_MAJOR or TESSERA_COL_MAJOR", order);
  return order == TESSERA_ROW_MAJOR ? Storage::rows : Storage::columns;
}

matmul::Op op_of(int op, const char* argument) {
  if (op == TESSERA_NO_TRANS) return matmul::Op::none;
  if (op == TESSERA_TRANS) return matmul::Op::transpose;
  expect(op == TESSERA_CONJ_TRANS, argument,
         "is {}: must be TESSERA_NO_TRANS, TESSERA_TRANS or TESSERA_CONJ_TRANS", op);
  return matmul::Op::hermitian;
}

sort::Order direction_of(int direction) {
  expect(direction == TESSERA_ASCENDING || direction == TESSERA_DESCENDING, "direction",
         "is {}: must be TESSERA_ASCENDING or TESSERA_DESCENDING", direction);
  return direction == TESSERA_ASCENDING ? sort::Order::ascending : sort::Order::descending;
}

std::string type_text(int type) {
  return type == TESSERA_F16    ? "TESSERA_F16"
         : type == TESSERA_BF16 ? "TESSERA_BF16"
                                : std::to_string(type);
}

Element key_element(int type, const char* argument) {
  switch (type) {
    case TESSERA_F32:
      return Element::f32;
    case TESSERA_F64:
      return Element::f64;
    case TESSERA_I32:
      return Element::i32;
    case TESSERA_I64:
      return Element::i64;
    case TESSERA_U32:
      return Element::u32;
    case TESSERA_U64:
      return Element::u64;
    default:
      break;
  }
  throw Error::of_argument(
      argument,
      fmt::format("is {}: must be TESSERA_F16, F32, F64, I8 to I64 or U8 to U64", type_text(type)));
}

void expect_key(int type, const char* argument) {
  dispatch_key(type, argument, [](auto) {});
}

std::string_view type_name(int type) {
  const NumberType* const number = find_number(type);
  expect(number != nullptr, "type", "is {}: must be a type of numbers, TESSERA_F32 to TESSERA_F16",
         type_text(type));
  return number->name;
}

index_t bytes_of(int type) {
  if (const NumberType* const number = find_number(type)) return number->bytes;
  if (type == TESSERA_BF16) return 2;
  const index_t size = type - TESSERA_OPAQUE;
  expect(size >= 0, "type", "is {}: must be a type of numbers or TESSERA_RECORD(bytes)", type);
  expect(size >= 1 && size <= transpose::max_record_bytes, "type",
         "is a record of {} bytes: must be 1 to {}", size, transpose::max_record_bytes);
  return size;
}

void expect_extent(index_t extent, const char* argument) {
  expect(extent >= 0, argument, "is {}: must be at least 0", extent);
}

void expect_memory(const void* data, index_t elements, const char* argument) {
  expect(data != nullptr || elements == 0, argument, "is a null pointer");
}

void expect_matrix(const char* name, const void* data, index_t ld, const Shape& shape,
                   index_t bytes) {
  const index_t least = std::max<index_t>(1, shape.inner());
  if (ld < least) {  // whose name costs an allocation
    expect(false, std::string("ld") + name, "is {}: must be at least {}", ld, least);
  }
  if (shape.rows == 0 || shape.cols == 0) return;
  expect(data != nullptr, name, "is a null pointer");
  index_t size = 0;
  const bool fits = !__builtin_mul_overflow(ld, shape.outer(), &size) &&
                    !__builtin_mul_overflow(size, bytes, &size);
  expect(fits, name, "has {} x {} elements: more than memory can have", shape.rows, shape.cols);
}

bool Extent::overlaps(const Extent& other) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto from = reinterpret_cast<std::uintptr_t>(other.data);
  return bytes > 0 && other.bytes > 0 && begin < from + static_cast<std::uintptr_t>(other.bytes) &&
         from < begin + static_cast<std::uintptr_t>(bytes);
}

Extent extent_of(const void* data, index_t ld, const Shape& shape, index_t bytes) {
  if (shape.rows == 0 || shape.cols == 0) return {data, 0};
  return {data, ((shape.outer() - 1) * ld + shape.inner()) * bytes};
}

void refuse_overlap(const char* result, const Extent& written, const char* argument,
                    const Extent& read) {
  expect(!written.overlaps(read), result, "overlaps {}: must be separate memory", argument);
}

}  // namespace tessera::inline v1::c
