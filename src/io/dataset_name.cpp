// Names of datasets on the command line.

#include <fmt/core.h>

#include "io/dataset.hpp"
#include "io/raw_file.hpp"

namespace tessera::inline v1::io {

namespace {

/// Returns the end of the file name in "file.h5:path", which has no ":/"; npos if there is none.
std::size_t end_before_relative(std::string_view text) {
  const std::string_view names = text.substr(0, text.rfind('['));  // without a selection
  for (std::size_t at = names.rfind(':'); at != std::string_view::npos && at > 0;
       at = names.rfind(':', at - 1))
    if (file_exists(std::string(names.substr(0, at)))) return at;
  return names.rfind(':');
}

}  // namespace

std::size_t end_of_file_name(std::string_view text) {
  const std::size_t last = text.rfind(":/");
  if (last == std::string_view::npos) return end_before_relative(text);
  std::size_t in_folder = std::string_view::npos;
  for (std::size_t at = last; at != std::string_view::npos && at > 0;
       at = text.rfind(":/", at - 1)) {
    const std::string file(text.substr(0, at));
    if (file_exists(file)) return at;
    if (in_folder == std::string_view::npos && file_exists(directory_of(file))) in_folder = at;
  }
  return in_folder == std::string_view::npos ? last : in_folder;
}

DatasetName parse_dataset_name(std::string_view text, std::string_view option) {
  const auto colon = end_of_file_name(text);
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  require(colon > 0 && !rest.empty() && rest != "/", ExitCode::usage,
          fmt::format("--{} '{}' does not name a dataset; write file.h5:/path/to/dataset", option,
                      text));
  const std::string path = (rest.starts_with('/') ? "" : "/") + std::string(rest);
  const bool named = !path.ends_with('/') && path.find("//") == std::string::npos;
  require(
      named && (path + '/').find("/./") == std::string::npos,
      ExitCode::usage,  // HDF5 ignores both
      fmt::format("--{} '{}' has an empty name or '.' in its path; write file.h5:/path/to/dataset",
                  option, text));
  return {std::string(text.substr(0, colon)), path};
}

DatasetName parse_table_name(std::string_view text, std::string_view option) {
  const auto colon = end_of_file_name(text);
  if (colon != std::string_view::npos && colon > 0 && text.substr(colon + 1) == "/")
    return {std::string(text.substr(0, colon)), "/"};
  return parse_dataset_name(text, option);
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names{""};
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    std::string& name = names.back();
    if (text[i] != ',' || depth != 0) {
      name += text[i];
      continue;
    }
    const std::size_t colon = end_of_file_name(name);
    const std::string next = text.substr(i + 1, text.find(',', i + 1) - i - 1);
    const bool elsewhere = next.substr(0, next.find('[')).find(':') != std::string::npos,
               same_file = !elsewhere && next.starts_with('/');
    if (colon == std::string::npos || (!same_file && !elsewhere)) {
      name += text[i];
    } else {
      names.push_back(same_file ? name.substr(0, colon + 1) : "");
    }
  }
  return names;
}

}  // namespace tessera::inline v1::io
