#pragma once
// Messages longer than MPI counts: Open MPI 4.1 implements MPI 3.1, which has no large-count calls,
// and an int count of 2^32 + 5 silently sends 5 bytes.

#include <algorithm>

#include "base/index.hpp"

namespace tessera::inline v1::mpi {

/// Bytes per message: well below the 2 GiB of an int count, large enough for full bandwidth.
inline constexpr index_t piece_bytes = index_t{1} << 30;

/// Calls call(offset, count) for the pieces of a message of `bytes` bytes, in order.
template <class Call>
void in_pieces(index_t bytes, const Call& call) {
  for (index_t offset = 0; offset < bytes; offset += piece_bytes)
    call(offset, narrow<int>(std::min(piece_bytes, bytes - offset)));
}

}  // namespace tessera::inline v1::mpi
