#pragma once
// Stages of kernels on traced elements: the tracer assigns accesses to them.

#include "base/stages.hpp"
#include "lab/locality/traced.hpp"

namespace tessera::inline v1 {

template <class T>
struct Stages<locality::Traced<T>> {
  static void enter(const char* name) { locality::Tracer::enter_stage(name); }
};

}  // namespace tessera::inline v1
