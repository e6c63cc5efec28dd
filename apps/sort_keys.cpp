// Plain keys.

#include "dist/sort/check.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"
#include "run/outputs.hpp"
#include "sort.hpp"

namespace tessera::apps::sort {
namespace {

using run::Values;

template <class T>
class KeySort {
 public:
  KeySort(const mpi::Communicator& comm, const Inputs& inputs, const Request& request)
      : comm_(comm),
        inputs_(inputs),
        request_(request),
        mine_(layout::BlockMap(request.n, comm.size()).range(comm.rank())) {
    mpi::together(comm, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      items_ = machine::Buffer<T>(mine_.size());
      spare_ = machine::Buffer<T>(mine_.size());
      if (request.keeps_input) kept_ = machine::Buffer<T>(mine_.size());
      read_into(request.keeps_input ? kept_ : items_);
      fresh_ = !request.keeps_input;
    });
  }

  bool run(const Values& point, run::Session& session) {
    run::Outputs outputs;
    if (point.has("out"))
      outputs.add(io::parse_dataset_name(point.text("out"), "out"), {request_.n}, element_of<T>);
    outputs.open(comm_, point);
    const bool verify = !point.flag("no-verify");
    tessera::sort::Content input;
    if (verify) {
      const mpi::PhaseScope scope(once_, "verify");
      input = dist::sort::content(comm_, std::as_const(request_.keeps_input ? kept_ : items_).span(),
                                  request_.seed, request_.method.threads);
    }
    run::Measured measured = run::measure(
        comm_, point, [&] { restore(); }, [&](mpi::Phases& phases) { sort(phases); });
    if (verify) {
      const mpi::PhaseScope scope(once_, "verify");
      measured.verdict = run::Verdict{"order_and_hash", static_cast<double>(faults(input)), 0};
    }
    measured.columns = cells_of(request_);
    measured.stand_in = [this] { return stand_in(request_); };
    measured.work = static_cast<double>(request_.n);
    measured.rate_units = "Mkeys/s";
    measured.once = once_;
    return outputs.conclude(comm_, point, session, measured,
                            [&] { outputs.write(0, mine_.begin, std::as_bytes(items_.span())); });
  }

 private:
  void read_into(machine::Buffer<T>& to) {
    load(comm_, inputs_, request_, request_.by.front(), reinterpret_cast<std::byte*>(to.data()));
  }

  /// The input again, as it was.
  void restore() {
    if (request_.keeps_input)
      std::copy(kept_.begin(), kept_.end(), items_.begin());
    else if (!fresh_)
      read_into(items_);
    fresh_ = false;
  }

  void sort(mpi::Phases& phases) {
    const index_t n =
        dist::sort::sort_keys(comm_, dist::sort::Room<T>{items_.data(), spare_.data(), mine_.size()},
                              request_.by.front().order, request_.method, phases);
    TESSERA_EXPECTS(n == mine_.size());
  }

  [[nodiscard]] index_t faults(const tessera::sort::Content& input) const {
    return dist::sort::faults(comm_, items_.span(), request_.by.front().order, input, request_.seed,
                              request_.method.threads);
  }

  mpi::Communicator comm_;
  const Inputs& inputs_;
  const Request& request_;
  layout::Range mine_;
  mpi::Phases once_;
  machine::Buffer<T> items_, spare_, kept_;
  bool fresh_ = false;  // items hold the input
};

}  // namespace

bool run_keys(const mpi::Communicator& comm, const Values& point, const Inputs& inputs,
              const Request& request, run::Session& session) {
  return dispatch_element(request.by.front().element, [&]<class T>(Type<T>) {
    return KeySort<T>(comm, inputs, request).run(point, session);
  });
}

}  // namespace tessera::apps::sort
