// The command: measures, prints and stores an atlas.

#include <fmt/core.h>

#include "base/table.hpp"
#include "base/text.hpp"
#include "lab/atlas/atlas.hpp"
#include "mpi/agreement.hpp"
#include "run/answer.hpp"
#include "run/provenance.hpp"

namespace tessera::inline v1::atlas {

ExitCode run(const Request& request, const std::function<void()>& begin) {
  const mpi::Communicator& comm = request.comm;
  const run::Values options = request.set.points(request.parsed).front();
  const std::string& file = options.text("results");
  const index_t largest = options.has("largest") ? options.bytes("largest") : usual_largest();
  const auto provenance =
      run::provenance(comm, request.set, request.parsed, request.arguments, utc_now());
  mpi::on_root(comm, "machine", [&] {
    const index_t free = machine::available_memory();
    require(largest <= free / 3, ExitCode::memory,
            fmt::format("--largest {} exceeds a third of the available memory, {}; use a smaller "
                        "one",
                        human_bytes(largest), human_bytes(free)));
    if (!file.empty()) io::require_place_for_results(file);
    begin();
  });
  const Atlas atlas = measure(comm, largest);
  mpi::on_root(comm, "machine", [&] {
    fmt::print("\n{}", text_of(atlas, terminal_columns()));
    const std::vector<io::TableRows> tables = tables_of(atlas);
    run::answer_tables(tables);
    if (file.empty()) return;
    const std::string run = io::append_new_run(file, "machine", provenance, tables);
    fmt::print("results: {} (group {}); run tessera report {} to plot them\n", file, run, file);
  });
  return ExitCode::ok;
}

}  // namespace tessera::inline v1::atlas
