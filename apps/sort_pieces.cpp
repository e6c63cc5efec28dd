#include "sort_pieces.hpp"

#include <numeric>

#include "dist/sort/check.hpp"
#include "dist/sort/first_rows.hpp"
#include "dist/sort/some_keys.hpp"
#include "kernels/sort/variants.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/watchdog.hpp"

namespace tessera::apps::sort {
namespace {

using dist::sort::ColumnView;
using dist::sort::KeyColumn;
using machine::Buffer;

index_t rows_of(std::span<const Slice> slices) {
  index_t rows = 0;
  for (const Slice& slice : slices) rows += slice.rows.size();
  return rows;
}

std::vector<index_t> sampled_places(index_t rows, index_t step) {
  std::vector<index_t> places;
  for (index_t place = 0; place < rows; place += step) places.push_back(place);
  return places;
}

/// Words of all columns of rows [0, n), row by row.
std::vector<std::uint64_t> row_words(const std::vector<KeyColumn>& columns, index_t n) {
  std::size_t width = 0, at = 0;
  for (const KeyColumn& column : columns) width += static_cast<std::size_t>(column.form.words());
  std::vector<std::uint64_t> result(static_cast<std::size_t>(n) * width), words(static_cast<std::size_t>(n));
  for (const KeyColumn& column : columns) {
    for (index_t w = 0; w < column.form.words(); ++w, ++at) {
      key_word(column, w, n, words.data(), 1);
      for (std::size_t j = 0; j < words.size(); ++j) result[j * width + at] = words[j];
    }
  }
  return result;
}

/// Plain keys: sorted as they are, by their total order.
template <class T>
class KeyPieces final : public Pieces {
 public:
  KeyPieces(const Inputs& inputs, const Request& request, bool verify)
      : inputs_(inputs), request_(request), verify_(verify) {
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
  [[nodiscard]] std::size_t words() const override { return 1; }

  [[nodiscard]] Sorted sort(std::span<const Slice> slices, index_t most, index_t step, const Sink& sink,
                            mpi::Phases& phases) override {
    Sorted result{.came = rows_of(slices)};
    reserve(result.came);
    const auto items = std::make_shared<Buffer<T>>(result.came);
    {
      const mpi::PhaseScope scope(phases, "read");
      result.hash_before = read(slices, items->data());
    }
    sort_all(items->span(), result, phases);
    const bool from_input = slices.empty() || slices.front().file.empty();
    const std::span<const T> keys = kept(items->span(), most, result, phases);
    if (from_input && result.hash_before != result.hash_after) ++result.faults;
    result.hash_before = result.hash_after;  // runs are not hashed as they are read
    if (verify_ && result.rows < result.came) result.hash_after = hash(keys, phases);
    if (!keys.empty()) {
      result.first = {word(keys.front())};
      result.last = {word(keys.back())};
    }
    for (const index_t place : sampled_places(result.rows, step))
      result.samples.push_back(word(keys[static_cast<std::size_t>(place)]));
    const mpi::PhaseScope scope(phases, "write");
    sink(result, 0, std::as_bytes(keys), items);
    return result;
  }

  [[nodiscard]] std::vector<std::uint64_t> words_of(const Slice& slice) const override {
    std::vector<T> keys(static_cast<std::size_t>(slice.rows.size()));
    read({&slice, 1}, keys.data());
    std::vector<std::uint64_t> words;
    for (const T& key : keys) words.push_back(word(key));
    return words;
  }

 private:
  [[nodiscard]] dist::sort::Order order() const { return request_.by.front().order; }

  void reserve(index_t rows) {
    if (spare_.size() >= rows) return;
    spare_ = {};
    spare_ = Buffer<T>(rows);
  }

  /// Also looks whether they are in order then, and hashes them.
  void sort_all(std::span<T> keys, Sorted& result, mpi::Phases& phases) {
    tessera::sort::Watch<T> watch(keys, order(), request_.seed);
    tessera::sort::Done done;
    if (verify_) done = [&](const void* first, index_t n) { watch.saw(first, n); };
    {
      const mpi::PhaseScope scope(phases, "sort");
      const mpi::Computing computing;
      machine::parallel(request_.method.threads, [&] {
        tessera::sort::sort_keys(request_.method.kernel, keys, spare_.span().first(keys.size()), order(),
                                 request_.method.tuning, done);
      });
    }
    if (!verify_) return;
    const mpi::PhaseScope scope(phases, "verify");
    machine::parallel(request_.method.threads, [&] {
      const auto seen = watch.conclude();
      result.hash_after = seen.content.hash;
      result.faults = seen.sorted ? 0 : 1;
    });
  }

  /// The first of the sorted keys, in place.
  std::span<const T> kept(std::span<T> keys, index_t most, Sorted& result, mpi::Phases& phases) {
    if (request_.unique) {
      const mpi::PhaseScope scope(phases, "distinct");
      const auto self = mpi::Communicator::self();
      const std::span<const T> sorted = keys;
      const index_t n = dist::sort::keep_distinct(self, sorted, order(), spare_.data());
      const std::span<const T> distinct = spare_.span().first(static_cast<std::size_t>(n));
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
    if (request_.unique) return dist::sort::number_bits(key, map);
    return map.to_bits(std::bit_cast<tessera::sort::Bits<T>>(key));
  }

  /// Returns the hash of the rows.
  std::uint64_t read(std::span<const Slice> slices, T* to) const {
    std::uint64_t hash = 0;
    for (const Slice& slice : slices) {
      if (slice.file.empty() && verify_) {
        hash += load_and_hash(inputs_, request_, slice.rows, to).hash;
      } else if (slice.file.empty()) {
        load(inputs_, request_, request_.by.front(), slice.rows, reinterpret_cast<std::byte*>(to));
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
    machine::parallel(request_.method.threads,
                      [&] { hash = tessera::sort::content(keys, request_.seed).hash; });
    return hash;
  }

  const Inputs& inputs_;
  const Request& request_;
  bool verify_;
  std::vector<PieceColumn> columns_;
  Buffer<T> spare_;
};

/// Rows of a table: a permutation is made from the key columns, and every column follows it.
class TablePieces final : public Pieces {
 public:
  TablePieces(const Inputs& inputs, const Request& request, bool verify, bool with_index)
      : inputs_(inputs), request_(request), verify_(verify) {
    for (const io::Column& column : request.carried) columns_.push_back({column});
    for (const SortColumn& key : request.by) {  // runs hold every key, wanted or not
      const auto same = [&](const PieceColumn& one) { return one.column.path == key.column.path; };
      if (std::none_of(columns_.begin(), columns_.end(), same)) columns_.push_back({whole(key.column)});
    }
    if (with_index) {
      io::DatasetInfo info;
      info.shape = {0};
      info.element_bytes = 8;
      columns_.push_back({{.name = "index", .path = index_path, .info = info}, true});
    }
  }

  [[nodiscard]] const std::vector<PieceColumn>& columns() const override { return columns_; }
  [[nodiscard]] io::Handle stored_type(const PieceColumn& one) const override {
    if (one.is_index) return io::owned_type(Element::i64);
    return io::stored_type(inputs_.data->name(one.column));
  }
  [[nodiscard]] std::size_t words() const override {
    index_t words = 0;
    for (const SortColumn& key : request_.by) words += key.form.words();
    return static_cast<std::size_t>(words);
  }
  /// The permutation, with the keys and what argsort works in (two pairs, two words), or with the hash and a
  /// column three times.
  [[nodiscard]] index_t row_bytes() const override {
    index_t keys = 0, widest = 0;
    for (const SortColumn& key : request_.by) keys += key.form.bytes;
    for (const PieceColumn& one : columns_) widest = std::max(widest, one.column.row_bytes());
    return 8 + std::max(keys + 2 * 16 + 2 * 8, 16 + 3 * widest);
  }

  [[nodiscard]] Sorted sort(std::span<const Slice> slices, index_t most, index_t step, const Sink& sink,
                            mpi::Phases& phases) override {
    Sorted result{.came = rows_of(slices)};
    const index_t all = result.came;
    const std::vector<std::uint64_t> permutation = order_of(slices, most, step, result, phases);
    Buffer<std::uint64_t> before, after;
    if (verify_) {
      before = Buffer<std::uint64_t>(all);
      after = Buffer<std::uint64_t>(result.rows);
      for (Buffer<std::uint64_t>* hash : {&before, &after})
        std::fill(hash->begin(), hash->end(), request_.seed);
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const index_t bytes = columns_[c].column.row_bytes();
      Buffer<std::byte> in(checked_mul(all, bytes, "a column"));
      const auto out = std::make_shared<Buffer<std::byte>>(result.rows * bytes);
      {
        const mpi::PhaseScope scope(phases, "read");
        read(slices, columns_[c], in.data());
      }
      {
        const mpi::PhaseScope scope(phases, "permute");
        dist::sort::gather(mpi::Communicator::self(), layout::BlockMap(all, 1), {in.data(), bytes},
                           permutation, out->data(), request_.method.threads);
      }
      if (verify_ && !columns_[c].is_index) {
        const mpi::PhaseScope scope(phases, "verify");
        dist::sort::hash_rows({in.data(), bytes}, before.span(), request_.method.threads);
        dist::sort::hash_rows({out->data(), bytes}, after.span(), request_.method.threads);
      }
      const mpi::PhaseScope scope(phases, "write");
      sink(result, c, std::as_const(*out).span(), out);
    }
    if (result.rows < all) {  // then row by row
      for (index_t j = 0; j < after.size(); ++j)
        result.faults +=
            after[j] == before[static_cast<index_t>(permutation[static_cast<std::size_t>(j)])] ? 0 : 1;
    }
    result.hash_before = std::accumulate(before.begin(), before.end(), std::uint64_t{0});
    result.hash_after = std::accumulate(after.begin(), after.end(), std::uint64_t{0});
    if (result.rows == all && result.hash_before != result.hash_after) ++result.faults;
    return result;
  }

  [[nodiscard]] std::vector<std::uint64_t> words_of(const Slice& slice) const override {
    std::vector<Buffer<std::byte>> data;
    return row_words(read_keys({&slice, 1}, data), slice.rows.size());
  }

 private:
  /// The dataset that a member is of.
  [[nodiscard]] io::Column whole(const io::Column& column) const {
    if (column.member.empty()) return column;
    return io::inspect_table(inputs_.data->name(column)).columns.front();
  }

  std::vector<KeyColumn> read_keys(std::span<const Slice> slices,
                                   std::vector<Buffer<std::byte>>& data) const {
    std::vector<KeyColumn> columns;
    for (const SortColumn& key : request_.by) {
      data.emplace_back(checked_mul(rows_of(slices), key.form.bytes, "a key column"));
      std::byte* to = data.back().data();
      for (const Slice& slice : slices) {
        read_key(slice.file.empty() ? inputs_.data->name().file : slice.file, key, slice.rows, to);
        to += slice.rows.size() * key.form.bytes;
      }
      columns.push_back({key.form, data.back().data(), key.order});
    }
    return columns;
  }

  /// The stable permutation of the rows, its first `most` or the first of each key; also number, words and
  /// faults of the result.
  std::vector<std::uint64_t> order_of(std::span<const Slice> slices, index_t most, index_t step,
                                      Sorted& result, mpi::Phases& phases) const {
    const auto self = mpi::Communicator::self();
    const layout::BlockMap map(result.came, 1);
    std::vector<Buffer<std::byte>> data;
    std::vector<KeyColumn> columns;
    {
      const mpi::PhaseScope scope(phases, "read");
      columns = read_keys(slices, data);
    }
    std::vector<std::uint64_t> permutation(static_cast<std::size_t>(result.came));
    argsort(self, map, columns, request_.method, permutation.data(), phases);
    if (verify_) {
      const mpi::PhaseScope scope(phases, "verify");
      result.faults = faults(self, map, columns, permutation, request_.seed, request_.method.threads);
    }
    if (request_.unique) {
      const mpi::PhaseScope scope(phases, "distinct");
      permutation = first_of_each(self, map, columns, permutation, request_.method.threads);
    }
    result.rows = std::min(most, static_cast<index_t>(permutation.size()));
    permutation.resize(static_cast<std::size_t>(result.rows));
    result.samples = words_at(columns, permutation, sampled_places(result.rows, step));
    if (result.rows > 0) {
      result.first = words_at(columns, permutation, {0});
      result.last = words_at(columns, permutation, {result.rows - 1});
    }
    return permutation;
  }

  static std::vector<std::uint64_t> words_at(const std::vector<KeyColumn>& columns,
                                             std::span<const std::uint64_t> permutation,
                                             const std::vector<index_t>& places) {
    std::vector<KeyColumn> some = columns;
    std::vector<std::vector<std::byte>> data;
    for (KeyColumn& column : some) {
      const index_t bytes = column.form.bytes;
      data.emplace_back(places.size() * static_cast<std::size_t>(bytes));
      for (std::size_t j = 0; j < places.size(); ++j) {
        const auto row = static_cast<index_t>(permutation[static_cast<std::size_t>(places[j])]);
        std::copy_n(column.data + row * bytes, bytes, data.back().data() + static_cast<index_t>(j) * bytes);
      }
      column.data = data.back().data();
    }
    return row_words(some, static_cast<index_t>(places.size()));
  }

  void read(std::span<const Slice> slices, const PieceColumn& one, std::byte* to) const {
    for (const Slice& slice : slices) {
      if (one.is_index && slice.file.empty())
        std::iota(reinterpret_cast<index_t*>(to), reinterpret_cast<index_t*>(to) + slice.rows.size(),
                  slice.rows.begin);
      else
        io::read_stored(slice.file.empty() ? inputs_.data->name().file : slice.file, one.column, slice.rows,
                        to);
      to += slice.rows.size() * one.column.row_bytes();
      mpi::heartbeat();
    }
  }

  const Inputs& inputs_;
  const Request& request_;
  bool verify_;
  std::vector<PieceColumn> columns_;
};

}  // namespace

std::unique_ptr<Pieces> make_pieces(const Inputs& inputs, const Request& request, bool verify,
                                    bool with_index) {
  if (request.task == Task::permutation)
    return std::make_unique<TablePieces>(inputs, request, verify, with_index);
  return dispatch_element(*request.by.front().form.number, [&]<class T>(Type<T>) -> std::unique_ptr<Pieces> {
    return std::make_unique<KeyPieces<T>>(inputs, request, verify);
  });
}

}  // namespace tessera::apps::sort
