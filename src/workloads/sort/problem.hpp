#pragma once
// A point of a sort with everything looked up, and what the files of the workload share.

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

namespace tessera::workloads::sort {

/// The files that are read.
struct Inputs {
  std::unique_ptr<run::TableInput> data, permutation;
  std::unique_ptr<run::GpuExchanges> gpus =
      std::make_unique<run::GpuExchanges>();  ///< as they are found out
};

/// What a run makes of its input.
enum class Task {
  keys,         ///< one column, sorted
  permutation,  ///< the permutation of one column or of a table, and the rows in its order
  apply,        ///< rows in the order of a permutation from a file
  quantiles,    ///< what stands at some places of the sorted order
};

struct SortColumn {
  io::Column column;  ///< of the input; without a path when generated
  dist::sort::KeyForm form;
  layout::Range bytes;  ///< of a row, where it is compared as bytes
  dist::sort::Order order = dist::sort::Order::ascending;
  std::shared_ptr<const io::Packing> missing = nullptr;  ///< the key is whether there is no number

  /// As it lies in the rows of a file.
  [[nodiscard]] io::StoredKey in_rows(const std::string& file) const {
    if (missing) return {file, column, missing};
    return {file, column, form.number, bytes};
  }
};

/// One point of the sweep with everything looked up.
struct Problem {
  Task task = Task::keys;
  index_t n = 0;
  index_t ranks = 1;
  std::vector<SortColumn> by;       ///< one when plain keys are sorted, none to apply a permutation
  std::vector<io::Column> carried;  ///< what --out gets, where rows are permuted
  io::Column permutation;           ///< to apply
  bool is_group = false;
  std::string out, argsort;  ///< where rows and permutation go; empty: nowhere
  bool verify = true;
  bool keeps_input = false;
  std::string input;  ///< name of the generated input
  std::uint64_t seed = 1;
  dist::sort::Method method;
  std::string algorithm;
  std::optional<index_t> top;                 ///< only so many of the first rows
  bool unique = false;                        ///< only the first row of each key
  std::vector<double> quantiles;              ///< in [0, 1]
  const mpi::DeviceExchange* gpus = nullptr;  ///< the keys stay there, and travel so
  std::string kernels;          ///< of all ranks: "cuda_hybrid+auto" where they differ
  std::vector<double> weights;  ///< plain keys: how fast each rank sorts; empty: all alike
  std::optional<io::NumberForm>
      form;  ///< in which the input stores plain keys, where the output does, too
  run::Allowance allowance;
  std::vector<dist::sort::Forecast> forecasts;  ///< by rank

  [[nodiscard]] bool takes_first() const { return top.has_value(); }
  /// Rows of the result, where they are known beforehand (not with unique).
  [[nodiscard]] index_t rows_out() const { return std::min(n, top.value_or(n)); }
  [[nodiscard]] bool generated() const { return !input.empty(); }
};

using Point = PointOf<Problem, Inputs>;
using Asked = AskedOf<Problem, Inputs>;

/// "0.25,0.5": numbers from 0 to 1. Throws Error(usage).
[[nodiscard]] std::vector<double> parse_quantiles(const std::string& text);

/// Collective.
[[nodiscard]] Problem resolve(const mpi::Communicator& comm, const run::Values& point,
                              const Inputs& inputs);

/// The keys that each rank starts with begin here, and the last one's end: ranks + 1 values.
[[nodiscard]] std::vector<index_t> input_offsets(const Problem& problem, index_t ranks);
/// Items a second of this rank's kernel, by a short sort like the one that is asked for.
[[nodiscard]] double speed_of(const Problem& problem);

/// Plans what the ranks will hold, send and take: the forecasts of the problem.
void plan(Problem& problem);
/// The largest memory of any rank if there were so many.
[[nodiscard]] index_t most_memory(const Problem& problem, index_t ranks);
/// What the worst rank will hold, and the slowest take.
[[nodiscard]] Need need_of(const Problem& problem, const run::Ceilings& ceilings,
                           index_t ranks_per_node);
void print_plan(const Problem& problem, const run::Ceilings& ceilings, index_t ranks_per_node);

/// One measured point each, verified and written. Return whether it is right. Collective.
[[nodiscard]] bool run_keys(const Point& point);
[[nodiscard]] bool run_table(const Point& point);
[[nodiscard]] bool run_quantiles(const Point& point);
void print_quantiles_plan(const Asked& asked);
/// Bytes that quantiles take a rank, where so many are allowed.
[[nodiscard]] index_t quantiles_memory(const Problem& problem, index_t allowance);
/// From file to file through sorted runs.
[[nodiscard]] bool run_out_of_core(const Point& point);
void print_out_of_core(const Asked& asked);
/// The rows of --apply, block by block of the result.
[[nodiscard]] bool run_apply_in_blocks(const Point& point);
void print_apply_in_blocks(const Asked& asked);
/// Elements of the permutation to apply. Throws Error(bad_data) where they are no rows. Local.
[[nodiscard]] std::vector<std::uint64_t> read_indices(const run::TableInput& permutation,
                                                      const Problem& problem, layout::Range range);
/// Throws Error(bad_data) on every rank where the permutation is not whole. Collective.
void require_whole(const mpi::Communicator& comm, const run::TableInput& permutation, bool whole);

/// Where there are no hardware counters: random keys, pairs where rows are permuted.
[[nodiscard]] run::Counted stand_in(const Problem& problem);
/// Adds a column of the input, of so many rows, to what `out` names, with its attributes; returns
/// its place.
[[nodiscard]] std::size_t add_column(run::Outputs& outputs, const io::DatasetName& out,
                                     const Inputs& inputs, const Problem& problem,
                                     const io::Column& column, index_t rows);
/// The same of the plain keys, in the type that they have in the input unless --type names another.
[[nodiscard]] std::size_t add_keys(run::Outputs& outputs, const io::DatasetName& out,
                                   const Inputs& inputs, const Problem& problem, index_t rows);
/// Plain keys to where add_keys() made room, from its row `first` on; the onlooker sees them as
/// they are held. No call of HDF5. Throws Error(io, cannot_create).
void write_keys(const Problem& problem, run::Outputs& outputs, std::size_t place, index_t first,
                std::span<const std::byte> keys, const io::Onlooker& onlooker = {});

/// The columns of the results that name a point, and how it went through memory.
[[nodiscard]] std::vector<io::Cell> cells_of(const Problem& problem, Mode mode = Mode::in_memory);
/// The columns that --by names in a table; rows that have equal numbers in one are in the order of
/// the next. Throws Error(usage, bad_data).
[[nodiscard]] std::vector<SortColumn> columns_named(const std::string& by,
                                                    const io::TableInfo& table,
                                                    const std::string& file);
/// Before each column in which numbers may be missing another one: whether they are. Throws
/// Error(bad_data).
[[nodiscard]] std::vector<SortColumn> missing_last(std::vector<SortColumn> columns,
                                                   const std::string& file);
/// A column of numbers or strings as a key. Throws Error(bad_data).
[[nodiscard]] SortColumn whole_column(const io::Column& column, dist::sort::Order order,
                                      const std::string& file);
/// "f64", "-8B": type and order.
[[nodiscard]] std::string text_of(const SortColumn& column);
/// Rows of a key column of the input's layout.
void read_key(const std::string& file, const SortColumn& column, layout::Range rows, std::byte* to);
/// Rows of a key column: from the input, or generated.
void load(const Inputs& inputs, const Problem& problem, const SortColumn& column,
          layout::Range rows, std::byte* to);
/// Rows of the only key column, of type T, and their content, hashed piece by piece while a cache
/// holds them.
template <class T>
[[nodiscard]] tessera::sort::Content load_and_hash(const Inputs& inputs, const Problem& problem,
                                                   layout::Range rows, T* to);

}  // namespace tessera::workloads::sort
