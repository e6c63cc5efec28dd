#include "base/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.hpp"

namespace tessera {

Progress::Progress(std::string name, double total, Shown shown)
    : name_(std::move(name)),
      total_(total),
      enabled_(shown == Shown::yes && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(double done) {
  const double elapsed = timer_.seconds();
  if (!enabled_ || elapsed < 1.0 || elapsed - last_ < 0.2) return;
  last_ = elapsed;
  drawn_ = true;
  const double share = total_ > 0 ? std::clamp(done / total_, 0.0, 1.0) : 0.0;
  const std::string left = share > 0 ? human_seconds(elapsed * (1 - share) / share) + " left" : "";
  fmt::print(stderr, "\r\033[K{}  {:3.0f} %  {}", name_, 100 * share, left);
  std::fflush(stderr);
}

}  // namespace tessera
