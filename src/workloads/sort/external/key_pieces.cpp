// Out-of-core sort of plain keys: reads ahead if they are stored as in memory, and sorts them by
// their total order, or divides them by value.

#include "dist/sort/some_keys.hpp"
#include "kernels/sort/divide.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"
#include "workloads/sort/external/read_ahead.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

template <class T>
class KeyPieces final : public RowPieces {
 public:
  KeyPieces(const Inputs& inputs, const Problem& problem, bool verify, io::FileQueue& queue)
      : inputs_(inputs),
        problem_(problem),
        verify_(verify),
        rows_({static_cast<index_t>(sizeof(T))}, queue,
              {[this](const std::string& file) { return find_place(file); },
               [this](std::span<const Slice> slices, const ReadAhead::Pointers& to) {
                 return read(slices, reinterpret_cast<T*>(to[0]));
               },
               [this](const Slice& slice, layout::Range rows, const ReadAhead::Pointers& at) {
                 return look(slice, {reinterpret_cast<const T*>(at[0]),
                                     static_cast<std::size_t>(rows.size())});
               }}) {
    io::DatasetInfo info;
    info.shape = {0};
    info.element_bytes = sizeof(T);
    columns_ = {{{.name = "keys", .path = keys_path, .info = info}}};
  }

  [[nodiscard]] const std::vector<PieceColumn>& columns() const override { return columns_; }
  [[nodiscard]] io::Handle stored_type(const PieceColumn&) const override {
    return io::owned_type(element_of<T>);
  }
  [[nodiscard]] index_t row_bytes() const override { return 3 * sizeof(T); }
  [[nodiscard]] index_t buffer_bytes() const override {
    constexpr index_t of_thread = index_t{5} << 18;  // radix sort: two buckets, streams
    return threads() * of_thread;
  }
  [[nodiscard]] std::size_t words() const override { return 1; }

  void prepare(index_t rows) override { rows_.prepare(rows); }
  void expect(std::span<const Slice> slices) override { rows_.expect(slices); }
  [[nodiscard]] io::FileTraffic take_traffic() override { return rows_.take_traffic(); }

  [[nodiscard]] Sorted sort(std::span<const Slice> slices, index_t most, index_t step,
                            const Sink& sink, mpi::Phases& phases) override {
    const ReadAhead::Taken now = taken(slices, phases);
    Sorted result{.rows_read = rows_of(slices), .hash_before = now.look};
    const std::span<T> items = keys_of(now.room, result.rows_read);
    sort_all(items, result, phases);
    const bool from_input = slices.empty() || slices.front().file.empty();
    const std::span<const T> keys = kept(items, most, result, phases);
    if (from_input && result.hash_before != result.hash_after) ++result.faults;
    result.hash_before = result.hash_after;  // runs are not hashed as they are read
    if (verify_ && result.rows < result.rows_read) result.hash_after = hash(keys, phases);
    if (!keys.empty()) {
      result.first = {word(keys.front())};
      result.last = {word(keys.back())};
    }
    for (index_t place = 0; place < result.rows; place += step)
      result.samples.push_back(word(keys[static_cast<std::size_t>(place)]));
    hand_on(result, keys, now.room, sink, phases);
    return result;
  }

  [[nodiscard]] std::vector<std::uint64_t> words_of(const Slice& slice) const override {
    std::vector<T> keys(static_cast<std::size_t>(slice.rows.size()));
    io::read_numbers(slice.file, columns_.front().column, slice.rows, element_of<T>,
                     reinterpret_cast<std::byte*>(keys.data()));
    std::vector<std::uint64_t> words;
    for (const T& key : keys) words.push_back(word(key));
    return words;
  }

  /// Returns a sample of contiguously stored keys: pages spread evenly over them.
  [[nodiscard]] std::string sample() const override {
    constexpr index_t pages = 256, in_page = tessera::sort::Divider<T>::most_samples / pages;
    if (problem_.unique || problem_.takes_first() || problem_.n < pages * in_page) return {};
    const std::optional<io::PlainRows> place = find_place("");
    if (!place) return {};
    const layout::BlockMap map(problem_.n, pages);
    const auto rows = [&](index_t p) {
      return layout::Range{map.begin(p), map.begin(p) + in_page};
    };
    for (index_t p = 0; p < pages; ++p) place->will_read(rows(p));
    std::string sample(static_cast<std::size_t>(pages * in_page) * sizeof(T), '\0');
    for (index_t p = 0; p < pages; ++p) {
      std::byte* const to = reinterpret_cast<std::byte*>(sample.data()) +
                            p * in_page * static_cast<index_t>(sizeof(T));
      place->read(rows(p), {&to, 1}, in_page, [](layout::Range) {});
    }
    return sample;
  }

  [[nodiscard]] std::optional<std::uint64_t> divide_by(const std::string& sample, index_t buckets,
                                                       index_t most) override {
    std::vector<T> keys(sample.size() / sizeof(T)), grouped(keys.size());
    std::copy_n(reinterpret_cast<const std::byte*>(sample.data()), sample.size(),
                std::as_writable_bytes(std::span(keys)).begin());
    divider_.emplace(keys, std::min(buckets, tessera::sort::Divider<T>::most_buckets), order());
    std::vector<index_t> begin(static_cast<std::size_t>(divider_->buckets()) + 1);
    divider_->divide(keys, grouped, begin);
    const double each = static_cast<double>(problem_.n) / static_cast<double>(keys.size());
    for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
      if (each * static_cast<double>(begin[b + 1] - begin[b]) > static_cast<double>(most))
        return std::nullopt;
    }
    return divider_->fingerprint();
  }

  [[nodiscard]] Sorted divide(const Slice& slice, const Sink& sink, mpi::Phases& phases) override {
    ReadAhead::Taken now = taken({&slice, 1}, phases);
    Sorted result{
        .rows_read = slice.rows.size(), .rows = slice.rows.size(), .hash_before = now.look};
    result.hash_after = now.look;  // verified later, from the parts
    const std::span<T> keys = keys_of(now.room, result.rows), grouped = spare_keys(result.rows);
    std::vector<index_t> begin(static_cast<std::size_t>(divider_->buckets()) + 1);
    {
      const mpi::PhaseScope scope(phases, "divide");
      const mpi::Computing computing;
      machine::parallel(threads(), [&] { divider_->divide(keys, grouped, begin); });
    }
    result.samples.assign(begin.begin(), begin.end());
    rows_.swap_spare(now.room);
    hand_on(result, grouped, now.room, sink, phases);
    return result;
  }

 private:
  [[nodiscard]] dist::sort::Order order() const { return problem_.by.front().order; }
  /// Reading and writing take about one thread.
  [[nodiscard]] int threads() const { return std::max(1, problem_.method.threads - 1); }

  /// Returns the location of rows of the input (empty name) or of a run.
  [[nodiscard]] std::optional<io::PlainRows> find_place(const std::string& file) const {
    if (!file.empty()) return io::PlainRows::of(file, columns_.front().column, element_of<T>);
    if (problem_.generated()) return std::nullopt;
    return io::PlainRows::of(inputs_.data->name().file, problem_.by.front().column, element_of<T>);
  }
  [[nodiscard]] std::span<T> keys_of(std::size_t room, index_t n) {
    return {reinterpret_cast<T*>(rows_.columns_of(room)[0]), static_cast<std::size_t>(n)};
  }
  [[nodiscard]] std::span<T> spare_keys(index_t n) { return keys_of(rows_.spare(), n); }

  /// Returns the hash of keys read from the input.
  [[nodiscard]] std::uint64_t look(const Slice& slice, std::span<const T> keys) const {
    return verify_ && slice.file.empty() ? tessera::sort::content(keys, problem_.seed).hash : 0;
  }
  ReadAhead::Taken taken(std::span<const Slice> slices, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "read");
    return rows_.take(slices);
  }

  /// Writes the keys; their buffer is reused for reading once it is written.
  void hand_on(const Sorted& result, std::span<const T> keys, std::size_t room, const Sink& sink,
               mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "write");
    sink(result, 0, std::as_bytes(keys), nullptr);
    rows_.hand_on(room);
  }

  /// Sorts the keys; verifies their order and hashes them.
  void sort_all(std::span<T> keys, Sorted& result, mpi::Phases& phases) {
    tessera::sort::Watch<T> watch(keys, order(), problem_.seed);
    tessera::sort::Done done;
    if (verify_) done = [&](const void* first, index_t n) { watch.saw(first, n); };
    {
      const mpi::PhaseScope scope(phases, "sort");
      const mpi::Computing computing;
      machine::parallel(threads(), [&] {
        tessera::sort::sort_keys(problem_.method.kernel, keys,
                                 spare_keys(static_cast<index_t>(keys.size())), order(),
                                 problem_.method.tuning, done);
      });
    }
    if (!verify_) return;
    const mpi::PhaseScope scope(phases, "verify");
    machine::parallel(threads(), [&] {
      const auto seen = watch.conclude();
      result.hash_after = seen.content.hash;
      result.faults = seen.sorted ? 0 : 1;
    });
  }

  /// Returns the kept keys, the first of the sorted ones, in place.
  std::span<const T> kept(std::span<T> keys, index_t most, Sorted& result, mpi::Phases& phases) {
    if (problem_.unique) {
      const mpi::PhaseScope scope(phases, "distinct");
      const auto self = mpi::Communicator::self();
      const std::span<const T> sorted = keys;
      const std::span<T> room = spare_keys(static_cast<index_t>(keys.size()));
      const index_t n = dist::sort::keep_distinct(self, sorted, order(), room.data());
      const std::span<const T> distinct = room.first(static_cast<std::size_t>(n));
      if (verify_) result.faults += dist::sort::faults_of_distinct(self, sorted, distinct, order());
      std::copy(distinct.begin(), distinct.end(), keys.begin());
      keys = keys.first(distinct.size());
    }
    keys = keys.first(std::min(keys.size(), static_cast<std::size_t>(most)));
    result.rows = static_cast<index_t>(keys.size());
    return keys;
  }

  [[nodiscard]] std::uint64_t word(const T& key) const {
    const auto map = tessera::sort::key_map<T>(order());
    if (problem_.unique) return dist::sort::number_bits(key, map);
    return map.to_bits(std::bit_cast<tessera::sort::Bits<T>>(key));
  }

  /// Reads rows and returns their hash.
  std::uint64_t read(std::span<const Slice> slices, T* to) const {
    std::uint64_t hash = 0;
    for (const Slice& slice : slices) {
      if (slice.file.empty() && verify_) {
        hash += load_and_hash(inputs_, problem_, slice.rows, to).hash;
      } else if (slice.file.empty()) {
        load(inputs_, problem_, problem_.by.front(), slice.rows, reinterpret_cast<std::byte*>(to));
      } else {
        io::read_numbers(slice.file, columns_.front().column, slice.rows, element_of<T>,
                         reinterpret_cast<std::byte*>(to));
      }
      to += slice.rows.size();
    }
    return hash;
  }

  std::uint64_t hash(std::span<const T> keys, mpi::Phases& phases) const {
    const mpi::PhaseScope scope(phases, "verify");
    std::uint64_t hash = 0;
    machine::parallel(threads(), [&] { hash = tessera::sort::content(keys, problem_.seed).hash; });
    return hash;
  }

  const Inputs& inputs_;
  const Problem& problem_;
  bool verify_;
  std::vector<PieceColumn> columns_;
  std::optional<tessera::sort::Divider<T>> divider_;
  ReadAhead rows_;  // declared last, so that it ends before the members that it uses
};

}  // namespace

std::unique_ptr<RowPieces> make_key_pieces(const Inputs& inputs, const Problem& problem,
                                           bool verify, io::FileQueue& queue) {
  return dispatch_element(*problem.by.front().form.number,
                          [&]<class T>(Type<T>) -> std::unique_ptr<RowPieces> {
                            return std::make_unique<KeyPieces<T>>(inputs, problem, verify, queue);
                          });
}

}  // namespace tessera::inline v1::workloads::sort
