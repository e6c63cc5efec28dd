#pragma once
// Transposes into short rows that do not begin on lines.

#include "kernels/transpose/records.hpp"

namespace tessera::transpose {

/// Whether the rows of b are short and follow each other in memory.
[[nodiscard]] bool stages_whole_rows(const Records& b);

/// b = transpose(a) for such b, through blocks of them in the cache, which leave by streaming stores; tasks
/// of the caller's region.
void transpose_staged(const ConstRecords& a, const Records& b);

}  // namespace tessera::transpose
