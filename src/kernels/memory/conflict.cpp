// Conflict misses: rounds down a column of a matrix whose row stride is a power of two. The few
// lines would fit, but map to the same sets of the cache. The fix pads every row by a line.

#include <algorithm>

#include "base/hash.hpp"
#include "kernels/memory/words.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::memory {
namespace {

class Conflict final : public Probe {
 public:
  Conflict(const Walk& walk, index_t padding)
      : Probe(walk),
        rows_(std::max<index_t>(1, walk.bytes / line_bytes)),
        apart_((walk.stride + padding) / word_bytes),
        words_((rows_ - 1) * apart_ + line_bytes / word_bytes) {
    Conflict::prepare();
  }

  void prepare() override {
    std::fill(words_.begin(), words_.end(), 0);
    for (index_t row = 0; row < rows_; ++row) words_[row * apart_] = static_cast<Word>(row);
  }
  void run() override { visit(PlainWords{words_.data()}); }
  void trace(Touches& to) override { visit(TracedWords{words_.data(), &to, 0, traced_base}); }
  [[nodiscard]] std::uint64_t result() const override {
    Word sum = 0;
    for (index_t row = 0; row < rows_; ++row) sum = mix64(sum ^ words_[row * apart_]);
    return sum;
  }
  [[nodiscard]] index_t touches() const override { return rows_ * walk().rounds; }

 private:
  template <class Words>
  void visit(const Words& words) const {
    for (index_t round = 0; round < walk().rounds; ++round) {
      for (index_t row = 0; row < rows_; ++row)
        words.store(row * apart_, 3 * words.load(row * apart_) + 1);
    }
  }

  index_t rows_, apart_;
  machine::Buffer<Word> words_;
};

}  // namespace

std::unique_ptr<Probe> conflict(const Walk& walk) { return std::make_unique<Conflict>(walk, 0); }
std::unique_ptr<Probe> conflict_padded(const Walk& walk) {
  return std::make_unique<Conflict>(walk, line_bytes);
}

}  // namespace tessera::inline v1::memory
