#pragma once
// What distributed products and their plans have in common.

#include "c/context.hpp"
#include "c/options.hpp"

namespace tessera::inline v1::c {

/// A distributed operand of the caller.
struct Operand {
  Home home;
  const void* data;
  matmul::Op op;
};

/// Throws Error(usage) naming the layouts unless b and c match op(a).
void expect_product(const Operand& a, const Operand& b, const Home& c);

}  // namespace tessera::inline v1::c
