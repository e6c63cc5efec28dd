#pragma once
// Inputs looked at before anything starts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/columns.hpp"
#include "io/packed.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// What --raw and --fill say of numbers that are packed or missing.
struct ValuesOf {
  bool raw = false;
  io::Packing::Fill fill = io::Packing::Fill::refuse;
  double filled = 0;
};
/// What --fill may be: nan or a number, or also mask.
enum class Fills { values, values_and_mask };
/// Throws Error(usage).
[[nodiscard]] ValuesOf values_of(const Parsed& parsed, Fills known = Fills::values);

/// A dataset named on the command line. Make it before MPI is initialised (the first look is a
/// child process of the rank that the launcher calls 0); share() then tells all ranks what was
/// found, and that they see one file.
class Input {
 public:
  Input(const std::string& text, const std::string& option);

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  /// Tells all ranks of several inputs, in as many messages as of one. Collective; throws
  /// AgreedError with what went wrong, on every rank. Tells name() what part is meant and, where
  /// values are wanted, how stored numbers become such: what is told of it is of them.
  [[nodiscard]] static std::vector<io::DatasetInfo> share(const mpi::Communicator& comm,
                                                          const std::vector<Input*>& inputs);

  /// From share() on the numbers are values, as its attributes say.
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
  bool counted_ = false;  // its missing numbers
};

/// The same for a dataset or a group of columns.
class TableInput {
 public:
  TableInput(const std::string& text, const std::string& option);

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  [[nodiscard]] io::DatasetName name(const io::Column& column) const {
    return {name_.file, column.path};
  }
  /// Collective; throws AgreedError. The columns are 1-D and equally long.
  [[nodiscard]] io::TableInfo share(const mpi::Communicator& comm);

 private:
  void look();
  io::DatasetName name_;
  std::string option_;
  io::TableInfo info_;
  bool looked_ = false;
  std::optional<Error> error_;
};

/// Throws Error(bad_data) where attributes of a dataset say that its numbers are packed or may be
/// missing and `what` computes with them, which knows no such. Serial.
void require_plain_numbers(const io::DatasetName& name, const std::string& what);

/// Throws Error(usage) when the file that `output` names is that of an input.
void require_distinct_files(const std::string& out, const io::DatasetName& input,
                            const std::string& option, const std::string& output = "out");

/// Throws Error(usage) when the results file is that of a dataset (file.h5:/path) which another
/// option names.
void require_own_file(const std::string& results, const OptionSet& options, const Parsed& parsed);

}  // namespace tessera::run
