#pragma once
// Shared by the files of the sort command.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "dist/sort/forecast.hpp"
#include "dist/sort/sort.hpp"
#include "run/ceilings.hpp"
#include "run/inputs.hpp"
#include "run/session.hpp"

namespace tessera::apps::sort {

/// The files that are read.
struct Inputs {
  std::unique_ptr<run::TableInput> data, permutation;
};

/// What a run makes of its input.
enum class Task {
  keys,         ///< one column, sorted
  permutation,  ///< the permutation of one column or of a table, and the rows in its order
  apply,        ///< rows in the order of a permutation from a file
};

struct SortColumn {
  std::string path;  ///< in the input file; empty when generated
  Element element = Element::u64;
  dist::sort::Order order = dist::sort::Order::ascending;
};

/// One point of the sweep with everything looked up.
struct Request {
  Task task = Task::keys;
  index_t n = 0;
  index_t ranks = 1;
  std::vector<SortColumn> by;       ///< one when plain keys are sorted, none to apply a permutation
  std::vector<io::Column> carried;  ///< what --out gets, where rows are permuted
  bool is_group = false;
  bool keeps_input = false;
  std::string input;  ///< name of the generated input
  std::uint64_t seed = 1;
  dist::sort::Method method;
  std::string algorithm;

  [[nodiscard]] bool generated() const { return !input.empty(); }
};

[[nodiscard]] run::OptionSet declare();
/// Throws Error(usage) for options that do not go together; looks at the inputs.
[[nodiscard]] std::shared_ptr<Inputs> look_at_inputs(const run::OptionSet& set, const run::Parsed& parsed);
/// Collective.
[[nodiscard]] Request resolve(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs);

/// What a point's ranks will hold, send and take.
[[nodiscard]] std::vector<dist::sort::Forecast> forecast_of(const Request& request, index_t ranks);
void print_plan(const Request& request, const run::Ceilings& ceilings, index_t ranks_per_node);

/// One measured point each, verified and written. Return whether it is right. Collective.
[[nodiscard]] bool run_keys(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                            const Request& request, run::Session& session);
[[nodiscard]] bool run_table(const mpi::Communicator& comm, const run::Values& point, const Inputs& inputs,
                             const Request& request, run::Session& session);

/// Where there are no hardware counters: random keys, pairs where rows are permuted.
[[nodiscard]] run::Counted stand_in(const Request& request);
/// The columns of the results that name a point.
[[nodiscard]] std::vector<io::Cell> cells_of(const Request& request);
/// This rank's part of a column: from the file, or generated.
void load(const mpi::Communicator& comm, const Inputs& inputs, const Request& request,
          const SortColumn& column, std::byte* to);

}  // namespace tessera::apps::sort
