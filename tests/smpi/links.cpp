#include "links.hpp"

#include <algorithm>
#include <cmath>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Link.hpp>

namespace tessera::smpi {

void queue_on_lanes() {
  const auto links = simgrid::s4u::Engine::get_instance()->get_all_links();
  double lane = INFINITY;
  for (const auto* link : links) lane = std::min(lane, link->get_bandwidth());
  for (auto* link : links)
    link->set_concurrency_limit(
        2 * std::max(1, static_cast<int>(std::lround(link->get_bandwidth() / lane))));
}

}  // namespace tessera::smpi
