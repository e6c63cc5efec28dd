#pragma once
// References of a dataset to objects of its file, made references to the same objects of an output.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/output_dataset.hpp"

namespace tessera::inline v1::io {

/// Returns whether the elements are references to objects.
[[nodiscard]] bool are_references(hid_t type);

/// The paths, in an output, of the objects to which references of an input point.
class References {
 public:
  /// Finds the objects. Those that are among the specs' inputs have the paths of their outputs, the
  /// others that of the input. Throws Error(bad_data) for a reference to nothing.
  References(const DatasetName& from, std::span<const DatasetSpec> specs);

  /// Copies the objects that are not among the specs, which must be datasets, to the output;
  /// appends their paths to `created`. Throws Error(bad_data, cannot_create).
  void copy_targets(hid_t file, std::vector<std::string>& created) const;

  /// Replaces references by those to the output's objects. Throws Error(cannot_create).
  void translate(hid_t file, std::span<std::byte> references) const;

 private:
  struct Target {
    std::string from, to;
    bool is_output = false;
  };
  DatasetName from_;
  std::map<hobj_ref_t, Target> targets_;
};

}  // namespace tessera::inline v1::io
