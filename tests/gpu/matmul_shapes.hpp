#pragma once
// Products of random shapes, none of whose sides is a multiple of 8.

namespace tessera::inline v1::matmul {

/// Prints, for every type and pair of operations, the ratio of cuBLAS's time to ours over random
/// shapes: the geometric mean and the three lowest; with `lines` also a line per shape first.
void print_shapes(int shapes, bool lines);

}  // namespace tessera::inline v1::matmul
