#include "run/each_file.hpp"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr std::string_view placeholder = "{name}";

/// Returns the value of an option that the command may lack; "" without it.
std::string value_of(const Parsed& parsed, const std::string& option) {
  const auto list = parsed.lists.find(option);
  return list == parsed.lists.end() ? "" : list->second.front();
}

/// Returns the files that match a pattern, ordered by name.
std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::ranges::sort(files);
  return files;
}

/// Returns the text with the name in every place that is kept for it.
std::string with_name(std::string text, const std::string& name) {
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + name.size()))
    text.replace(at, placeholder.size(), name);
  return text;
}

/// Returns the request for one of the files. `rest` follows its name in --in: ":/PATH[PART]".
Parsed request_for(const Parsed& parsed, const std::string& file, const std::string& rest) {
  const std::string name = std::filesystem::path(file).stem().string();
  Parsed result = parsed;
  for (auto& [option, values] : result.lists)
    for (std::string& value : values) value = with_name(std::move(value), name);
  result.lists.at("in") = {file + rest};
  return result;
}

/// Throws Error(usage) if an output is the same for two requests.
void require_distinct(const std::vector<Parsed>& each, const std::string& option) {
  std::map<std::string, const Parsed*> seen;
  for (const Parsed& one : each) {
    const std::string output = value_of(one, option);
    if (output.empty()) return;
    const auto [other, is_new] = seen.emplace(output, &one);
    require(is_new, ExitCode::usage,
            fmt::format(
                "--{} '{}' names one output for both '{}' and '{}'; write {{name}} for each file's "
                "name, and rename files of equal names",
                option, output, value_of(*other->second, "in"), value_of(one, "in")));
  }
}

}  // namespace

std::vector<Parsed> each_file(const Parsed& parsed, const std::vector<std::string>& outputs) {
  const std::string input = value_of(parsed, "in");
  const std::size_t length = std::min(input.size(), input.find(":/"));
  const std::string pattern = input.substr(0, length);
  std::error_code unknown;
  if (pattern.find_first_of("*?") == std::string::npos || std::filesystem::exists(pattern, unknown))
    return {parsed};
  const std::vector<std::string> files = matching(pattern);
  require(!files.empty(), ExitCode::missing_input,
          fmt::format("--in '{}' matches no file; check the folder and the pattern", pattern));
  std::vector<Parsed> each;
  for (const std::string& file : files)
    each.push_back(request_for(parsed, file, input.substr(length)));
  for (const std::string& option : outputs) require_distinct(each, option);
  return each;
}

Parsed all_files(const std::vector<Parsed>& each) {
  Parsed all = each.front();
  if (each.size() == 1) return all;
  std::vector<std::string>& inputs = all.lists.at("in");
  inputs.clear();
  for (const Parsed& one : each) inputs.push_back(one.lists.at("in").front());
  return all;
}

}  // namespace tessera::inline v1::run
