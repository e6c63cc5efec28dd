#pragma once
// Plots in NeXus files (NXdata): a group whose attributes name a signal and the fields of its axes.

#include <optional>
#include <string>
#include <vector>

#include "io/h5.hpp"

namespace tessera::inline v1::io {

class NexusPlot {
 public:
  /// Reads the attributes of a group and of the dataset `name` in it.
  NexusPlot(hid_t group, hid_t dataset, std::string name);

  /// Returns whether the dataset is the group's signal, or names axes itself.
  [[nodiscard]] bool found() const { return is_signal_ || !own_axes_.empty(); }

  /// A field with coordinates, and the signal's axes along its dimensions.
  struct Field {
    std::string name;
    std::vector<std::size_t> axes;
  };
  /// Returns the fields of a signal of `rank` axes.
  [[nodiscard]] std::vector<Field> fields(std::size_t rank) const;

  /// An output made of the signal.
  struct Output {
    std::string name;
    const std::vector<std::optional<std::size_t>>& places;  ///< its dimension of each axis
    std::size_t rank;
  };
  /// Makes the attributes, as copied from the input, those of the output.
  void write(hid_t group, hid_t dataset, const Output& output) const;

 private:
  [[nodiscard]] static std::vector<std::string> moved(const std::vector<std::string>& names,
                                                      const Output& output);
  std::string name_;
  bool is_signal_ = false;
  std::vector<std::string> axes_;      // of the group; "." for none
  std::vector<std::string> own_axes_;  // of the dataset: "y:x" or "y,x", in older files
  char separator_ = ':';
  std::vector<Field> indices_;  // the group's attributes NAME_indices
};

}  // namespace tessera::inline v1::io
