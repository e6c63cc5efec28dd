#pragma once

namespace tessera::smpi {

/// Two messages at a time on each lane of a link, and the others wait: as lanes do, and the
/// simulation of 65,000 at once ends. On a link as wide as eight nodes' two messages alone would
/// leave most of it idle. From one rank.
void queue_on_lanes();

}  // namespace tessera::smpi
