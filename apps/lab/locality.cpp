#include "locality.hpp"

#include "commands/command.hpp"
#include "lab/locality/points.hpp"

namespace tessera::apps {
namespace {

namespace lab = tessera::locality;

std::vector<io::TableRows> run_point(const std::string& key, const run::Values& point) {
  if (locality::is_gpu_kernel(point.text("kernel"))) return locality::run_gpu(key, point);
  lab::AnalysisRequest request = locality::request_of(point);
  const index_t lines = point.has("diagram") ? point.integer("diagram") : 0;
  lab::Diagram diagram(lines, request.line_bytes, locality::most_marks);
  if (lines > 0) request.others.push_back(&diagram);
  const lab::Analysis analysis = lab::analyse(request);
  locality::print(analysis, request.line_bytes);
  std::vector<io::TableRows> tables = locality::tables_of(key, analysis, request.line_bytes);
  if (lines > 0) {
    const locality::Drawn drawn{analysis.arrays, analysis.begins, analysis.bytes, lines,
                                request.line_bytes};
    for (io::TableRows& table : locality::tables_of(key, drawn, diagram))
      tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

Command locality_command() {
  static const run::OptionSet set = locality::declare();
  return {set, [](run::Parsed parsed, const Arguments& arguments, ExitCode&) -> Body {
            const std::string left_out = locality::settle(set, parsed);
            return [parsed, arguments, left_out](const mpi::Communicator& comm) {
              locality::OnPaper paper;
              return lab::trace_points(
                  {comm, set, parsed, arguments, [&] { paper.print(); }}, left_out,
                  [&](const std::string& key, const run::Values& point) {
                    return point.has("device") ? paper.run(key, point) : run_point(key, point);
                  });
            };
          }};
}

}  // namespace tessera::apps
