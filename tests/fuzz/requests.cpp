#include "requests.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.hpp"
#include "io/dataset.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "promises.hpp"
#include "stencil_text.hpp"

namespace tessera::fuzz {
namespace {

/// Returns the path of a file with that text, visible to this process only.
const char* toml_file(const std::string& text) {
  static const int file = memfd_create("request.toml", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    std::abort();
  return path.c_str();
}

const mpi::Communicator& world() {
  static const mpi::Runtime runtime(nullptr, nullptr);
  static const mpi::Communicator comm = mpi::Communicator::world();
  return comm;
}

/// Checks that accepted values expand to themselves.
void check_values_stand(const run::OptionSet& set, const run::Parsed& parsed) {
  for (const run::Option& option : set.options()) {
    const auto& values = parsed.lists.at(option.name);
    if (values.empty()) broken("--" + option.name + " has no value");
    if (option.kind == run::Kind::text && option.axis) continue;
    for (const std::string& value : values) {
      if (value.empty()) continue;
      if (run::expand(option, value, "again") != std::vector{value})
        broken("--" + option.name + " " + value + " reads as something else");
    }
  }
}

/// Returns whether a request would access files: examine datasets in a child or append results.
bool touches_files(const run::OptionSet& set, const run::Parsed& parsed) {
  for (const run::Option& option : set.options()) {
    for (const std::string& value : parsed.lists.at(option.name)) {
      if (option.kind == run::Kind::text && value.find(":/") != std::string::npos) return true;
      if (!value.empty() && (option.name == "results" || option.name == "checkpoint")) return true;
    }
  }
  return false;
}

bool can_plan(const run::OptionSet& set) {
  return std::any_of(set.options().begin(), set.options().end(),
                     [](const run::Option& option) { return option.name == "plan"; });
}

}  // namespace

Input read_input(const std::uint8_t* data, std::size_t size) {
  Input input;
  std::string text(data, data + size);
  const std::string mark = "\n===\n";
  if (const auto at = text.find(mark); at != std::string::npos) {
    input.toml = text.substr(at + mark.size());
    input.has_toml = true;
    text.resize(at);
  }
  std::replace(text.begin(), text.end(), '\0', '0');  // no argument contains one
  std::size_t begin = 0;
  for (bool first = true; begin <= text.size(); first = false) {
    const auto end = std::min(text.find('\n', begin), text.size());
    (first ? input.command : input.arguments.emplace_back()) = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return input;
}

std::string to_text(const Input& input) {
  std::string text = input.command;
  for (const std::string& argument : input.arguments) text += "\n" + argument;
  if (input.has_toml) text += "\n===\n" + input.toml;
  return text;
}

const std::vector<apps::Command>& commands() {
  static const std::vector<apps::Command> all = [] {
    std::vector<apps::Command> list;
    for (const auto make : {apps::matmul_command, apps::transpose_command, apps::stencil_command,
                            apps::sort_command, apps::scalability_command, apps::memory_command,
                            apps::locality_command, apps::verify_command, apps::report_command})
      list.push_back(make());
    return list;
  }();
  return all;
}

const apps::Command& command_of(const std::string& name) {
  for (const apps::Command& command : commands())
    if (command.options.command() == name) return command;
  return commands()[name.empty() ? 0 : static_cast<unsigned char>(name[0]) % commands().size()];
}

void check_request(const Input& input) {
  const apps::Command& command = command_of(input.command);
  const run::OptionSet& set = command.options;
  apps::Arguments arguments = input.arguments;
  if (input.has_toml) arguments.push_back(std::string("--config=") + toml_file(input.toml));
  if (can_plan(set)) arguments.insert(arguments.begin(), "--plan");
  attempt([&] {
    const run::Parsed parsed = set.parse(arguments);
    if (!parsed.help.empty()) return;
    check_values_stand(set, parsed);
    const auto points = set.points(parsed);
    if (points.empty()) broken("no point");
    for (const run::Values& point : points) {
      if (set.key(point).empty()) broken("a point without a key");
    }
    if (!can_plan(set) || points.size() > 64 || touches_files(set, parsed)) return;
    ExitCode code = ExitCode::ok;
    const apps::Body body = command.prepare(parsed, arguments, code);
    if (body && body(world()) != ExitCode::ok) broken("a plan that fails without words");
  });
}

void check_values(const Input& input) {
  const std::vector<index_t> extents{1000, 1, 7};
  for (const std::string& text : input.arguments) {
    attempt([&] {
      std::string path = text;
      const io::Selection selection = io::cut_selection(path);
      const io::DatasetName name = io::parse_dataset_name(path, "in");
      if (name.file.empty() || name.path.size() < 2) broken("an empty name");
      const auto ranges = io::resolve(selection, extents, name.text());
      for (std::size_t d = 0; d < extents.size(); ++d) {
        if (ranges[d].begin < 0 || ranges[d].size() < 0 || ranges[d].end > extents[d])
          broken("a selection outside of its dataset");
      }
      if (io::kept(selection, extents).size() > extents.size()) broken("dimensions out of nothing");
    });
    attempt([&] { (void)parse_bytes(text); });
    attempt([&] { (void)io::number_type(text); });
    attempt([&] { (void)io::split_names(text); });
    check_stencil_text(text);
  }
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::fuzz;
  const Input input = read_input(data, size);
  if (input.command == "values") {
    check_values(input);
  } else {
    check_request(input);
  }
  return 0;
}
