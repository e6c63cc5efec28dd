#pragma once
// The storage of outputs, as --compress, --chunks and --like request it.

#include <optional>
#include <string>
#include <vector>

#include "io/output_dataset.hpp"

namespace tessera::inline v1::run {

/// The input from which an output's elements come; its axis d is the input's axis axes[d], in order
/// if axes are empty.
struct StorageOrigin {
  io::DatasetName input;
  std::vector<int> axes = {};
};

class StorageRequest {
 public:
  /// Parses the options. Throws Error(usage).
  StorageRequest(const std::string& compress, const std::string& chunks, const std::string& like);

  /// Returns whether an option is given.
  [[nodiscard]] bool given() const { return filters_ || !chunks_.empty() || !like_.empty(); }
  /// Returns the bytes that a rank needs to encode chunks: of 1 MiB, of --chunks with elements of
  /// 8 bytes, or of the input's size.
  [[nodiscard]] index_t memory(index_t input_chunk, int threads) const;
  /// Returns the storage of an output; contiguous if nothing is requested, and for outputs without
  /// elements. Throws Error(usage) if the request does not fit its dimensions.
  [[nodiscard]] io::Storage of(const io::DatasetSpec& spec,
                               const std::optional<StorageOrigin>& origin) const;

 private:
  std::optional<io::Filters> filters_;
  std::string chunks_;
  std::vector<index_t> extents_;  // of --chunks, unless auto
  std::string like_;
};

/// Returns extents of chunks of at most 1 MiB: the longest are halved.
[[nodiscard]] std::vector<index_t> automatic_chunk(std::vector<index_t> shape,
                                                   index_t element_bytes);

}  // namespace tessera::inline v1::run
