/* Matrices of any type and order with sentinels around them, random numbers, and checks. */
#ifndef CHECK_H
#define CHECK_H

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

static int failures = 0;

#define CHECK(holds)                                                                         \
  do {                                                                                       \
    if (!(holds)) {                                                                          \
      ++failures;                                                                            \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #holds, tessera_error_text()); \
    }                                                                                        \
  } while (0)

static uint64_t state = 88172645463325252U;
/* Returns a number in 0 .. n - 1. */
static inline int64_t below(int64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)((state >> 11) % (uint64_t)n);
}

static inline int is_half(int type) { return type == TESSERA_F16 || type == TESSERA_BF16; }

/* Returns the bits of the nearest half, ties to even. */
static inline uint16_t half_bits(int type, double value) {
  const int is_f16 = type == TESSERA_F16, digits = is_f16 ? 11 : 8, bias = is_f16 ? 15 : 127;
  const int sign = signbit(value) ? 0x8000 : 0;
  int exponent = 0;
  if (isnan(value)) return (uint16_t)(sign + (is_f16 ? 0x7e00 : 0x7fc0));
  if (value == 0) return (uint16_t)sign;
  frexp(value, &exponent);
  const double rounded = ldexp(nearbyint(ldexp(fabs(value), digits - exponent)), exponent - digits);
  const double fraction = frexp(rounded, &exponent);
  if (exponent - 1 + bias < 1) /* subnormal */
    return (uint16_t)(nearbyint(ldexp(fabs(value), bias + digits - 2)) + sign);
  const int bits =
      ((exponent - 1 + bias) << (digits - 1)) + (int)ldexp(fraction, digits) - (1 << (digits - 1));
  return (uint16_t)(bits + sign);
}

static inline double half_value(int type, uint16_t half) {
  const int is_f16 = type == TESSERA_F16, digits = is_f16 ? 11 : 8, bias = is_f16 ? 15 : 127;
  const int size = half & 0x7fff, low = size & ((1 << (digits - 1)) - 1);
  const int exponent = size >> (digits - 1);
  if (exponent > 2 * bias) return low == 0 ? (half & 0x8000 ? -INFINITY : INFINITY) : NAN;
  const double value = exponent == 0
                           ? ldexp(low, 2 - bias - digits)
                           : ldexp(low + (1 << (digits - 1)), exponent - bias - digits + 1);
  return half & 0x8000 ? -value : value;
}

/* All types of numbers, those of keys first. */
enum { key_types = 11, number_types = 13 };
static const int types_of_numbers[number_types] = {
    TESSERA_F32, TESSERA_F64, TESSERA_I32, TESSERA_I64, TESSERA_U32, TESSERA_U64, TESSERA_I8,
    TESSERA_I16, TESSERA_U8,  TESSERA_U16, TESSERA_F16, TESSERA_C64, TESSERA_C128};

static inline int is_real(int type) {
  return type == TESSERA_F16 || type == TESSERA_F32 || type == TESSERA_F64;
}
static inline int is_unsigned(int type) {
  return type == TESSERA_U8 || type == TESSERA_U16 || type == TESSERA_U32 || type == TESSERA_U64;
}

static inline size_t size_of(int type) {
  switch (type) {
    case TESSERA_I8:
    case TESSERA_U8:
      return 1;
    case TESSERA_I16:
    case TESSERA_U16:
    case TESSERA_F16:
    case TESSERA_BF16:
      return 2;
    case TESSERA_F32:
    case TESSERA_I32:
    case TESSERA_U32:
      return 4;
    case TESSERA_C128:
      return 16;
    default:
      return type >= TESSERA_OPAQUE ? (size_t)(type - TESSERA_OPAQUE) : 8;
  }
}

/* Returns the most distinct whole numbers, half of them negative if the type has a sign, that
 * keys of the type hold. */
static inline int64_t range_of(int type) {
  if (type == TESSERA_F16) return 4000;
  return size_of(type) == 1 ? 250 : size_of(type) == 2 ? 65000 : 1 << 24;
}

static inline void put(int type, void* at, double complex value) {
  float f32[2] = {(float)creal(value), (float)cimag(value)};
  double f64[2] = {creal(value), cimag(value)};
  int64_t integer = isnan(creal(value)) ? 0 : (int64_t)creal(value);
  int32_t word = (int32_t)integer;
  const uint16_t half_word =
      is_half(type) ? half_bits(type, creal(value)) : (uint16_t)(int16_t)integer;
  int8_t byte = (int8_t)integer;
  unsigned char record[64];
  switch (type) {
    case TESSERA_F32:
    case TESSERA_C64:
      memcpy(at, f32, size_of(type));
      return;
    case TESSERA_F64:
    case TESSERA_C128:
      memcpy(at, f64, size_of(type));
      return;
    case TESSERA_I8:
    case TESSERA_U8:
      memcpy(at, &byte, 1);
      return;
    case TESSERA_I16:
    case TESSERA_U16:
    case TESSERA_F16:
    case TESSERA_BF16:
      memcpy(at, &half_word, 2);
      return;
    case TESSERA_I32:
    case TESSERA_U32:
      memcpy(at, &word, 4);
      return;
    case TESSERA_I64:
    case TESSERA_U64:
      memcpy(at, &integer, 8);
      return;
    default:
      for (size_t b = 0; b < size_of(type); ++b) record[b] = (unsigned char)(integer * 7 + (int)b);
      memcpy(at, record, size_of(type));
  }
}

static inline double complex get(int type, const void* at) {
  float f32[2] = {0, 0};
  double f64[2] = {0, 0};
  uint16_t half_word;
  int32_t word;
  int64_t integer;
  switch (type) {
    case TESSERA_F32:
    case TESSERA_C64:
      memcpy(f32, at, size_of(type));
      return f32[0] + f32[1] * I;
    case TESSERA_F64:
    case TESSERA_C128:
      memcpy(f64, at, size_of(type));
      return f64[0] + f64[1] * I;
    case TESSERA_I8:
      return *(const int8_t*)at;
    case TESSERA_U8:
      return *(const uint8_t*)at;
    case TESSERA_I16:
    case TESSERA_U16:
    case TESSERA_F16:
    case TESSERA_BF16:
      memcpy(&half_word, at, 2);
      return type == TESSERA_I16   ? (int16_t)half_word
             : type == TESSERA_U16 ? (double)half_word
                                   : half_value(type, half_word);
    case TESSERA_I32:
    case TESSERA_U32:
      memcpy(&word, at, 4);
      return word;
    default:
      memcpy(&integer, at, 8);
      return (double)integer;
  }
}

/* Returns a whole number, the same for the same place; complex for complex types. */
static inline double complex value_at(int type, int64_t i, int64_t j, int64_t seed) {
  const uint64_t mixed = ((uint64_t)(i * 8191 + j * 131 + seed * 31337) * 2654435761U) >> 7;
  const double real = (double)(mixed % 9) - 4, imaginary = (double)(mixed / 9 % 7) - 3;
  const int is_complex = type == TESSERA_C64 || type == TESSERA_C128;
  if (type >= TESSERA_OPAQUE) return (double)(mixed % 1000);
  return real + (is_complex ? imaginary : 0) * I;
}

/* Writes a factor of products of the type. */
static inline void put_factor(int type, void* at, double complex value) {
  put(is_half(type) ? TESSERA_F32 : type, at, value);
}
/* Returns the number as the type has it. */
static inline double complex rounded(int type, double complex value) {
  unsigned char stored[16];
  put(type, stored, value);
  return get(type, stored);
}

enum { sentinel = 64, fill = 0x5a };

typedef struct {
  int type, order;
  int64_t rows, cols, ld;
  size_t bytes;
  unsigned char *memory, *data;
} matrix;

static inline matrix new_matrix(int type, int order, int64_t rows, int64_t cols, int64_t gap) {
  const int by_rows = order == TESSERA_ROW_MAJOR;
  const int64_t outer = by_rows ? rows : cols, inner = by_rows ? cols : rows;
  matrix m = {type, order, rows, cols, (inner > 0 ? inner : 1) + gap, 0, NULL, NULL};
  m.bytes = (size_t)(outer * m.ld) * size_of(type);
  m.memory = malloc(m.bytes + 2 * sentinel);
  memset(m.memory, fill, m.bytes + 2 * sentinel);
  m.data = m.memory + sentinel;
  return m;
}

static inline unsigned char* at(const matrix* m, int64_t i, int64_t j) {
  const int64_t place = m->order == TESSERA_ROW_MAJOR ? i * m->ld + j : i + j * m->ld;
  return m->data + (size_t)place * size_of(m->type);
}

/* Fills with the values of a part of a larger matrix that begins at (row, col). */
static inline void fill_matrix(matrix* m, int64_t row, int64_t col, int64_t seed) {
  for (int64_t i = 0; i < m->rows; ++i)
    for (int64_t j = 0; j < m->cols; ++j)
      put(m->type, at(m, i, j), value_at(m->type, row + i, col + j, seed));
}

/* Overwrites the elements and returns whether all other bytes are as new_matrix made them. */
static inline int is_intact_around(matrix* m) {
  for (int64_t i = 0; i < m->rows; ++i)
    for (int64_t j = 0; j < m->cols; ++j) memset(at(m, i, j), fill, size_of(m->type));
  for (size_t b = 0; b < m->bytes + 2 * sentinel; ++b)
    if (m->memory[b] != fill) return 0;
  return 1;
}

static inline void free_matrix(matrix* m) { free(m->memory); }

static inline double complex applied(int op, double complex value) {
  return op == TESSERA_CONJ_TRANS ? conj(value) : value;
}

/* Checks a call that must fail: code, argument, and that the text begins with it. */
#define WRONG(call, argument)                                              \
  do {                                                                     \
    CHECK((call) == TESSERA_USAGE);                                        \
    CHECK(strcmp(tessera_error_argument(), argument) == 0);                \
    CHECK(strncmp(tessera_error_text(), argument, strlen(argument)) == 0); \
  } while (0)

#endif
