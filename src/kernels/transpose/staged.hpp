#pragma once
// Transposes into rows that do not begin on lines.

#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

/// b = transpose(a) through small blocks in the cache, which leave by streaming stores; tasks of the caller's
/// region.
void transpose_staged(const ConstRecords& a, const Records& b);

}  // namespace tessera::transpose
