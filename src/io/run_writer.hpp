#pragma once
// The rows of one run on their way to a results file.

#include <map>
#include <string>
#include <vector>

#include "base/timer.hpp"
#include "io/results.hpp"

namespace tessera::inline v1::io {

/// Appends the rows of a new run to a results file: the first ones at once, later ones together,
/// such that storing takes about a twentieth of the time. (append_results copies the file: a sweep
/// of n short points would copy n files of n points.) A kill loses what was added in the last
/// twenty times that storing took. Serial: rank 0 uses it.
class RunWriter {
 public:
  RunWriter(std::string file, std::string workload)
      : file_(std::move(file)), workload_(std::move(workload)) {}
  /// Stores what is left; an error becomes a note, since another one may be on its way.
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  /// Adds rows to the run's tables and sets its attributes. Throws as append_results.
  void add(const std::map<std::string, Value>& attributes, const std::vector<TableRows>& tables);
  /// Stores what was added. Throws as append_results.
  void store();
  /// Returns the run's name in the file; empty before the first rows.
  [[nodiscard]] const std::string& run() const { return run_; }

 private:
  std::string file_, workload_, run_;
  std::map<std::string, Value> attributes_;
  std::vector<TableRows> waiting_;
  Timer since_stored_;
  double storing_ = 0;  ///< seconds of the last time
};

}  // namespace tessera::inline v1::io
