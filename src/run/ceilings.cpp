#include "run/ceilings.hpp"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::run {

std::optional<double> Ceilings::at(const std::string& name, index_t threads) const {
  const Ceiling* below = nullptr;
  const Ceiling* above = nullptr;
  for (const Ceiling& ceiling : all) {
    if (ceiling.name != name) continue;
    if (ceiling.threads <= threads && (below == nullptr || ceiling.threads > below->threads))
      below = &ceiling;
    if (ceiling.threads >= threads && (above == nullptr || ceiling.threads < above->threads))
      above = &ceiling;
  }
  if (below == nullptr && above == nullptr) return {};
  if (below == nullptr) return above->value;
  if (above == nullptr || above == below) return below->value;
  const double share = static_cast<double>(threads - below->threads) /
                       static_cast<double>(above->threads - below->threads);
  return std::lerp(below->value, above->value, share);
}

std::vector<Ceiling> task_ceilings(const machine::TaskCosts& costs, int threads) {
  std::vector<Ceiling> rows{{"task_fork", threads, costs.fork * 1e6, "us"},
                            {"task_join", threads, costs.join * 1e6, "us"}};
  if (threads > 1) rows.push_back({"task_steal", threads, costs.steal * 1e6, "us"});
  return rows;
}

std::optional<machine::TaskCosts> task_costs(const Ceilings& ceilings, int threads) {
  const auto fork = ceilings.at("task_fork", threads), join = ceilings.at("task_join", threads),
             steal = ceilings.at("task_steal", threads);
  if (!fork || !join || !steal) return {};
  return machine::TaskCosts{*fork * 1e-6, *join * 1e-6, *steal * 1e-6};
}

std::string shift_name(std::size_t exponent) {
  return fmt::format("mpi_shift_{}", index_t{1} << exponent);
}

mpi::Network network(const Ceilings& ceilings, index_t ranks) {
  mpi::Network result;
  if (const auto us = ceilings.at("mpi_latency", 2)) {
    result.latency = *us * 1e-6;
    result.message = ceilings.at("mpi_message", 2).value_or(*us / 4) * 1e-6;
  }
  if (const auto rate = ceilings.at("mpi_bandwidth", 2)) result.bandwidth = *rate * 1e9;
  // Value measured with the largest number of ranks that does not exceed `ranks`.
  const auto nearest = [&](const std::string& name, double otherwise) {
    const Ceiling* best = nullptr;
    for (const Ceiling& one : ceilings.all) {
      if (one.name == name && one.threads <= ranks &&
          (best == nullptr || one.threads > best->threads))
        best = &one;
    }
    return best == nullptr ? std::pair{otherwise, index_t{1}}
                           : std::pair{best->value * 1e9, index_t{best->threads}};
  };
  const auto [together, among] = nearest("mpi_all_to_all", result.bandwidth);
  result.crowd_bandwidth = together / static_cast<double>(among);
  result.shift_bandwidth = {result.bandwidth, result.crowd_bandwidth};
  for (std::size_t i = 0; i < result.shift_bandwidth.size(); ++i)
    result.shift_bandwidth[i] = nearest(shift_name(i), result.shift_bandwidth[i]).first;
  return result;
}

bool is_better(const Ceiling& one, const Ceiling& other) {
  const bool time = one.units == "us";  // all other ceilings are rates
  return time ? one.value < other.value : one.value > other.value;
}

std::vector<Ceiling> take_over(Ceilings& ceilings, const std::vector<Ceiling>& measured,
                               bool busy) {
  std::vector<Ceiling> refused;
  for (const Ceiling& fresh : measured) {
    const auto there = std::find_if(
        ceilings.all.begin(), ceilings.all.end(),
        [&](const Ceiling& c) { return c.name == fresh.name && c.threads == fresh.threads; });
    const bool known = there != ceilings.all.end();
    if (busy && !(known && is_better(fresh, *there))) {
      refused.push_back(fresh);
      continue;
    }
    if (known)
      *there = fresh;
    else
      ceilings.all.push_back(fresh);
  }
  return refused;
}

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns $HOME, or the home directory of the user database if it is unset.
std::string home() {
  if (const std::string named = variable("HOME"); !named.empty()) return named;
  const passwd* const entry = getpwuid(geteuid());
  return entry == nullptr || entry->pw_dir == nullptr ? "" : entry->pw_dir;
}

/// Returns whether this user owns a path, including a link's target, and others cannot write to the
/// target.
bool is_ones_own(const std::string& path) {
  struct stat itself {
  }, behind{};
  return lstat(path.c_str(), &itself) == 0 && itself.st_uid == geteuid() &&
         stat(path.c_str(), &behind) == 0 && behind.st_uid == geteuid() &&
         (behind.st_mode & S_IWOTH) == 0;
}

}  // namespace

CeilingsPlace ceilings_place() {
  if (std::string file = variable("TESSERA_MACHINE_FILE"); !file.empty())
    return {std::move(file), ""};
  std::string base = variable("XDG_CACHE_HOME");
  if (base.empty() && !home().empty()) base = home() + "/.cache";
  if (base.empty()) return {"", "the user has no home directory"};
  const std::string folder = base + "/tessera",
                    file = fmt::format("{}/{}.toml", folder, mpi::host_name());
  for (const std::string& path : {folder, file})
    if (io::file_exists(path) && !is_ones_own(path))
      return {"", fmt::format("'{}' belongs to another user, or is writable by others", path)};
  return {file, ""};
}

std::string ceilings_file() { return ceilings_place().file; }

Ceilings load_ceilings(const std::string& file) {
  Ceilings result;
  try {
    const toml::table table = toml::parse_file(std::string_view(file));
    result.host = table["host"].value_or(std::string());
    result.measured_at = table["measured_at"].value_or(std::string());
    const toml::array* list = table["ceiling"].as_array();
    if (list == nullptr) return result;
    for (const auto& node : *list) {
      const toml::table* entry = node.as_table();
      if (entry == nullptr) continue;
      result.all.push_back(
          {(*entry)["name"].value_or(std::string()), (*entry)["threads"].value_or(index_t{1}),
           (*entry)["value"].value_or(0.0), (*entry)["units"].value_or(std::string())});
    }
  } catch (const toml::parse_error&) {
    return {};  // missing or malformed: the same as never measured
  }
  return result;
}

void save_ceilings(const std::string& name, const Ceilings& ceilings) {
  const std::string file = io::behind_links(name), partial = io::partial_name(file);
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::filesystem::create_directories(folder.parent_path(), error);
  mkdir(folder.c_str(), 0700);  // only if it is new
  try {
    io::create_new_file(partial);
  } catch (const Error& why) {
    throw Error(
        ExitCode::cannot_create,
        fmt::format("'{}' cannot be written: {}; set TESSERA_MACHINE_FILE to a writable path", name,
                    why.what()));
  }
  std::ofstream out(partial);
  out << "# Measured by `tessera machine`; later runs give their rates as a share of these.\n"
      << fmt::format("host = \"{}\"\nmeasured_at = \"{}\"\n", ceilings.host, ceilings.measured_at);
  for (const Ceiling& c : ceilings.all) {
    out << fmt::format(
        "\n[[ceiling]]\nname = \"{}\"\nthreads = {}\nvalue = {:.6e}\nunits = \"{}\"\n", c.name,
        c.threads, c.value, c.units);
  }
  out.close();
  const auto written = static_cast<bool>(out);
  if (!written) io::discard_partial(partial);
  require(written, ExitCode::cannot_create,
          fmt::format("'{}' cannot be written; set TESSERA_MACHINE_FILE to a writable path", name));
  io::publish_file(partial, file);
}

}  // namespace tessera::inline v1::run
