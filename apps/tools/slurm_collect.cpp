#include <fmt/core.h>

#include <filesystem>

#include "base/text.hpp"
#include "io/raw_file.hpp"
#include "io/results.hpp"
#include "io/schema.hpp"
#include "slurm.hpp"

namespace tessera::apps::slurm {
namespace {

std::string text_of(const io::Run& run, const char* attribute) {
  const auto found = run.attributes.find(attribute);
  return found != run.attributes.end() && std::holds_alternative<std::string>(found->second)
             ? std::get<std::string>(found->second)
             : "";
}

/// Returns the origin of a run, which identifies it across repeated collections.
std::string origin_of(const io::Run& run, const std::string& file) {
  const std::string before = text_of(run, io::schema::collected_from);
  if (!before.empty()) return before;
  return fmt::format("{}#{} {}", std::filesystem::absolute(file).lexically_normal().string(),
                     run.name, text_of(run, "start_time"));
}

void check_files(const Arguments& files, const std::string& into) {
  require(!files.empty(), ExitCode::usage,
          "results files are required; run tessera slurm collect a.h5 b.h5 --results all.h5");
  require(!into.empty(), ExitCode::usage, "collect requires an output file; add --results all.h5");
  for (const std::string& file : files) {
    require(!file.starts_with("-"), ExitCode::usage,
            fmt::format("collect has no option {}; see tessera slurm --help", file));
    require(io::file_exists(file), ExitCode::missing_input,
            fmt::format("file '{}' does not exist; check the path", file));
    require(!io::same_file(file, into), ExitCode::usage,
            fmt::format("'{}' cannot be collected into itself; name another file with --results",
                        file));
  }
}

}  // namespace

void collect(const Arguments& files, const std::string& into) {
  check_files(files, into);
  std::vector<std::string> names;
  std::map<std::string, std::string> known;  // name by origin
  if (io::file_exists(into)) {
    for (const io::Run& run : io::read_runs(into)) {
      names.push_back(run.name);
      known[origin_of(run, into)] = run.name;
    }
  }
  std::map<std::string, io::Run> runs;  // by name, so that a file named twice is collected once
  for (const std::string& file : files) {
    for (io::Run& run : io::read_runs(file)) {
      const std::string origin = origin_of(run, file);
      auto [place, is_new] = known.try_emplace(origin);
      if (is_new) {
        place->second = io::next_run_name(names, text_of(run, "workload"));
        names.push_back(place->second);
      }
      run.name = place->second;
      run.attributes[io::schema::collected_from] = origin;
      runs[run.name] = std::move(run);
    }
  }
  std::vector<io::Run> all;
  for (auto& [name, run] : runs) all.push_back(std::move(run));
  if (!all.empty()) io::replace_runs(into, all);
  fmt::print("collected: {} of {} in {}\n", counted(ssize(all), "run"),
             counted(ssize(files), "file"), into);
}

}  // namespace tessera::apps::slurm
