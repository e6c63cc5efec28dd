// Coherence misses. True sharing: all threads count in one word, whose line moves between cores
// with every update; the fix counts per thread and adds up at the end. False sharing: each thread
// counts in a separate word of a common line, which moves as well; the fix gives every word a
// separate line.

#include <algorithm>
#include <numeric>

#include "kernels/memory/words.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"

namespace tessera::inline v1::memory {
namespace {

// Some machines fetch pairs of lines together: a distance of two lines suffices everywhere.
constexpr index_t far_apart = 2 * line_bytes;

class Sharing final : public Probe {
 public:
  /// Constructs counters that are `apart` bytes apart; 0: a single counter for all threads.
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

}  // namespace tessera::inline v1::memory
