#pragma once
// Variables of the environment that libraries read when they are loaded.

#include <optional>
#include <string>

namespace tessera::inline v1::machine {

/// Scope: sets a variable of this process's environment, and restores it at the end. Other threads
/// must not read or change the environment until then.
class EnvironmentScope {
 public:
  /// name must be a literal.
  EnvironmentScope(const char* name, const std::string& value);
  ~EnvironmentScope();
  EnvironmentScope(const EnvironmentScope&) = delete;
  EnvironmentScope& operator=(const EnvironmentScope&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tessera::inline v1::machine
