#include "machine/waiting.hpp"

#include <cmath>
#include <fstream>
#include <string>

#include "base/directory.hpp"

namespace tessera::inline v1::machine {

double seconds_waited() {
  double total = 0;
  bool known = false;
  const std::string tasks = "/proc/self/task";
  for (const std::string& task : names_in(tasks)) {
    std::ifstream file(tasks + "/" + task + "/schedstat");
    double ran = 0, waited = 0;  // nanoseconds
    if (!(file >> ran >> waited)) continue;
    total += waited * 1e-9;
    known = true;
  }
  return known ? total : NAN;
}

}  // namespace tessera::inline v1::machine
