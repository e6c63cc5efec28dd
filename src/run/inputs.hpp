#pragma once
// Validation of inputs before a run starts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/columns.hpp"
#include "io/packed.hpp"
#include "io/table_choice.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::inline v1::run {

/// Treatment of packed and missing numbers, from --raw and --fill.
struct ValuesOf {
  bool raw = false;
  io::Packing::Fill fill = io::Packing::Fill::refuse;
  double filled = 0;
};
/// Accepted values of --fill: nan or a number; or also mask.
enum class Fills { values, values_and_mask };
/// Reads --raw and --fill. Throws Error(usage).
[[nodiscard]] ValuesOf values_of(const Parsed& parsed, Fills known = Fills::values);

/// Dataset named on the command line. Construct it before MPI is initialised: a child process of
/// the launcher's rank 0 opens the file first. share() then distributes the result and checks that
/// all ranks see the same file.
class Input {
 public:
  Input(const std::string& text, const std::string& option);

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  /// Distributes the description of the inputs, in as many messages as for one. Sets name()'s
  /// selection and, if values are requested, its unpacking; the returned info then describes the
  /// values. Collective; throws AgreedError with the cause on every rank.
  [[nodiscard]] static std::vector<io::DatasetInfo> share(const mpi::Communicator& comm,
                                                          const std::vector<Input*>& inputs);

  /// Makes share() and later reads interpret stored numbers as values, by the dataset's attributes.
  void take_values(const ValuesOf& how) { values_ = how; }

 private:
  void look();
  void look_as_root();
  [[nodiscard]] bool wants_values() const { return values_ && !values_->raw; }
  [[nodiscard]] std::string found() const;
  void take_found(const std::string& text);
  [[nodiscard]] io::DatasetInfo values(const mpi::Communicator& comm);
  void require_no_missing(const mpi::Communicator& comm, const io::DatasetInfo& info) const;

  io::DatasetName name_;
  io::DatasetInfo info_;
  bool looked_ = false;
  std::optional<Error> error_;
  std::optional<ValuesOf> values_;
  bool counted_ = false;  // missing numbers are counted
};

/// Dataset or group of columns named on the command line; see Input.
class TableInput {
 public:
  TableInput(const std::string& text, const std::string& option, io::TableChoice choice = {});

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  [[nodiscard]] io::DatasetName name(const io::Column& column) const {
    return {name_.file, column.path};
  }
  /// Distributes the table's description, with the use of each column. Collective; throws
  /// AgreedError.
  [[nodiscard]] io::TableInfo share(const mpi::Communicator& comm);

 private:
  void look();
  io::DatasetName name_;
  std::string option_;
  io::TableChoice choice_;
  io::TableInfo info_;
  bool looked_ = false;
  std::optional<Error> error_;
};

/// Returns the decoded bytes of the largest chunk of all inputs shared so far; 0 without chunks.
[[nodiscard]] index_t largest_input_chunk();

/// Throws Error(bad_data) if attributes of a dataset mark its numbers as packed or missing, which
/// `what` does not support. Serial.
void require_plain_numbers(const io::DatasetName& name, const std::string& what);

/// Throws Error(usage) if `output` names the file of an input.
void require_distinct_files(const std::string& out, const io::DatasetName& input,
                            const std::string& option, const std::string& output = "out");

/// Throws Error(usage) if the results file is also named by another option's dataset
/// (file.h5:/path).
void require_own_file(const std::string& results, const OptionSet& options, const Parsed& parsed);

}  // namespace tessera::inline v1::run
