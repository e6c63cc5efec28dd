// In-memory sort of plain keys: all of them, the first ones, or each distinct one once.

#include "base/progress.hpp"
#include "dist/sort/check.hpp"
#include "dist/sort/on_devices.hpp"
#include "dist/sort/some_keys.hpp"
#include "machine/buffer.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "run/outputs.hpp"
#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

using run::Values;

template <class T>
class KeySort {
 public:
  KeySort(const mpi::Communicator& comm, const Inputs& inputs, const Problem& problem)
      : comm_(comm),
        inputs_(inputs),
        problem_(problem),
        share_(layout::BlockMap(problem.n, comm.size()).size(comm.rank())) {
    const std::vector<index_t> offsets = input_offsets(problem, comm.size());
    const auto rank = static_cast<std::size_t>(comm.rank());
    read_rows_ = {offsets[rank], offsets[rank + 1]};
    mpi::together(comm, "read", [&] {
      const mpi::PhaseScope scope(once_, "read");
      const auto bytes = static_cast<double>(read_rows_.size() * index_t{sizeof(T)});
      const Progress progress(inputs.data == nullptr ? "generate" : "read", bytes,
                              Progress::Counts::bytes_read);
      const index_t room = std::max(read_rows_.size(), share_);
      items_ = machine::Buffer<T>(room);
      if (!problem.takes_first()) spare_ = machine::Buffer<T>(room);
      if (keeps_input()) kept_ = machine::Buffer<T>(read_rows_.size());
      machine::Buffer<T>& read_keys = keeps_input() ? kept_ : items_;
      if (hashes_input())
        content_ = load_and_hash(inputs, problem, read_rows_, read_keys.data());
      else
        read_into(read_keys);
      fresh_ = !keeps_input();
    });
    if (problem.gpus != nullptr)
      there_.emplace(*problem.gpus, problem.n, tessera::sort::key_map<T>(problem.by.front().order),
                     *tessera::sort::resident_kernels(tessera::sort::Bits<T>{}));
  }

  bool run(const Values& point, run::Session& session) {
    run::Outputs outputs;
    open(point, outputs, problem_.unique ? 0 : problem_.rows_out());
    run::Measured measured = run::measure(
        comm_, point, [&] { restore(); }, [&](mpi::Phases& phases) { sort(phases); });
    if (there_) {
      mpi::together(comm_, "from device", [&] {
        const mpi::PhaseScope scope(once_, "from device");
        there_->get(bits_of(items_), problem_.method.threads);
      });
    }
    index_t first = static_cast<index_t>(result_.size());
    comm_.sum_before(std::span(&first, 1));
    const bool writes_first = looks_as_written(outputs);
    if (writes_first) write_and_look(outputs, first);
    if (problem_.verify) {
      const mpi::PhaseScope scope(once_, "verify");
      measured.verdict = run::Verdict{"order_and_hash", static_cast<double>(faults()), 0};
    }
    if (problem_.unique) {
      outputs = {};  // with no rows, to detect errors of creation before the sort
      open(point, outputs, comm_.sum(static_cast<index_t>(result_.size())));
    }
    describe(problem_, measured);
    measured.simulated_counts = [this] { return simulated_counts(problem_); };
    measured.once = once_;
    return outputs.conclude(comm_, point, session, measured, [&] {
      if (!writes_first) write_keys(problem_, outputs, 0, first, std::as_bytes(result_));
    });
  }

 private:
  [[nodiscard]] bool hashes_input() const { return problem_.verify && !problem_.takes_first(); }
  [[nodiscard]] bool keeps_input() const { return problem_.keeps_input && !problem_.takes_first(); }

  void open(const Values& point, run::Outputs& outputs, index_t rows) {
    if (problem_.out.empty()) return;
    mpi::together(comm_, "create output", [&] {
      (void)add_keys(outputs, io::parse_dataset_name(problem_.out, "out"), inputs_, problem_, rows);
    });
    outputs.open(comm_, point);
  }

  /// Returns whether the result may be verified while it is written, in blocks that fit a cache,
  /// unless the sort itself verified it. The file gets its name after the check only.
  [[nodiscard]] bool looks_as_written(const run::Outputs& outputs) const {
    const bool all_of_it =
        problem_.verify && !problem_.takes_first() && !problem_.unique && !outputs.empty();
    return comm_.sum(index_t{all_of_it && watch_ && !watch_->saw_any() ? 0 : 1}) == 0;
  }
  void write_and_look(run::Outputs& outputs, index_t first) {
    double seconds = 0;
    mpi::together(comm_, "write", [&] {
      const mpi::PhaseScope scope(once_, "write");
      write_keys(problem_, outputs, 0, first, std::as_bytes(result_),
                 {1, [&](std::span<const std::byte> keys) {
                    const Timer timer;
                    watch_->saw(keys.data(), static_cast<index_t>(keys.size() / sizeof(T)));
                    seconds += timer.seconds();
                  }});
    });
    once_.add("verify", seconds);
    once_.add("write", -seconds);
  }

  void read_into(machine::Buffer<T>& to) {
    load(inputs_, problem_, problem_.by.front(), read_rows_,
         reinterpret_cast<std::byte*>(to.data()));
  }
  /// Return the keys before the sort, and after it.
  [[nodiscard]] std::span<const T> read_keys() const {
    return (keeps_input() ? kept_ : items_)
        .span()
        .first(static_cast<std::size_t>(read_rows_.size()));
  }
  [[nodiscard]] std::span<const T> sorted() const {
    return items_.span().first(static_cast<std::size_t>(share_));
  }

  static tessera::sort::Bits<T>* bits_of(machine::Buffer<T>& keys) {
    return reinterpret_cast<tessera::sort::Bits<T>*>(keys.data());
  }

  /// Restores the input.
  void restore() {
    if (there_)
      there_->put(bits_of(keeps_input() ? kept_ : items_), problem_.method.threads);
    else if (keeps_input())
      std::copy(kept_.begin(), kept_.end(), items_.begin());
    else if (!fresh_)
      read_into(items_);
    fresh_ = problem_.takes_first();  // other tasks overwrite it
  }

  void sort(mpi::Phases& phases) {
    if (there_) {
      there_->run(phases);
      result_ = sorted();
      return;
    }
    const dist::sort::Order order = problem_.by.front().order;
    if (problem_.takes_first()) {
      spare_ = dist::sort::sort_first<T>(comm_, {read_keys(), *problem_.top, order},
                                         problem_.method, phases);
      result_ = spare_.span();
      return;
    }
    watch_.emplace(sorted(), order, problem_.seed);
    if (!finds_order(phases)) {
      const index_t n = dist::sort::sort_keys(
          comm_, dist::sort::Room<T>{items_.data(), spare_.data(), read_rows_.size()}, order,
          problem_.method, phases);
      TESSERA_EXPECTS(n == share_);
    }
    result_ = sorted();
    if (!problem_.unique) return;
    const mpi::PhaseScope scope(phases, "distinct");
    const index_t distinct = dist::sort::keep_distinct(comm_, sorted(), order, spare_.data());
    result_ = spare_.span().first(static_cast<std::size_t>(distinct));
  }

  /// Returns whether the pass that verifies the result finds that the input is already in order.
  [[nodiscard]] bool finds_order(mpi::Phases& phases) {
    if (!problem_.verify || comm_.size() > 1 || problem_.method.kernel != "auto") return false;
    const mpi::PhaseScope scope(phases, "sort");
    const mpi::Computing computing;
    return watch_->finds_order(problem_.method.threads);
  }

  [[nodiscard]] index_t faults() {
    const dist::sort::Order order = problem_.by.front().order;
    const int threads = problem_.method.threads;
    if (problem_.takes_first())
      return dist::sort::faults_of_first<T>(comm_, {read_keys(), *problem_.top, order}, result_,
                                            {problem_.seed, threads});
    if (!watch_) watch_.emplace(sorted(), order, problem_.seed);
    tessera::sort::Inspection seen;
    machine::parallel(threads, [&] { seen = watch_->conclude(); });
    const tessera::sort::Content input{comm_.sum(content_.count), comm_.sum(content_.hash)};
    const index_t wrong = dist::sort::faults(comm_, sorted(), order, input, seen);
    return problem_.unique ? wrong + dist::sort::faults_of_distinct(comm_, sorted(), result_, order)
                           : wrong;
  }

  mpi::Communicator comm_;
  const Inputs& inputs_;
  const Problem& problem_;
  layout::Range read_rows_;  ///< this rank's keys before the sort, in proportion to its speed
  index_t share_;            ///< number of its keys after the sort, equal shares
  mpi::Phases once_;
  machine::Buffer<T> items_, spare_, kept_;
  std::span<const T> result_;
  tessera::sort::Content content_;                // of the input, on this rank
  std::optional<tessera::sort::Watch<T>> watch_;  // of the last sort
  bool fresh_ = false;                            // items hold the input
  std::optional<dist::sort::DeviceSort<tessera::sort::Bits<T>>> there_;
};

}  // namespace

bool run_keys(const Point& point) {
  return dispatch_element(*point.problem.by.front().form.number, [&]<class T>(Type<T>) {
    return KeySort<T>(point.comm, point.inputs, point.problem).run(point.values, point.session);
  });
}

}  // namespace tessera::inline v1::workloads::sort
