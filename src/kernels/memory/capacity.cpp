// Capacity misses: rounds over a working set larger than the cache, which evicts every line before
// its reuse. The fix is blocking: a block that fits runs through all rounds before the next one.

#include <algorithm>

#include "base/hash.hpp"
#include "kernels/memory/words.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::memory {
namespace {

enum class Order { whole, blocks };

class Capacity final : public Probe {
 public:
  Capacity(const Walk& walk, Order order)
      : Probe(walk),
        places_(std::max<index_t>(1, walk.bytes / walk.stride)),
        block_(order == Order::whole ? places_
                                     : std::clamp<index_t>(walk.cache / walk.stride, 1, places_)),
        words_(places_ * walk.stride / word_bytes) {
    Capacity::prepare();
  }

  void prepare() override {
    for (index_t i = 0; i < words_.size(); ++i) words_[i] = static_cast<Word>(i);
  }
  void run() override { visit(PlainWords{words_.data()}); }
  void trace(Touches& to) override { visit(TracedWords{words_.data(), &to, 0, traced_base}); }
  [[nodiscard]] std::uint64_t result() const override {
    Word sum = 0;
    for (const Word word : words_) sum = mix64(sum ^ word);
    return sum;
  }
  [[nodiscard]] index_t touches() const override { return places_ * walk().rounds; }

 private:
  template <class Words>
  void visit(const Words& words) const {
    const index_t apart = walk().stride / word_bytes;
    for (index_t begin = 0; begin < places_; begin += block_) {
      const index_t end = std::min(places_, begin + block_);
      for (index_t round = 0; round < walk().rounds; ++round) {
        for (index_t i = begin; i < end; ++i) words.store(i * apart, 3 * words.load(i * apart) + 1);
      }
    }
  }

  index_t places_, block_;
  machine::Buffer<Word> words_;
};

}  // namespace

std::unique_ptr<Probe> capacity(const Walk& walk) {
  return std::make_unique<Capacity>(walk, Order::whole);
}
std::unique_ptr<Probe> capacity_blocked(const Walk& walk) {
  return std::make_unique<Capacity>(walk, Order::blocks);
}

}  // namespace tessera::inline v1::memory
