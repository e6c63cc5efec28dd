// Cold (compulsory) misses: every line is accessed once, in an order that defeats hardware
// prefetchers, with arithmetic on the loaded word before the next access can begin. The fix
// prefetches the lines several steps ahead.

#include <numeric>

#include "base/hash.hpp"
#include "kernels/memory/words.hpp"
#include "machine/buffer.hpp"

namespace tessera::inline v1::memory {
namespace {

enum class Ahead { no, yes };

constexpr index_t distance = 8;  // prefetch distance in touches: some 8 x 60 ns of arithmetic,
                                 // several times the latency of memory
constexpr int mixes = 24;        // per touch: more instructions than a core's reorder window

class Cold final : public Probe {
 public:
  Cold(const Walk& walk, Ahead ahead)
      : Probe(walk),
        ahead_(ahead),
        places_(std::max<index_t>(1, walk.bytes / walk.stride)),
        words_(round_up(walk.bytes, word_bytes) / word_bytes + 1) {
    for (index_t i = 0; i < words_.size(); ++i) words_[i] = mix64(static_cast<Word>(i));
    while (std::gcd(step_, places_) != 1) ++step_;
  }

  /// Evicts the data from the caches by a walk through as much other memory.
  void prepare() override {
    if (other_.size() == 0)
      other_ = machine::Buffer<Word>(std::max(words_.size(), flush_bytes / word_bytes));
    for (index_t i = 0; i < other_.size(); i += line_bytes / word_bytes)
      other_[i] = static_cast<Word>(i);
  }
  void run() override { result_ = visit(PlainWords{words_.data()}); }
  void trace(Touches& to) override {
    result_ = visit(TracedWords{words_.data(), &to, 0, traced_base});
  }
  [[nodiscard]] std::uint64_t result() const override { return result_; }
  [[nodiscard]] index_t touches() const override { return places_; }

 private:
  /// Visits every place once, far from the previous one.
  template <class Words>
  [[nodiscard]] Word visit(const Words& words) const {
    const index_t apart = walk().stride / word_bytes;
    Word sum = 0;
    index_t place = 0, ahead = distance * step_ % places_;
    for (index_t i = 0; i < places_; ++i) {
      if (ahead_ == Ahead::yes && i + distance < places_) words.prefetch(ahead * apart);
      sum ^= words.load(place * apart);
      for (int m = 0; m < mixes; ++m) sum = mix64(sum);
      place = next(place);
      ahead = next(ahead);
    }
    return sum;
  }
  [[nodiscard]] index_t next(index_t place) const {
    const index_t to = place + step_;
    return to < places_ ? to : to % places_;
  }

  Ahead ahead_;
  index_t places_;
  index_t step_ = 100'003;  ///< in places; coprime to their number
  machine::Buffer<Word> words_, other_;
  Word result_ = 0;
};

}  // namespace

std::unique_ptr<Probe> cold(const Walk& walk) { return std::make_unique<Cold>(walk, Ahead::no); }
std::unique_ptr<Probe> cold_prefetched(const Walk& walk) {
  return std::make_unique<Cold>(walk, Ahead::yes);
}

}  // namespace tessera::inline v1::memory
