// Misses of sharing: threads count. True sharing: all in one word, whose line moves from core to
// core with every update; the cure counts apart and adds up at the end. False sharing: each in its
// own word of a common line, which moves all the same; the cure gives every word a line.

#include <algorithm>
#include <numeric>

#include "kernels/memory/words.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::memory {
namespace {

// Pairs of lines are fetched together on some machines: two lines apart is far enough everywhere.
constexpr index_t far_apart = 2 * line_bytes;

class Sharing final : public Probe {
 public:
  /// Counters lie so many bytes apart; 0: there is one for all.
  Sharing(const Walk& walk, index_t apart)
      : Probe(walk),
        apart_(apart / word_bytes),
        words_(std::max<index_t>(1, walk.threads * apart_)) {
    Sharing::prepare();
  }

  void prepare() override { std::fill(words_.begin(), words_.end(), 0); }
  void run() override {
    machine::on_each_thread(walk().threads,
                            [this](int thread, int) { count(PlainWords{words_.data()}, thread); });
  }
  void trace(Touches& to) override {
    for (int thread = 0; thread < walk().threads; ++thread)
      count(TracedWords{words_.data(), &to, thread, traced_base}, thread);
  }
  [[nodiscard]] std::uint64_t result() const override {
    return std::accumulate(words_.begin(), words_.end(), Word{0});
  }
  [[nodiscard]] index_t touches() const override { return walk().threads * walk().rounds; }

 private:
  template <class Words>
  void count(const Words& words, int thread) const {
    for (index_t round = 0; round < walk().rounds; ++round) words.add(thread * apart_);
  }

  index_t apart_;
  machine::Buffer<Word> words_;
};

}  // namespace

std::unique_ptr<Probe> true_sharing(const Walk& walk) { return std::make_unique<Sharing>(walk, 0); }
std::unique_ptr<Probe> true_sharing_private(const Walk& walk) {
  return std::make_unique<Sharing>(walk, far_apart);
}
std::unique_ptr<Probe> false_sharing(const Walk& walk) {
  return std::make_unique<Sharing>(walk, walk.stride);
}
std::unique_ptr<Probe> false_sharing_padded(const Walk& walk) {
  return std::make_unique<Sharing>(walk, std::max(walk.stride, far_apart));
}

}  // namespace tessera::memory
