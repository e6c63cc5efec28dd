#pragma once
// The stages of a kernel, as "preprocessing" and "sorting", for its traced form
// (lab/locality/traced_stages.hpp). For plain elements they compile to nothing.

namespace tessera::inline v1 {

template <class T>
struct Stages {
  /// Ends the stage before and enters the one of that name.
  static void enter(const char* /*name*/) {}
};

}  // namespace tessera::inline v1
