#pragma once

#include "base/index.hpp"

namespace tessera::inline v1::dist::sort {

/// The elements, or rows, of one task of loops over all that a rank has.
inline constexpr index_t grain = 1 << 16;

}  // namespace tessera::inline v1::dist::sort
