// Descriptions of datasets as text, for messages and for another process.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "io/dataset.hpp"

namespace tessera::inline v1::io {

std::string DatasetInfo::type_text() const {
  const bool is_named = other != DatasetInfo{}.other;  // by inspect() or number_type()
  if (kind == Kind::other || is_named) return other;
  if (kind == Kind::boolean) return "bool";
  const char letter = kind == Kind::complex ? 'c'
                      : kind == Kind::real  ? 'f'
                      : is_signed           ? 'i'
                                            : 'u';
  return fmt::format("{}{}", letter, 8 * element_bytes);
}

std::string DatasetInfo::shape_text() const {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

std::string to_text(const DatasetInfo& info) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", static_cast<int>(info.kind), info.element_bytes,
                     info.is_signed ? 1 : 0, info.self_contained ? 1 : 0, info.shape.size(),
                     fmt::join(info.shape, " "), info.chunk.size(), fmt::join(info.chunk, " "),
                     info.other);
}

DatasetInfo parse_dataset_info(const std::string& text) {
  std::istringstream words(text);
  DatasetInfo info;
  int kind = 0;
  std::size_t rank = 0;
  words >> kind >> info.element_bytes >> info.is_signed >> info.self_contained >> rank;
  info.kind = static_cast<DatasetInfo::Kind>(kind);
  info.shape.resize(words.fail() ? 0 : rank);
  for (index_t& extent : info.shape) words >> extent;
  words >> rank;
  info.chunk.resize(words.fail() ? 0 : rank);
  for (index_t& extent : info.chunk) words >> extent;
  std::getline(words >> std::ws, info.other);
  require(!words.fail(), ExitCode::internal, "process that examines the input sent no result");
  return info;
}

}  // namespace tessera::inline v1::io
