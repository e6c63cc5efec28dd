// Names of spaces, and the check of libraries that are loaded on demand.

#include "kernels/variant.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/option_names.hpp"

namespace tessera::inline v1 {

std::string_view name(Space space) { return space == Space::host ? "host" : "device"; }

const VariantInfo& entry(std::span<const VariantInfo> table, std::string_view name) {
  const VariantInfo* const found = find_variant(table, name);
  TESSERA_EXPECTS(found != nullptr);
  return *found;
}

void require_library(const VariantInfo& row) {
  const std::string why = row.missing == nullptr ? "" : row.missing();
  require(
      why.empty(), ExitCode::usage,
      fmt::format("{} {} needs a library that cannot be loaded ({}); run {}, or use another kernel",
                  option_or("--kernel", "kernel"), row.name, why, row.remedy));
}

}  // namespace tessera::inline v1
