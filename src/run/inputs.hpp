#pragma once
// Inputs looked at before anything starts.

#include <optional>
#include <string>

#include "io/columns.hpp"
#include "mpi/communicator.hpp"
#include "run/options.hpp"

namespace tessera::run {

/// A dataset named on the command line. Make it before MPI is initialised (the first look is a child process
/// of the rank that the launcher calls 0); share() then tells all ranks what was found, and that they see one
/// file.
class Input {
 public:
  Input(const std::string& text, const std::string& option);

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  /// Collective; throws AgreedError with what went wrong, on every rank. Tells name() what part is meant.
  [[nodiscard]] io::DatasetInfo share(const mpi::Communicator& comm);

 private:
  void look();
  io::DatasetName name_;
  io::DatasetInfo info_;
  bool looked_ = false;
  std::optional<Error> error_;
};

/// The same for a dataset or a group of columns.
class TableInput {
 public:
  TableInput(const std::string& text, const std::string& option);

  [[nodiscard]] const io::DatasetName& name() const { return name_; }
  [[nodiscard]] io::DatasetName name(const io::Column& column) const { return {name_.file, column.path}; }
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

/// Throws Error(usage) when the file that `output` names is that of an input.
void require_distinct_files(const std::string& out, const io::DatasetName& input, const std::string& option,
                            const std::string& output = "out");

/// Throws Error(usage) when the results file is that of a dataset (file.h5:/path) which another option names.
void require_own_file(const std::string& results, const OptionSet& options, const Parsed& parsed);

}  // namespace tessera::run
