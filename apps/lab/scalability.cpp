#include "lab/scalability/scalability.hpp"
#include "commands/command.hpp"
#include "scalability_options.hpp"

namespace tessera::apps {

Command scalability_command() {
  static const run::OptionSet set = scalability_options();
  return {set, [](const run::Parsed& parsed, const Arguments& arguments, ExitCode&) -> Body {
            refuse_idle_scalability(parsed);
            for (const run::Values& point : set.points(parsed))
              (void)scalability::completed(point);  // invalid requests end here
            return [parsed, arguments](const mpi::Communicator& comm) {
              return scalability::run_all(comm, set, parsed, arguments);
            };
          }};
}

}  // namespace tessera::apps
