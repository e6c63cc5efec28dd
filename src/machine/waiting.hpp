#pragma once
// Did this process get the cores that it asked for?

namespace tessera::machine {

/// Seconds that the threads of this process, those that live, could have run and waited for a core,
/// since they began: what others on the machine take shows as its growth. NaN where the system does
/// not tell (Linux: /proc/self/task/*/schedstat).
[[nodiscard]] double seconds_waited();

}  // namespace tessera::machine
