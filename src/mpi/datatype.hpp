#pragma once
// The MPI datatypes of C++ types of numbers.

#include <mpi.h>

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/complex.hpp"
#include "base/index.hpp"

namespace tessera::inline v1::mpi {

template <class T>
inline constexpr bool is_any_complex = is_complex<T>;
template <class T>
inline constexpr bool is_any_complex<std::complex<T>> = true;

/// float, double and integers of up to 64 bits, under any of their names (long, long long,
/// int16_t).
template <class T>
concept OrderedNumber = (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8) ||
                        std::same_as<T, float> || std::same_as<T, double>;
/// As above, and complex numbers of float and double, those of the standard library as well.
template <class T>
concept Number = OrderedNumber<T> ||(is_any_complex<T> && (sizeof(T) == 8 || sizeof(T) == 16));

/// The type of a reduced number: integers widen to 64 bits, signed unless they are unsigned numbers
/// of 64 bits, and float to double; complex numbers keep their type.
template <Number T>
using Reduced = std::conditional_t<
    is_any_complex<T>, T,
    std::conditional_t<
        std::floating_point<T>, double,
        std::conditional_t<std::unsigned_integral<T> && sizeof(T) == 8, std::uint64_t, index_t>>>;

/// Returns the datatype with the representation of T.
template <Number T>
[[nodiscard]] MPI_Datatype datatype() noexcept {
  if constexpr (is_any_complex<T>) {
    return sizeof(T) == 8 ? MPI_C_FLOAT_COMPLEX : MPI_C_DOUBLE_COMPLEX;
  } else if constexpr (std::floating_point<T>) {
    return sizeof(T) == 4 ? MPI_FLOAT : MPI_DOUBLE;
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 1   ? MPI_INT8_T
           : sizeof(T) == 2 ? MPI_INT16_T
           : sizeof(T) == 4 ? MPI_INT32_T
                            : MPI_INT64_T;
  } else {
    return sizeof(T) == 1   ? MPI_UINT8_T
           : sizeof(T) == 2 ? MPI_UINT16_T
           : sizeof(T) == 4 ? MPI_UINT32_T
                            : MPI_UINT64_T;
  }
}

}  // namespace tessera::inline v1::mpi
