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

  void prepare(index_t) override {}
  void expect(std::span<const Slice>) override {}
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

index_t rows_of(std::span<const Slice> slices) {
  index_t rows = 0;
  for (const Slice& slice : slices) rows += slice.rows.size();
  return rows;
}

std::unique_ptr<Pieces> make_pieces(const Inputs& inputs, const Request& request, bool verify,
                                    bool with_index, FileQueue& queue) {
  if (request.task == Task::permutation)
    return std::make_unique<TablePieces>(inputs, request, verify, with_index);
  return make_key_pieces(inputs, request, verify, queue);
}

}  // namespace tessera::apps::sort
