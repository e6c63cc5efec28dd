// Life of communicators: duplicates of the program's, attached to them, and parts.

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "mpi/agreement.hpp"
#include "mpi/collective.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// The attributes by which duplicates live as long as the communicators that they are of.
struct Keys {
  std::mutex mutex;
  int duplicate = MPI_KEYVAL_INVALID;  ///< of a wrapped communicator
  int finalizer = MPI_KEYVAL_INVALID;  ///< of MPI_COMM_SELF: MPI_Finalize deletes it first
  std::vector<MPI_Comm> wrapped;       ///< with a duplicate, oldest first
};

/// Never destroyed: destructors of the program may call MPI_Finalize.
Keys& keys() {
  static Keys& one = *std::make_unique<Keys>().release();
  return one;
}

/// Whose communicators exist: MPI_Init's, or also those of sessions, which need no MPI_Init.
enum class Source { init, any };

void require_mpi(Source source) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  const bool may_be_of_a_session = MPI_VERSION >= 4 && source == Source::any;
  require_argument(finalized == 0 && (initialized != 0 || may_be_of_a_session), "comm",
                   finalized != 0 ? "is used after MPI_Finalize" : "is used before MPI_Init");
}

}  // namespace

/// Callbacks of the attributes.
struct Attached {
  static int remove(MPI_Comm comm, int, void* value, void*) {
    {
      const std::lock_guard lock(keys().mutex);
      std::erase(keys().wrapped, comm);
    }
    const std::unique_ptr<std::shared_ptr<Communicator::State>> state(
        static_cast<std::shared_ptr<Communicator::State>*>(value));
    return MPI_SUCCESS;
  }

  /// Frees the remaining duplicates, the youngest first: in the same order on all their ranks.
  static int remove_all(MPI_Comm, int, void*, void*) {
    std::vector<MPI_Comm> left;
    {
      const std::lock_guard lock(keys().mutex);
      left = keys().wrapped;
    }
    std::for_each(left.rbegin(), left.rend(),
                  [](MPI_Comm comm) { MPI_Comm_delete_attr(comm, keys().duplicate); });
    return MPI_SUCCESS;
  }

  static void create_keys() {
    const std::lock_guard lock(keys().mutex);
    if (keys().duplicate != MPI_KEYVAL_INVALID) return;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, remove_all, &keys().finalizer, nullptr),
          "MPI_Comm_create_keyval");
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, remove, &keys().duplicate, nullptr),
          "MPI_Comm_create_keyval");
    check(MPI_Comm_set_attr(MPI_COMM_SELF, keys().finalizer, nullptr), "MPI_Comm_set_attr");
  }
};

Communicator::State::~State() {
  lines.clear();
  node.reset();
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0 && !leaves_alone()) MPI_Comm_free(&handle);
}

std::shared_ptr<Communicator::State> Communicator::owned(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  auto state = std::make_shared<State>(comm);
  check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return state;
}

std::shared_ptr<Communicator::State> Communicator::duplicate_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  const bool predefined = comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF;
  require_mpi(predefined ? Source::init : Source::any);
  Attached::create_keys();
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, keys().duplicate, static_cast<void*>(&value), &found),
        "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<std::shared_ptr<State>*>(value);
  int between = 0;
  check(MPI_Comm_test_inter(comm, &between), "MPI_Comm_test_inter");
  require_argument(between == 0, "comm",
                   "is an intercommunicator; merge its groups (MPI_Intercomm_merge)");
  MPI_Comm copy = MPI_COMM_NULL;
  collective<MPI_Comm_dup, MPI_Comm_idup>("MPI_Comm_dup", comm, &copy);
  auto state = owned(copy);
  auto attached = std::make_unique<std::shared_ptr<State>>(state);
  check(MPI_Comm_set_attr(comm, keys().duplicate, attached.get()), "MPI_Comm_set_attr");
  [[maybe_unused]] const auto* const held_by_attribute = attached.release();
  if (comm != MPI_COMM_SELF) {  // whose attributes MPI_Finalize deletes
    const std::lock_guard lock(keys().mutex);
    keys().wrapped.push_back(comm);
  }
  return state;
}

Communicator::Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {
  if (!state_) return;
  check(MPI_Comm_rank(state_->handle, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(state_->handle, &size_), "MPI_Comm_size");
}

Communicator::Communicator(MPI_Comm comm) : Communicator(duplicate_of(comm)) {}

Communicator Communicator::from_fortran(MPI_Fint comm) {
  require_mpi(Source::any);
  return Communicator(MPI_Comm_f2c(comm));
}

Communicator Communicator::adopt(MPI_Comm comm) {
  require_argument(comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF, "comm",
                   "is MPI_COMM_WORLD or MPI_COMM_SELF, which stay MPI's; use Communicator(comm)");
  return Communicator(owned(comm));
}

Communicator Communicator::world() { return Communicator(MPI_COMM_WORLD); }

Communicator Communicator::self() { return Communicator(MPI_COMM_SELF); }

MPI_Comm Communicator::handle() const {
  if (state_ == nullptr) throw Error::of_argument("comm", "is an empty communicator");
  return state_->handle;
}

void Communicator::require_rank(int rank, const char* argument) const {
  if (rank >= 0 && rank < size_) return;
  throw Error::of_argument(argument, "is " + std::to_string(rank) + ": must be in [0, " +
                                         std::to_string(size_) + "), the ranks of comm");
}

Communicator Communicator::split(int color, int key) const {
  require_argument(color >= 0 || color == MPI_UNDEFINED, "color",
                   "is " + std::to_string(color) + ": must be at least 0 or MPI_UNDEFINED");
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(handle(), color, key, &part), "MPI_Comm_split");
  return adopt(part);
}

std::vector<index_t> Communicator::ranks_of(const Communicator& part) const {
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  check(MPI_Comm_group(handle(), &all), "MPI_Comm_group");
  check(MPI_Comm_group(part.handle(), &some), "MPI_Comm_group");
  std::vector<int> there(static_cast<std::size_t>(part.size())), here(there.size());
  std::iota(there.begin(), there.end(), 0);
  const int rc = MPI_Group_translate_ranks(some, part.size(), there.data(), all, here.data());
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  check(rc, "MPI_Group_translate_ranks");
  return {here.begin(), here.end()};
}

const GridLines& Communicator::grid_lines(index_t rows, index_t cols) const {
  require_argument(rows > 0 && cols > 0 && rows * cols == size_, "rows",
                   "times cols is " + std::to_string(rows) + " x " + std::to_string(cols) +
                       ": must be the " + std::to_string(size_) + " ranks of comm");
  std::shared_ptr<const GridLines>& lines = state_->lines[{rows, cols}];
  if (!lines) {
    const auto row = static_cast<int>(rank_ / cols), col = static_cast<int>(rank_ % cols);
    lines = std::make_shared<const GridLines>(GridLines{split(row, col), split(col, row)});
  }
  return *lines;
}

Communicator Communicator::node() const {
  MPI_Comm part = MPI_COMM_NULL;
  const MPI_Comm all = handle();
  if (!state_->node) {
    check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part),
          "MPI_Comm_split_type");
    state_->node = std::make_shared<const Communicator>(adopt(part));
  }
  return *state_->node;
}

}  // namespace tessera::inline v1::mpi
