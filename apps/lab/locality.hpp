#pragma once
// Declarations shared by the files of the locality command.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/table.hpp"

#include "io/results.hpp"
#include "lab/locality/analysis.hpp"
#include "lab/locality/diagram.hpp"
#include "lab/locality/gpu.hpp"
#include "lab/locality/kernels.hpp"
#include "lab/paper/report.hpp"
#include "lab/paper/steps.hpp"
#include "run/options.hpp"

namespace tessera::apps::locality {

[[nodiscard]] run::OptionSet declare();
/// Throws Error(usage) for options that conflict.
[[nodiscard]] tessera::locality::AnalysisRequest request_of(const run::Values& point);
/// Replaces `all` by the names of all kernels that can be traced on these problems, and no kernel
/// by the first one. Returns a message about kernels that `all` leaves out. Throws Error(usage) for
/// points that cannot be traced and for options that concern neither the workload nor any of the
/// kernels.
[[nodiscard]] std::string settle(const run::OptionSet& set, run::Parsed& parsed);

/// Returns the first columns of a table of results: the point, its kernel and its sizes.
[[nodiscard]] io::Row row_of(const std::string& key, const tessera::locality::Problem& problem);
/// Returns the row followed by more cells.
[[nodiscard]] io::Row with(io::Row row, const std::vector<io::Cell>& cells);

void print(const tessera::locality::Analysis& analysis, index_t line_bytes);
/// Returns the tables of one point for the results file.
[[nodiscard]] std::vector<io::TableRows> tables_of(const std::string& key,
                                                   const tessera::locality::Analysis& analysis,
                                                   index_t line_bytes);

inline constexpr index_t most_marks = 20000;  ///< accesses that a diagram draws one by one

/// The arrays of a space-time diagram and its cache.
struct Drawn {
  std::vector<std::string> arrays;
  std::vector<index_t> begins, bytes;  ///< of the arrays, in the diagram's memory
  index_t lines, line_bytes;
};
/// Returns the tables of a space-time diagram.
[[nodiscard]] std::vector<io::TableRows> tables_of(const std::string& key, const Drawn& drawn,
                                                   const tessera::locality::Diagram& diagram);

[[nodiscard]] bool is_gpu_kernel(const std::string& kernel);
/// Simulates and prints one point of a cuda_ kernel and returns its tables.
[[nodiscard]] std::vector<io::TableRows> run_gpu(const std::string& key, const run::Values& point);

/// Returns whether a parameter of the device probes is an option of kernels on paper.
[[nodiscard]] bool is_paper_option(std::string_view name);
[[nodiscard]] paper::Request paper_request(const run::Values& point);

/// The points of a sweep on GPUs on paper: a row each of two tables.
class OnPaper {
 public:
  OnPaper();
  /// Runs one point on paper and returns its tables.
  [[nodiscard]] std::vector<io::TableRows> run(const std::string& key, const run::Values& point);
  /// Prints the rows of all points.
  void print() const;

 private:
  /// Adds the rows of a point and returns its tables.
  [[nodiscard]] std::vector<io::TableRows> add(const std::string& key, const paper::Report& report);

  Table requests_, bounds_;
  std::map<std::string, std::string> devices_;  ///< name -> what is said of it
  std::set<std::string> shown_;                 ///< settings of the rows
  std::size_t settings_;
};

}  // namespace tessera::apps::locality
