// The store of working memory of each thread.

#include "kernels/matmul/scratch.hpp"

#include <algorithm>
#include <vector>

#include "machine/workspace.hpp"

namespace tessera::inline v1::matmul {
namespace {

constexpr index_t kept_bytes = index_t{64} << 20;
constexpr std::size_t kept_blocks = 8;

using Block = machine::Buffer<unsigned char>;

std::vector<Block>& store() {
  thread_local std::vector<Block> blocks;
  return blocks;
}

/// Returns the smallest sufficient block of the store, otherwise a new one.
Block take(index_t bytes) {
  std::vector<Block>& blocks = store();
  auto fit = blocks.end();
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    if (block->size() >= bytes && (fit == blocks.end() || block->size() < fit->size())) fit = block;
  }
  if (fit == blocks.end()) {
    const machine::Workspace::Scope kept_after_the_call(nullptr);
    return Block(std::max<index_t>(bytes, 4096));
  }
  Block found = std::move(*fit);
  blocks.erase(fit);
  return found;
}

}  // namespace

ScratchBytes::ScratchBytes(index_t bytes) {
  if (bytes > 0) buffer_ = take(bytes);
}

ScratchBytes::~ScratchBytes() {
  if (buffer_.size() == 0 || buffer_.size() > kept_bytes) return;
  std::vector<Block>& blocks = store();
  if (blocks.size() == kept_blocks) blocks.erase(blocks.begin());
  blocks.push_back(std::move(buffer_));
}

}  // namespace tessera::inline v1::matmul
