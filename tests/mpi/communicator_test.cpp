// Communicators of the program, wrapped: duplicates and their lifetime, error handlers, messages.

#include "mpi/communicator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tessera::mpi {
namespace {

/// A duplicate of MPI_COMM_WORLD with an error handler, as another library would have it.
class Programs {
 public:
  Programs() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_create_errhandler(count_call, &handler_);
    MPI_Comm_set_errhandler(comm_, handler_);
    calls = 0;
  }
  ~Programs() {
    free();
    MPI_Errhandler_free(&handler_);
  }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] bool has_its_handler() const {
    MPI_Errhandler now = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm_, &now);
    const bool same = now == handler_;
    MPI_Errhandler_free(&now);
    return same;
  }
  void free() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  static inline int calls = 0;  // of the handler

 private:
  static void count_call(MPI_Comm*, int*, ...) { ++calls; }
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

/// Counts the communicators freed of those that it watches.
class FreedCount {
 public:
  FreedCount() {
    MPI_Comm_create_keyval(
        MPI_COMM_NULL_COPY_FN,
        [](MPI_Comm, int, void* count, void*) {
          ++*static_cast<int*>(count);
          return MPI_SUCCESS;
        },
        &key_, nullptr);
  }
  ~FreedCount() { MPI_Comm_free_keyval(&key_); }
  FreedCount(const FreedCount&) = delete;
  FreedCount& operator=(const FreedCount&) = delete;
  void watch(MPI_Comm comm) { MPI_Comm_set_attr(comm, key_, &count_); }
  [[nodiscard]] int count() const { return count_; }

 private:
  int key_ = MPI_KEYVAL_INVALID;
  int count_ = 0;
};

TEST(Wrapped, IsOneDuplicateHoweverOften) {
  const Programs program;
  const Communicator first(program.comm()), second(program.comm());
  EXPECT_EQ(first.handle(), second.handle());
  EXPECT_NE(first.handle(), program.comm());
  int relation = MPI_UNEQUAL;
  MPI_Comm_compare(first.handle(), program.comm(), &relation);
  EXPECT_EQ(relation, MPI_CONGRUENT);
  EXPECT_EQ(first.size(), Communicator::world().size());
  EXPECT_EQ(Communicator::world().handle(), Communicator(MPI_COMM_WORLD).handle());
  EXPECT_EQ(Communicator::self().size(), 1);
  EXPECT_NE(Communicator::self().handle(), MPI_COMM_SELF);
}

TEST(Wrapped, KeepsItsPartsBetweenWraps) {
  const Programs program;
  const MPI_Comm node = Communicator(program.comm()).node().handle();
  EXPECT_EQ(Communicator(program.comm()).node().handle(), node);
}

TEST(Wrapped, DuplicateDiesWithTheCommunicator) {
  Programs program;
  FreedCount freed;
  freed.watch(Communicator(program.comm()).handle());
  EXPECT_EQ(freed.count(), 0) << "attached to the program's communicator";
  program.free();
  EXPECT_EQ(freed.count(), 1);
}

TEST(Wrapped, DuplicateOutlivesTheCommunicatorInCopies) {
  Programs program;
  FreedCount freed;
  std::optional<Communicator> copy(program.comm());
  freed.watch(copy->handle());
  program.free();
  EXPECT_EQ(freed.count(), 0);
  EXPECT_EQ(copy->sum(1), copy->size());
  copy.reset();
  EXPECT_EQ(freed.count(), 1);
}

TEST(Wrapped, DuplicatesOfTheProgramHaveTheirOwn) {
  const Programs program;
  const Communicator first(program.comm());
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(program.comm(), &copy);
  EXPECT_NE(Communicator(copy).handle(), first.handle());
  MPI_Comm_free(&copy);
  EXPECT_EQ(first.sum(1), first.size());
}

TEST(Wrapped, ErrorsAreThrownAndTheProgramsHandlerStays) {
  const Programs program;
  const Communicator comm(program.comm());
  std::array<std::byte, 8> data{};
  EXPECT_THROW((void)comm.send(data, 0, -5), Error) << "an invalid tag";
  EXPECT_THROW(comm.receive(data, 0, -5).wait(), Error);
  EXPECT_THROW((void)Communicator::self().send(data, 0, -5), Error);
  EXPECT_EQ(Programs::calls, 0);
  EXPECT_TRUE(program.has_its_handler());
  MPI_Send(data.data(), 8, MPI_BYTE, 0, -5, program.comm());
  EXPECT_EQ(Programs::calls, 1) << "the program's own errors are its handler's";
}

TEST(Wrapped, MessagesOfTheProgramArriveThere) {
  const Programs program;
  const Communicator comm(program.comm());
  const int next = (comm.rank() + 1) % comm.size(),
            last = (comm.rank() + comm.size() - 1) % comm.size();
  int received = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, program.comm(), &request);
  std::vector<std::byte> data(std::size_t{1} << 18, std::byte{7});
  comm.broadcast(std::span(data), 0);  // in messages, along a chain
  std::vector<index_t> values(1 << 15, 1);
  comm.sum(values);
  EXPECT_EQ(values.back(), comm.size());
  int done = 1;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  EXPECT_EQ(done, 0) << "no message of ours";
  MPI_Barrier(program.comm());  // before any rank sends
  MPI_Send(&last, 1, MPI_INT, next, 104, program.comm());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(received, (last + comm.size() - 1) % comm.size()) << "the last of the sender";
}

TEST(Wrapped, HandlesOfFortranAreTheSame) {
  const Programs program;
  EXPECT_EQ(Communicator::from_fortran(MPI_Comm_c2f(program.comm())).handle(),
            Communicator(program.comm()).handle());
}

TEST(Wrapped, IntercommunicatorsAreRefused) {
  const Communicator comm = Communicator::world();
  if (comm.size() < 2) GTEST_SKIP() << "needs two ranks";
  const Programs program;
  const bool upper = comm.rank() > 0;
  MPI_Comm mine = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(program.comm(), upper ? 1 : 0, 0, &mine);
  MPI_Intercomm_create(mine, 0, program.comm(), upper ? 0 : 1, 1, &between);
  EXPECT_THROW((void)Communicator(between), Error);
  MPI_Comm_free(&between);
  MPI_Comm_free(&mine);
}

TEST(Adopted, IsFreedWithTheLastCopyAndNotCopied) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  FreedCount freed;
  freed.watch(made);
  {
    std::optional<Communicator> comm = Communicator::adopt(made);
    EXPECT_EQ(comm->handle(), made);
    const Communicator copy = *comm;
    comm.reset();
    EXPECT_EQ(copy.sum(2), 2 * copy.size());
    EXPECT_EQ(freed.count(), 0);
  }
  EXPECT_EQ(freed.count(), 1);
  EXPECT_THROW((void)Communicator::adopt(MPI_COMM_WORLD), Error);
  EXPECT_THROW((void)Communicator::adopt(MPI_COMM_SELF), Error);
}

TEST(Empty, IsWhatRanksWithoutAPartGet) {
  const Communicator comm = Communicator::world();
  const Communicator part = comm.split(comm.is_root() ? 3 : MPI_UNDEFINED, 0);
  EXPECT_EQ(static_cast<bool>(part), comm.is_root());
  EXPECT_EQ(part.empty(), !comm.is_root());
  if (part) {
    EXPECT_EQ(part.size(), 1);
    EXPECT_EQ(part.sum(5), 5);
  }
  const Communicator none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_FALSE(none.is_root());
  EXPECT_TRUE(Communicator(MPI_COMM_NULL).empty());
  std::vector<int> values{1};
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { (void)none.handle(); }, [&] { (void)none.sum(1); }, [&] { none.sum(values); },
           [&] { none.barrier(); }, [&] { (void)none.node(); }, [&] { (void)none.split(0, 0); },
           [&] { (void)none.all_gather(1); }}) {
    try {
      call();
      ADD_FAILURE() << "an empty communicator does not communicate";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(error.argument(), "comm") << error.what();
    }
  }
}

template <class T>
class ReducedTypes : public testing::Test {};
using Integers = testing::Types<signed char, unsigned char, char, short, unsigned short, int,
                                unsigned, long, unsigned long, long long, unsigned long long,
                                std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>;
TYPED_TEST_SUITE(ReducedTypes, Integers);

TYPED_TEST(ReducedTypes, OfEveryNameAndWidth) {
  using T = TypeParam;
  const Communicator comm = Communicator::world();
  const int p = comm.size();
  const auto mine = static_cast<T>(comm.rank() + 1);
  constexpr bool wide = std::is_unsigned_v<T> && sizeof(T) == 8;
  static_assert(
      std::is_same_v<decltype(comm.sum(mine)), std::conditional_t<wide, std::uint64_t, index_t>>);
  EXPECT_EQ(comm.sum(static_cast<T>(100)), static_cast<Reduced<T>>(100 * p)) << "not modulo 2^8";
  EXPECT_EQ(comm.max(mine), static_cast<Reduced<T>>(p));
  EXPECT_EQ(comm.min(mine), Reduced<T>{1});
  std::vector<T> values{mine, T{2}};
  comm.sum(values);
  EXPECT_EQ(values, (std::vector<T>{static_cast<T>(p * (p + 1) / 2), static_cast<T>(2 * p)}));
  std::array<T, 2> both{mine, T{3}};
  comm.max(both);
  EXPECT_EQ(both, (std::array<T, 2>{static_cast<T>(p), T{3}}));
  comm.min(std::span(both).first(1));
  EXPECT_EQ(both[0], static_cast<T>(p));
  std::vector<T> expected(static_cast<std::size_t>(p));
  std::iota(expected.begin(), expected.end(), T{1});
  EXPECT_EQ(comm.all_gather(mine), expected);
}

TEST(Reduced, RealAndComplexNumbers) {
  const Communicator comm = Communicator::world();
  const auto p = static_cast<double>(comm.size());
  EXPECT_EQ(comm.sum(0.5F), p / 2);
  EXPECT_EQ(comm.max(static_cast<float>(comm.rank())), p - 1);
  EXPECT_EQ(comm.min(-static_cast<double>(comm.rank())), 1 - p);
  EXPECT_EQ(comm.sum(std::complex<double>(1, -2)), std::complex<double>(p, -2 * p));
  EXPECT_EQ(comm.sum(Complex<float>(1, -2)),
            Complex<float>(static_cast<float>(p), static_cast<float>(-2 * p)));
  std::vector<std::complex<float>> values(3, {1, 2});
  comm.sum(values);
  EXPECT_EQ(values[2], std::complex<float>(static_cast<float>(p), static_cast<float>(2 * p)));
  std::vector<float> reals(3, 1.5F);
  comm.sum(std::span(reals));
  EXPECT_EQ(reals[0], 1.5F * static_cast<float>(p));
}

}  // namespace
}  // namespace tessera::mpi
