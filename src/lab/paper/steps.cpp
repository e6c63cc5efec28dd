#include "lab/paper/steps.hpp"

#include <fmt/core.h>

#include <bit>

namespace tessera::inline v1::paper {
namespace {

constexpr index_t most_lines = 64, most_threads = 8;
const std::string barrier_line = "          barrier";

const char* name(Kind kind) {
  switch (kind) {
    case Kind::load:
      return "load";
    case Kind::store:
      return "store";
    case Kind::atomic:
      return "atomic";
  }
  return "";
}

/// Calls f(lane) for every active lane, in order.
template <class F>
void each_active(Mask active, const F& f) {
  for (Mask left = active; left != 0; left &= left - 1)
    f(static_cast<std::size_t>(std::countr_zero(left)));
}

}  // namespace

Steps::Steps(index_t lines, index_t segment_bytes, index_t most_marks)
    : segment_(segment_bytes), diagram_(lines, segment_bytes, most_marks) {}

void Steps::declared(std::size_t number, const Declared& array) {
  if (array.space == Space::shared) {
    arrays_.push_back({array, end_ + array.base});
    diagram_.leave_out(static_cast<unsigned>(number));
    return;
  }
  arrays_.push_back({array, end_});
  end_ = round_up(end_ + array.bytes, segment_);
}

void Steps::executed(const Instruction& instruction) {
  const Placed& array = arrays_[instruction.array];
  std::vector<locality::Access> accesses;
  each_active(instruction.active, [&](std::size_t lane) {
    const auto kind = instruction.kind == Kind::load ? locality::Access::Kind::load
                                                     : locality::Access::Kind::store;
    const index_t address = array.begin + instruction.at[lane] - array.array.base;
    accesses.emplace_back(kind, static_cast<std::uint64_t>(address),
                          static_cast<unsigned>(instruction.bytes),
                          static_cast<unsigned>(instruction.array));
  });
  diagram_.take(accesses);
  if (instruction.block != 0) return;
  ++instructions_;
  if (instructions_ <= most_lines) lines_.push_back(line_of(instruction));
}

void Steps::barrier(index_t block) {
  if (block == 0 && instructions_ < most_lines) lines_.push_back(barrier_line);
}

std::string Steps::element(const Placed& array, index_t address) const {
  const index_t i = (address - array.array.base) / array.array.element_bytes, row = array.array.row;
  return row > 0 ? fmt::format("[{},{}]", i / row, i % row) : fmt::format("[{}]", i);
}

std::string Steps::line_of(const Instruction& instruction) const {
  const Placed& array = arrays_[instruction.array];
  std::string line =
      fmt::format("{:>5}  {:<6}  {:<9}", instructions_, name(instruction.kind), array.array.name);
  const int count = std::popcount(instruction.active);
  int number = 0;
  each_active(instruction.active, [&](std::size_t lane) {
    const bool last = ++number == count;
    if (number > most_threads && !last) return;
    line += last && count > most_threads + 1 ? "  ..." : "";
    line += fmt::format("  {}:{}", instruction.first + static_cast<index_t>(lane),
                        element(array, instruction.at[lane]));
  });
  return line;
}

std::string Steps::text() const {
  std::string text;
  std::size_t end = lines_.size();
  while (end > 0 && lines_[end - 1] == barrier_line) --end;  // nothing is behind it
  for (std::size_t i = 0; i < end; ++i) text += lines_[i] + '\n';
  if (instructions_ > most_lines)
    text += fmt::format("       ... {} more instructions\n", instructions_ - most_lines);
  return text;
}

}  // namespace tessera::inline v1::paper
