#include "machine/shared_state.hpp"

#include "machine/contention.hpp"

namespace tessera::inline v1::machine {
namespace {

DeviceTimes& times_of_thread() {
  thread_local DeviceTimes sums;
  return sums;
}

constinit SharedState* adopted = nullptr;

}  // namespace

SharedState& shared_state() noexcept {
  static SharedState own{&work_done(), is_asked_to_sleep(), 1, times_of_thread};
  return adopted != nullptr ? *adopted : own;
}

void adopt(SharedState& others) {
  adopted = &others;
  count_work_in(*others.work);
}

}  // namespace tessera::inline v1::machine
