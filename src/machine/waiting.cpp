#include "machine/waiting.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace tessera::machine {

double seconds_waited() {
  double total = 0;
  bool known = false;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "schedstat");
    double ran = 0, waited = 0;  // nanoseconds
    if (!(file >> ran >> waited)) continue;
    total += waited * 1e-9;
    known = true;
  }
  return known ? total : NAN;
}

}  // namespace tessera::machine
