#include "run/uses.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::inline v1::run {

bool uses(const Values& point, const Option& option) {
  if (option.users.option.empty()) return true;
  const std::string& taken = point.text(option.users.option);
  const auto& users = option.users.values;
  return taken.empty() || taken == "auto" ||
         std::find(users.begin(), users.end(), taken) != users.end();
}

io::Value swept_value(const Values& point, const Option& option) {
  const bool used = uses(point, option);
  if (option.kind == Kind::integer) return used ? point.integer(option.name) : index_t{-1};
  if (option.kind == Kind::bytes) return used ? point.bytes(option.name) : index_t{-1};
  if (option.kind == Kind::real) return used ? point.real(option.name) : NAN;
  return used ? point.text(option.name) : std::string("-");
}

}  // namespace tessera::inline v1::run
