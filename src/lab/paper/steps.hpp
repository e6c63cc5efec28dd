#pragma once
// A kernel on paper thread by thread: its space-time diagram, and the instructions of its first
// block as text.

#include <string>
#include <vector>

#include "lab/locality/diagram.hpp"
#include "lab/paper/meter.hpp"

namespace tessera::inline v1::paper {

/// Global arrays lie one behind the other, shared memory behind them; the lanes of an instruction
/// access memory in turn. The cache of the diagram holds segments of global memory.
class Steps final : public Witness {
 public:
  struct Placed {
    Declared array;
    index_t begin = 0;  ///< in the diagram's memory, bytes
  };

  /// Simulates a cache of `lines` segments; records up to `most_marks` accesses one by one.
  Steps(index_t lines, index_t segment_bytes, index_t most_marks);
  void declared(std::size_t number, const Declared& array) override;
  void executed(const Instruction& instruction) override;
  void barrier(index_t block) override;

  [[nodiscard]] const locality::Diagram& diagram() const { return diagram_; }
  [[nodiscard]] index_t segment_bytes() const { return segment_; }
  [[nodiscard]] const std::vector<Placed>& arrays() const { return arrays_; }
  /// Returns the instructions of the first block, one a line: kind, array, and the element of every
  /// thread; barriers between them. A few threads of each, and a few lines.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] std::string element(const Placed& array, index_t address) const;
  [[nodiscard]] std::string line_of(const Instruction& instruction) const;

  index_t segment_;
  locality::Diagram diagram_;
  std::vector<Placed> arrays_;
  index_t end_ = 0;  ///< of global memory, bytes
  std::vector<std::string> lines_;
  index_t instructions_ = 0;  ///< of the first block
};

}  // namespace tessera::inline v1::paper
