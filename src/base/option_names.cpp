#include "base/option_names.hpp"

#include <atomic>

namespace tessera::inline v1 {
namespace {

std::atomic<bool> has_options{false};

}  // namespace

void name_options() noexcept { has_options = true; }

std::string_view option_or(std::string_view option, std::string_view argument) noexcept {
  return has_options ? option : argument;
}

}  // namespace tessera::inline v1
