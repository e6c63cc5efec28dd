#include "machine/environment.hpp"

#include <cstdlib>

namespace tessera::inline v1::machine {

EnvironmentScope::EnvironmentScope(const char* name, const std::string& value) : name_(name) {
  if (const char* const before = std::getenv(name)) before_ = before;
  setenv(name, value.c_str(), 1);
}

EnvironmentScope::~EnvironmentScope() {
  if (before_) {
    setenv(name_, before_->c_str(), 1);
  } else {
    unsetenv(name_);
  }
}

}  // namespace tessera::inline v1::machine
