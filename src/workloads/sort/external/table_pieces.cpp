// Out-of-core sort of table rows: reads rows ahead as stored, and divides them by the leading words
// of their keys, or orders them by an argsort.

#include <algorithm>
#include <atomic>
#include <numeric>

#include "dist/sort/check.hpp"
#include "dist/sort/column_words.hpp"
#include "dist/sort/row_divider.hpp"
#include "kernels/sort/by_words.hpp"
#include "kernels/sort/row_moves.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"
#include "workloads/sort/external/read_ahead.hpp"
#include "workloads/sort/external/table_keys.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using dist::sort::ColumnWords;
using dist::sort::KeyColumn;
using dist::sort::RowDivider;
using machine::Buffer;
using tessera::sort::Pair;

constexpr index_t grain = 1 << 14;    // rows of one task
constexpr index_t at_once = 1 << 10;  // rows: their working set fits a second-level cache

class TablePieces final : public RowPieces {
 public:
  TablePieces(const Inputs& inputs, const Problem& problem, bool verify, bool with_index,
              io::FileQueue& queue)
      : inputs_(inputs), problem_(problem), verify_(verify) {
    choose_columns(with_index);
    std::vector<index_t> row_bytes;
    for (const PieceColumn& one : columns_) row_bytes.push_back(one.column.row_bytes());
    rows_.emplace(row_bytes, queue,
                  ReadAhead::RowSource{
                      [this](const std::string& file) { return find_place(file); },
                      [this](std::span<const Slice> slices, const ReadAhead::Pointers& to) {
                        return read(slices, to);
                      },
                      [this](const Slice& slice, layout::Range rows,
                             const ReadAhead::Pointers& at) { return arrived(slice, rows, at); }});
  }

  [[nodiscard]] const std::vector<PieceColumn>& columns() const override { return columns_; }
  [[nodiscard]] io::Handle stored_type(const PieceColumn& one) const override {
    if (one.is_index) return io::owned_type(Element::i64);
    return io::stored_type(inputs_.data->name(one.column));
  }
  [[nodiscard]] std::size_t words() const override {
    index_t words = 0;
    for (const SortColumn& key : problem_.by) words += key.form.words();
    return static_cast<std::size_t>(words);
  }
  /// Returns the bytes of a row: three buffers, the pairs with their spare ones, converted keys.
  [[nodiscard]] index_t row_bytes() const override {
    index_t bytes = index_t{2 * sizeof(Pair)} + keys_->row_bytes();
    for (const PieceColumn& one : columns_) bytes += 3 * one.column.row_bytes();
    return bytes;
  }

  [[nodiscard]] index_t buffer_bytes() const override { return pair_buffer_bytes(threads()); }

  void prepare(index_t rows) override {
    rows_->prepare(rows);
    pairs_ = Buffer<Pair>(rows);
    spare_ = Buffer<Pair>(rows);
    keys_->prepare(rows);
  }
  void expect(std::span<const Slice> slices) override { rows_->expect(slices); }
  [[nodiscard]] io::FileTraffic take_traffic() override { return rows_->take_traffic(); }

  [[nodiscard]] Sorted sort(std::span<const Slice> slices, index_t most, index_t step,
                            const Sink& sink, mpi::Phases& phases) override {
    ReadAhead::Taken now = taken(slices, phases);
    Sorted result{.rows_read = rows_of(slices), .hash_before = now.look};
    const auto keys = keys_->of_rows(rows_->columns_of(now.room), result.rows_read);
    auto places = sorted_places(keys, buckets_of(slices), result.rows_read, phases);
    if (selects_rows()) places = chosen(keys, places, most, result, phases);
    result.rows = static_cast<index_t>(places.size());
    move(keys, places, now.room, result, phases);
    const bool from_input = slices.empty() || slices.front().file.empty();
    if (!selects_rows()) {
      if (from_input && verify_ && result.hash_before != result.hash_after) ++result.faults;
      result.hash_before = result.hash_after;  // runs are not hashed as they are read
    }
    std::vector<std::uint64_t> some;
    for (auto j = std::size_t{0}; j < places.size(); j += static_cast<std::size_t>(step))
      some.push_back(places[j]);
    const std::vector<KeyColumn> requested = by_request(keys);
    result.samples = row_words(requested, some, words());
    if (result.rows > 0) {
      result.first = row_words(requested, places.first(1), words());
      result.last = row_words(requested, places.last(1), words());
    }
    rows_->swap_spare(now.room);
    hand_on(result, now.room, sink, phases);
    return result;
  }

  [[nodiscard]] std::vector<std::uint64_t> words_of(const Slice& slice) const override {
    std::vector<Buffer<std::byte>> data;
    std::vector<KeyColumn> columns;
    for (const SortColumn& key : problem_.by) {
      data.emplace_back(checked_mul(slice.rows.size(), key.form.bytes, "a key column"));
      read_key(slice.file, key, slice.rows, data.back().data());
      columns.push_back({key.form, data.back().data(), key.order});
    }
    return row_words(by_request(columns), {0, slice.rows.size()}, words());
  }

  /// Returns the leading words of a few rows of pages spread over the table.
  [[nodiscard]] std::string sample() const override {
    constexpr index_t pages = 256, in_page = RowDivider::most_samples / pages;
    if (selects_rows() || problem_.n < pages * in_page) return {};
    const auto words = keys_->sample(problem_.n, pages, in_page, leading_words());
    return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
  }
  [[nodiscard]] std::optional<std::uint64_t> divide_by(const std::string& sample, index_t buckets,
                                                       index_t most) override {
    constexpr index_t in_cache =
        40000;  // rows whose words fit a second-level cache while they are sorted
    std::vector<std::uint64_t> words(sample.size() / sizeof(std::uint64_t));
    std::copy_n(sample.data(), sample.size(), reinterpret_cast<char*>(words.data()));
    divider_.emplace(words, leading_words(), std::max(buckets, problem_.n / in_cache));
    if (divider_->greatest() * static_cast<double>(problem_.n) > static_cast<double>(most))
      return std::nullopt;
    return divider_->fingerprint();
  }

  [[nodiscard]] Sorted divide(const Slice& slice, const Sink& sink, mpi::Phases& phases) override {
    ReadAhead::Taken now = taken({&slice, 1}, phases);
    const index_t n = slice.rows.size();
    Sorted result{.rows_read = n, .rows = n, .hash_before = now.look, .hash_after = now.look};
    const std::vector<KeyColumn> keys = keys_->of_rows(rows_->columns_of(now.room), n);
    std::vector<index_t> begin(static_cast<std::size_t>(divider_->buckets()) + 1);
    {
      const mpi::PhaseScope scope(phases, "divide");
      const mpi::Computing computing;
      const std::span<std::uint16_t> bucket(reinterpret_cast<std::uint16_t*>(pairs_.data()),
                                            static_cast<std::size_t>(n));
      machine::parallel(threads(), [&] {
        machine::parallel_for(0, n, grain, [&](index_t first, index_t end) {
          divider_->classify(keys, {first, end}, bucket.data());
        });
        tessera::sort::group_rows(bucket, moved(now.room), begin);
      });
    }
    result.samples.assign(begin.begin(), begin.end());
    rows_->swap_spare(now.room);
    hand_on(result, now.room, sink, phases);
    return result;
  }

 private:
  /// Returns the keys whose words are compared: rows equal to --unique have equal words.
  [[nodiscard]] std::vector<KeyColumn> by_request(const std::vector<KeyColumn>& keys) const {
    return problem_.unique ? dist::sort::by_number(keys) : keys;
  }

  /// Chooses the columns of runs: all carried self-contained ones, and every key's.
  void choose_columns(bool with_index) {
    for (const io::Column& column : problem_.carried)
      if (column.info.self_contained) columns_.push_back({column});
    std::vector<TableKeys::Holder> holders;
    for (const SortColumn& key : problem_.by) {
      const auto same = [&](const PieceColumn& one) { return one.column.path == key.column.path; };
      auto found = std::ranges::find_if(columns_, same);
      if (found == columns_.end()) found = columns_.insert(found, {whole(key.column), false, true});
      holders.push_back({&key, static_cast<std::size_t>(found - columns_.begin())});
    }
    keys_.emplace(inputs_.data->name().file, holders);
    for (const PieceColumn& one : columns_) stored_.push_back(one.column);
    if (!with_index) return;
    io::DatasetInfo info;
    info.shape = {0};
    info.element_bytes = 8;
    columns_.push_back({{.name = "index", .path = index_path, .info = info}, true});
  }
  /// Returns the dataset of a member.
  [[nodiscard]] io::Column whole(const io::Column& column) const {
    if (column.member.empty()) return column;
    return io::inspect_table(inputs_.data->name(column)).columns.front();
  }

  /// Returns whether some rows are dropped.
  [[nodiscard]] bool selects_rows() const { return problem_.unique || problem_.takes_first(); }
  [[nodiscard]] int threads() const { return problem_.method.threads; }
  [[nodiscard]] std::size_t leading_words() const {
    return std::min(words(), RowDivider::most_words);
  }
  [[nodiscard]] bool has_index() const { return columns_.back().is_index; }

  [[nodiscard]] std::optional<io::PlainRows> find_place(const std::string& file) const {
    if (file.empty()) return io::PlainRows::stored(inputs_.data->name().file, stored_);
    std::vector<io::Column> all;
    for (const PieceColumn& one : columns_) all.push_back(one.column);
    return io::PlainRows::stored(file, all);
  }

  /// Returns the hash of rows read from the input, and sets their row numbers.
  std::uint64_t arrived(const Slice& slice, layout::Range rows,
                        const ReadAhead::Pointers& at) const {
    const bool from_input = slice.file.empty();
    if (from_input && has_index()) {
      auto* const index = reinterpret_cast<index_t*>(at.back());
      std::iota(index, index + rows.size(), rows.begin);
    }
    return verify_ && (from_input || selects_rows()) ? hash(at, rows.size()) : 0;
  }
  [[nodiscard]] std::uint64_t hash(const ReadAhead::Pointers& at, index_t n) const {
    std::vector<tessera::sort::RowColumn> columns;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      columns.push_back({at[c], columns_[c].column.row_bytes()});
    return tessera::sort::hash_of_rows(columns, n, problem_.seed);
  }
  [[nodiscard]] ReadAhead::Pointers from(ReadAhead::Pointers columns, index_t row) const {
    for (std::size_t c = 0; c < columns.size(); ++c)
      columns[c] += row * columns_[c].column.row_bytes();
    return columns;
  }

  /// Reads through HDF5. Returns the hash of the rows read.
  std::uint64_t read(std::span<const Slice> slices, const ReadAhead::Pointers& to) const {
    std::atomic<std::uint64_t> sum = 0;
    index_t first = 0;
    for (const Slice& slice : slices) {
      const ReadAhead::Pointers here = from(to, first);
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (columns_[c].is_index && slice.file.empty()) continue;
        io::read_stored(slice.file.empty() ? inputs_.data->name().file : slice.file,
                        columns_[c].column, slice.rows, here[c]);
        mpi::heartbeat();
      }
      machine::parallel(threads(), [&] {
        machine::parallel_for(0, slice.rows.size(), grain, [&](index_t begin, index_t end) {
          sum +=
              arrived(slice, {slice.rows.begin + begin, slice.rows.begin + end}, from(here, begin));
        });
      });
      first += slice.rows.size();
    }
    return sum;
  }

  ReadAhead::Taken taken(std::span<const Slice> slices, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "read");
    return rows_->take(slices);
  }
  void hand_on(const Sorted& result, std::size_t room, const Sink& sink, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "write");
    const ReadAhead::Pointers data = rows_->columns_of(room);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto bytes = static_cast<std::size_t>(result.rows * columns_[c].column.row_bytes());
      sink(result, c, {data[c], bytes}, nullptr);
    }
    rows_->hand_on(room);
  }

  /// Returns the moves of all columns from this buffer to the spare one.
  [[nodiscard]] std::vector<tessera::sort::MovedColumn> moved(std::size_t room) {
    const ReadAhead::Pointers now = rows_->columns_of(room), to = rows_->columns_of(rows_->spare());
    std::vector<tessera::sort::MovedColumn> columns;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      columns.push_back({now[c], to[c], columns_[c].column.row_bytes()});
    return columns;
  }

  /// Returns the stable permutation that sorts the rows, in the spare pairs' memory. A bucket fits
  /// a second-level cache.
  std::span<const std::uint64_t> sorted_places(const std::vector<KeyColumn>& keys,
                                               std::vector<RoomRows> buckets, index_t n,
                                               mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "sort");
    const mpi::Computing computing;
    const auto* const kernel = find_variant(tessera::sort::variants(), problem_.method.kernel);
    const bool on_device = kernel != nullptr && kernel->space != Space::host;
    if (on_device) buckets = {{{0, n}}};  // called outside of any parallel region
    std::vector<ColumnWords> words;
    std::vector<std::size_t> first{0};
    for (const RoomRows& rows : buckets) {
      words.emplace_back(keys, rows);
      first.push_back(first.back() + static_cast<std::size_t>(words.back().size()));
    }
    const auto sort_bucket = [&](index_t b, index_t) {
      const auto bucket = static_cast<std::size_t>(b);
      const auto some = [&](std::span<Pair> all) {
        return all.subspan(first[bucket], first[bucket + 1] - first[bucket]);
      };
      tessera::sort::ByWords(words[bucket], some(pairs_.span()), some(spare_.span()),
                             problem_.method.kernel, problem_.method.tuning)
          .sort();
    };
    auto* const places = reinterpret_cast<std::uint64_t*>(spare_.data());
    machine::parallel(on_device ? 1 : threads(), [&] {
      machine::parallel_for(0, static_cast<index_t>(words.size()), 1, sort_bucket);
      machine::parallel_for(0, n, grain, [&](index_t begin, index_t end) {
        for (index_t j = begin; j < end; ++j) places[j] = pairs_[j].index;
      });
    });
    return {places, static_cast<std::size_t>(n)};
  }

  /// Calls body(begin, end) for blocks of rows that fit a cache, in parallel.
  static void for_blocks(index_t n, const auto& body) {
    machine::parallel_for(0, ceil_div(n, at_once), 1, [&](index_t block, index_t) {
      body(block * at_once, std::min(n, (block + 1) * at_once));
    });
  }
  /// Returns one bit per row, whether it equals its predecessor, in the pairs' memory.
  [[nodiscard]] unsigned char* flags() { return reinterpret_cast<unsigned char*>(pairs_.data()); }

  /// Returns the places of the kept rows: the first ones, or the first of each key. Verifies the
  /// permutation.
  std::span<const std::uint64_t> chosen(const std::vector<KeyColumn>& keys,
                                        std::span<const std::uint64_t> places, index_t most,
                                        Sorted& result, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "distinct");
    std::atomic<index_t> wrong = 0;
    machine::parallel(threads(), [&] {
      for_blocks(result.rows_read, [&](index_t begin, index_t end) {
        wrong += look_at_rows(keys, places, {begin, end}, flags());
        if (problem_.unique) (void)look_at_rows(by_request(keys), places, {begin, end}, flags());
      });
    });
    if (verify_) {
      const bool whole = dist::sort::is_permutation(
          mpi::Communicator::self(), {result.rows_read, 1}, places, {problem_.seed, 1});
      result.faults += wrong + (whole ? 0 : 1);
    }
    auto* const kept = reinterpret_cast<std::uint64_t*>(spare_.data());
    std::size_t n = 0;
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (!problem_.unique || !dist::sort::is_set(flags(), static_cast<index_t>(j)))
        kept[n++] = places[j];
    }
    return places.first(std::min(n, static_cast<std::size_t>(most)));
  }

  /// Moves rows places[0], places[1], ... of this buffer to the spare one; verifies them while they
  /// are in a cache.
  void move(const std::vector<KeyColumn>& keys, std::span<const std::uint64_t> places,
            std::size_t room, Sorted& result, mpi::Phases& phases) {
    const mpi::PhaseScope scope(phases, "permute");
    const mpi::Computing computing;
    const std::vector<tessera::sort::MovedColumn> columns = moved(room);
    const ReadAhead::Pointers to = rows_->columns_of(rows_->spare());
    std::atomic<std::uint64_t> sum = 0;
    std::atomic<index_t> wrong = 0;
    machine::parallel(threads(), [&] {
      for_blocks(result.rows, [&](index_t begin, index_t end) {
        const auto some =
            places.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
        if (verify_ && !selects_rows()) wrong += look_at_rows(keys, places, {begin, end}, flags());
        for (const auto& column : columns)
          tessera::sort::gather_rows(column.from, column.bytes, some,
                                     column.to + begin * column.bytes);
        if (!verify_) return;
        sum += hash(from(to, begin), end - begin);
        if (selects_rows()) wrong += tessera::sort::count_differing(columns, some, begin);
      });
    });
    result.hash_after = sum;
    result.faults += wrong;
  }

  const Inputs& inputs_;
  const Problem& problem_;
  bool verify_;
  std::vector<PieceColumn> columns_;
  std::vector<io::Column> stored_;  // columns that the input has
  std::optional<TableKeys> keys_;
  std::optional<RowDivider> divider_;
  Buffer<Pair> pairs_, spare_;     // also results about rows after they are sorted
  std::optional<ReadAhead> rows_;  // declared last, so that it ends before the members that it uses
};

}  // namespace

std::unique_ptr<RowPieces> make_table_pieces(const Inputs& inputs, const Problem& problem,
                                             bool verify, bool with_index, io::FileQueue& queue) {
  return std::make_unique<TablePieces>(inputs, problem, verify, with_index, queue);
}

}  // namespace tessera::inline v1::workloads::sort
