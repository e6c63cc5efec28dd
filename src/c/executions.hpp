#pragma once
// What the plans of exchanges have in common: checks of an execution, and its two halves.

#include <array>
#include <memory>
#include <optional>

#include "c/context.hpp"
#include "c/gpu.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::c {

/// Runs the checks of an execution on this rank, which return a number that must be equal on all
/// ranks. If they fail or differ anywhere, every rank throws Error(usage). Allocates nothing unless
/// the call is wrong. Collective.
template <class Checks>
void agree_on_execution(const Context& context, const Checks& checks) {
  std::optional<Error> refused;
  index_t number = 0;
  try {
    number = checks();
  } catch (const Error& error) {
    refused = error;
  }
  std::array<index_t, 3> all{refused ? 1 : 0, number, -number};
  context.comm.max(all);
  if (all[0] == 0 && all[1] == -all[2]) return;
  mpi::together(context.comm, "check arguments", [&] {
    if (refused) throw *refused;
  });
  throw Error::of_argument("arguments", "differ between the ranks: alpha or beta is 0 on some");
}

/// A plan of which an execution is started and awaited.
class ExchangePlan {
 public:
  /// gpu: that whose memory has the arrays, which the options of the plan name.
  ExchangePlan(std::shared_ptr<Context> context, std::optional<int> gpu)
      : context_(std::move(context)), gpu_(gpu) {}
  ExchangePlan(const ExchangePlan&) = delete;
  ExchangePlan& operator=(const ExchangePlan&) = delete;
  virtual ~ExchangePlan() = default;

  [[nodiscard]] virtual index_t bytes() const = 0;

  /// Checks the arguments on all ranks and starts: start() throws on none of them. Collective.
  template <class Checks, class Start>
  void begin(const Checks& checks, const Start& start) {
    agree_on_execution(*context_, [&] {
      expect(!is_started_, "plan", "is started already: call its wait first");
      return checks();
    });
    use_place();
    start();
    is_started_ = true;
  }
  void end() {
    expect(is_started_, "plan", "is not started: call its start first");
    is_started_ = false;
    use_place();
    wait();
  }
  [[nodiscard]] bool is_started() const { return is_started_; }
  [[nodiscard]] const Context& context() const { return *context_; }
  /// Makes the GPU of the arrays current.
  void use_place() const {
    if (gpu_) machine::use_gpu(*gpu_);
  }

 protected:
  [[nodiscard]] Space place() const { return gpu_ ? Space::device : Space::host; }
  /// Throws Error(usage) naming the argument if its memory is not where the arrays of the plan are.
  void expect_here(const void* data, const char* argument) const {
    expect_reach(data, gpu_.has_value(), argument);
  }

 private:
  virtual void wait() = 0;

  std::shared_ptr<Context> context_;
  std::optional<int> gpu_;
  bool is_started_ = false;
};

/// Runs `make`, after the agreement on the arguments; if it fails anywhere, every rank throws. On a
/// GPU it is collective and propagates its errors itself. Collective.
template <class Make>
void make_plan(const Context& context, const std::optional<int>& gpu, const char* name,
               const Make& make) {
  if (gpu) return make();
  mpi::together(context.comm, name, make);
}

/// The functions that all kinds of plans have.
template <class Handle, class Plan>
[[nodiscard]] int bytes_of_plan(Handle plan, int64_t* bytes) {
  return guarded([&] {
    const auto found = Handles<Handle, Plan>::all().get(plan, "plan");
    expect(bytes != nullptr, "bytes", "is a null pointer");
    *bytes = found->bytes();
  });
}
template <class Handle, class Plan>
[[nodiscard]] int wait_for_plan(Handle plan) {
  return guarded([&] { Handles<Handle, Plan>::all().get(plan, "plan")->end(); });
}
template <class Handle, class Plan>
[[nodiscard]] int free_plan(Handle* plan) {
  return guarded([&] {
    auto& all = Handles<Handle, Plan>::all();
    if (plan != nullptr && *plan != nullptr) {
      const auto found = all.get(*plan, "plan");
      expect(!found->is_started(), "plan", "is started: call its wait first");
      found->use_place();
    }
    all.free(plan, "plan");
  });
}

}  // namespace tessera::inline v1::c
