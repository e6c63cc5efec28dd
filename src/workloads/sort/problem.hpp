#pragma once
// A resolved point of a sort, and the declarations shared by the files of the workload.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "dist/sort/argsort.hpp"
#include "dist/sort/forecast.hpp"
#include "dist/sort/sort.hpp"
#include "io/number_form.hpp"
#include "io/packed.hpp"
#include "io/stored_key.hpp"
#include "kernels/sort/verify.hpp"
#include "run/ceilings.hpp"
#include "run/gpu_exchange.hpp"
#include "run/inputs.hpp"
#include "run/memory_plan.hpp"
#include "run/outputs.hpp"
#include "run/session.hpp"
#include "workloads/frame/workload.hpp"

namespace tessera::inline v1::workloads::sort {

/// Input files.
struct Inputs {
  std::unique_ptr<run::TableInput> data, permutation;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< cached as they are found
};

/// The result of a run.
enum class Task {
  keys,         ///< one column, sorted
  permutation,  ///< the permutation of one column or of a table, and the rows in its order
  apply,        ///< rows in the order of a permutation from a file
  quantiles,    ///< order statistics
};

struct SortColumn {
  io::Column column;  ///< of the input; without a path if generated
  dist::sort::KeyForm form;
  layout::Range bytes;  ///< of a row, if it is compared as bytes
  dist::sort::Order order = dist::sort::Order::ascending;
  std::shared_ptr<const io::Packing> missing = nullptr;  ///< set: the key flags missing

  /// Returns the key within the rows of a file.
  [[nodiscard]] io::StoredKey in_rows(const std::string& file) const {
    if (missing) return {file, column, missing};
    return {file, column, form.number, bytes};
  }
};

/// One resolved point of the sweep over options.
struct Problem {
  Task task = Task::keys;
  index_t n = 0;
  index_t ranks = 1;
  std::vector<SortColumn> by;         ///< one for plain keys, empty to apply a permutation
  std::vector<io::Column> carried;    ///< columns of --out, if rows are permuted
  std::vector<io::Column> unchanged;  ///< datasets that are copied to --out as they are
  index_t content_bytes = 0;          ///< to carry elements of variable length in one round
  std::vector<std::string> parts;     ///< groups of the table that are columns
  io::Column permutation;             ///< to apply
  bool is_group = false;
  std::string out, argsort;  ///< destinations of rows and permutation; empty: none
  bool verify = true;
  bool keeps_input = false;
  std::string input;  ///< name of the generated input
  std::uint64_t seed = 1;
  dist::sort::Method method;
  std::string algorithm;
  std::optional<index_t> top;                 ///< number of first rows to keep
  bool unique = false;                        ///< keeps only the first row of each key
  std::vector<double> quantiles;              ///< in [0, 1]
  const mpi::DeviceExchange* gpus = nullptr;  ///< transport of keys on GPUs, if they stay
  std::string kernels;                        ///< of all ranks: "cuda_hybrid+auto" if they differ
  std::vector<double> weights;  ///< plain keys: relative speed of each rank; empty: equal
  std::optional<io::NumberForm>
      form;  ///< stored form of plain keys in the input, if the output has the same
  run::Allowance allowance;
  std::vector<dist::sort::Forecast> forecasts;  ///< by rank

  [[nodiscard]] bool takes_first() const { return top.has_value(); }
  /// Returns the rows of the result, if known in advance (not with unique).
  [[nodiscard]] index_t rows_out() const { return std::min(n, top.value_or(n)); }
  [[nodiscard]] bool generated() const { return !input.empty(); }
};

using Point = PointOf<Problem, Inputs>;
using Asked = AskedOf<Problem, Inputs>;

/// Parses "0.25,0.5": numbers from 0 to 1. Throws Error(usage).
[[nodiscard]] std::vector<double> parse_quantiles(const std::string& text);

/// Resolves a point. Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// Returns the beginnings of each rank's keys in the input, and the last one's end: ranks + 1
/// values.
[[nodiscard]] std::vector<index_t> input_offsets(const Problem& problem, index_t ranks);
/// Returns the throughput of this rank's kernel in items per second, measured by a short sort like
/// the requested one.
[[nodiscard]] double speed_of(const Problem& problem);

/// Returns the bytes of a radix sort of pairs on that many threads besides the pairs: three buckets
/// each, and streams.
[[nodiscard]] constexpr index_t pair_buffer_bytes(int threads) {
  return threads * (index_t{5} << 19);
}

/// Sets the forecasts of the problem: memory, messages and time of the ranks.
void plan(Problem& problem);
/// Returns the largest memory of any rank for that number of ranks.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// Returns whether the ranks can sort in rounds instead of with full copies of their keys. Rows are
/// permuted by pairs, which rounds do not support, and device kernels need their keys together. The
/// same on all ranks, also if only some drive a GPU.
[[nodiscard]] bool can_take_rounds(const Problem& problem);
/// Returns the problem, sorted in rounds.
[[nodiscard]] Problem in_rounds(Problem problem);
/// Returns the memory of the worst rank, and the time of the slowest.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings,
                           index_t ranks_per_node);
/// Returns the work of all ranks besides sorting.
[[nodiscard]] Volumes volumes_of(const Problem& problem, Mode mode);
void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node);

/// Run, verify and write one measured point each. Return whether the result is right. Collective.
[[nodiscard]] bool run_keys(const Point& point);
[[nodiscard]] bool run_table(const Point& point);
[[nodiscard]] bool run_quantiles(const Point& point);
void print_quantiles_plan(const Asked& asked);
/// Returns the bytes of a rank for quantiles, within the allowance.
[[nodiscard]] index_t quantiles_memory(const Problem& problem, index_t allowance);
/// Sorts out of core through runs.
[[nodiscard]] bool run_out_of_core(const Point& point);
void print_out_of_core(const Asked& asked);
/// Applies --apply's permutation, block by block of the result.
[[nodiscard]] bool run_apply_in_blocks(const Point& point);
void print_apply_in_blocks(const Asked& asked);
/// Returns elements of the permutation to apply. Throws Error(bad_data) if they are not row
/// numbers. Local.
[[nodiscard]] std::vector<std::uint64_t> read_indices(const run::TableInput& permutation,
                                                      const Problem& problem, layout::Range range);
/// Throws Error(bad_data) on every rank unless the permutation is complete. Collective.
void require_whole(const mpi::Communicator& comm, const run::TableInput& permutation, bool whole);

/// Returns counts by simulation, without hardware counters: random keys, or pairs if rows are
/// permuted.
[[nodiscard]] run::Counted simulated_counts(const Problem& problem);
/// The rows of a result: the part of this rank of the permutation, and the outputs of the carried
/// columns.
struct ResultRows {
  std::span<const std::uint64_t> permutation;
  std::span<const std::size_t> places;
};
/// Writes the carried columns whose elements are not self-contained, by rank 0. Collective.
void carry_content(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem,
                   const ResultRows& rows, run::Outputs& outputs);

/// Adds a column of the input with `rows` rows and its attributes to the output that `out` names.
/// Returns its number.
[[nodiscard]] std::size_t add_column(run::Outputs& outputs, const io::DatasetName& out,
                                     const Inputs& inputs, const Problem& problem,
                                     const io::Column& column, index_t rows);
/// As above, for the plain keys, in the input's type unless --type names another.
[[nodiscard]] std::size_t add_keys(run::Outputs& outputs, const io::DatasetName& out,
                                   const Inputs& inputs, const Problem& problem, index_t rows);
/// Writes plain keys to the dataset of add_keys(), from its row `first` on; the onlooker receives
/// them as held in memory. Does not call HDF5. Throws Error(io, cannot_create).
void write_keys(const Problem& problem, run::Outputs& outputs, std::size_t place, index_t first,
                std::span<const std::byte> keys, const io::Onlooker& onlooker = {});

/// Sets the columns that identify a point and its mode, and the work, of a measurement.
void describe(const Problem& problem, run::Measured& measured, Mode mode = Mode::in_memory);
/// Returns the columns that --by names in a table; rows with equal numbers in one are ordered by
/// the next. Throws Error(usage, bad_data).
[[nodiscard]] std::vector<SortColumn> columns_named(const std::string& by,
                                                    const io::TableInfo& table,
                                                    const std::string& file);
/// Inserts, before each column in which numbers may be missing, a column of flags of missing
/// numbers. Throws Error(bad_data).
[[nodiscard]] std::vector<SortColumn> missing_last(std::vector<SortColumn> columns,
                                                   const std::string& file);
/// Returns a column of numbers or strings as a key. Throws Error(bad_data).
[[nodiscard]] SortColumn whole_column(const io::Column& column, dist::sort::Order order,
                                      const std::string& file);
/// Sets the bytes of keys that are whole strings of variable length, of n rows: as many as the
/// longest has. Collective.
void measure_texts(const mpi::Communicator& comm, const std::string& file, index_t n,
                   std::vector<SortColumn>& by);
/// Returns the bytes with which rank 0 carries any column of variable length in one round; 0
/// without one. With fewer it takes several rounds. Collective.
[[nodiscard]] index_t content_bytes(const mpi::Communicator& comm, const Inputs& inputs,
                                    const Problem& problem);
/// Returns whether the elements are references to objects of the file.
[[nodiscard]] bool holds_references(const io::Column& column);
/// Returns the bytes of carrying columns of variable length and references in a sort in memory.
[[nodiscard]] index_t content_share(const Problem& problem);
/// Returns "f64", "-8B": type and order.
[[nodiscard]] std::string text_of(const SortColumn& column);
/// Reads rows of a key column in the input's layout.
void read_key(const std::string& file, const SortColumn& column, layout::Range rows, std::byte* to);
/// Reads or generates rows of a key column.
void load(const Inputs& inputs, const Problem& problem, const SortColumn& column,
          layout::Range rows, std::byte* to);
/// Loads rows of the only key column, of type T. Returns their content, hashed piece by piece while
/// they are in a cache.
template <class T>
[[nodiscard]] tessera::sort::Content load_and_hash(const Inputs& inputs, const Problem& problem,
                                                   layout::Range rows, T* to);

}  // namespace tessera::inline v1::workloads::sort
