#pragma once
// Contention for cores: run-queue waiting time of this process.

namespace tessera::inline v1::machine {

/// Returns the seconds that the live threads of this process have been runnable but waited for a
/// core since they began; growth shows load by others on the machine. NaN if the system does not
/// report it (Linux: /proc/self/task/*/schedstat).
[[nodiscard]] double seconds_waited();

}  // namespace tessera::inline v1::machine
