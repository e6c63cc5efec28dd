#pragma once

namespace tessera::smpi {

/// Limits each lane of a link to two messages at a time, and queues the others: as real lanes do,
/// and so that the simulation of 65,000 concurrent ones ends. On a link as wide as eight nodes' two
/// messages alone would leave most of it idle. Called by one rank.
void queue_on_lanes();

}  // namespace tessera::smpi
