// Persistent requests in pieces that an int counts.

#include "mpi/repeated.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/idle.hpp"
#include "mpi/message_parts.hpp"
#include "mpi/tags.hpp"

namespace tessera::inline v1::mpi {
void RepeatedMessages::Side::add_part(std::size_t number, MPI_Request request) {
  parts.push_back(request);
  message.push_back(number);
}

void RepeatedMessages::Side::close() {
  first.push_back(parts.size());
  pending.push_back(0);
}

void RepeatedMessages::Side::release() noexcept {
  int finalized = 0;
  MPI_Finalized(&finalized);
  for (MPI_Request& part : parts)
    if (finalized == 0 && part != MPI_REQUEST_NULL) MPI_Request_free(&part);
}

RepeatedMessages::RepeatedMessages(const Communicator& comm, std::span<const Out> out,
                                   std::span<const In> in)
    : comm_(comm) {
  for (const auto& [peer, data] : out) {
    in_pieces(ssize(data), [&, to = peer, from = data](index_t offset, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Send_init(from.data() + offset, count, MPI_BYTE, to, tag::repeated, comm.handle(),
                          &request),
            "MPI_Send_init");
      out_.add_part(out_.pending.size(), request);
    });
    out_.close();
  }
  for (const auto& [peer, data] : in) {
    in_pieces(ssize(data), [&, from = peer, to = data](index_t offset, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(MPI_Recv_init(to.data() + offset, count, MPI_BYTE, from, tag::repeated, comm.handle(),
                          &request),
            "MPI_Recv_init");
      in_.add_part(in_.pending.size(), request);
    });
    in_.close();
  }
  in_.indices.resize(in_.parts.size());
  in_.complete.reserve(in.size());
}

RepeatedMessages::~RepeatedMessages() {
  out_.release();
  in_.release();
}

void RepeatedMessages::start_receives() {
  for (std::size_t m = 0; m < in_.pending.size(); ++m)
    in_.pending[m] = static_cast<int>(in_.first[m + 1] - in_.first[m]);
  if (!in_.parts.empty())
    check(MPI_Startall(narrow<int>(in_.parts.size()), in_.parts.data()), "MPI_Startall");
}

void RepeatedMessages::start_send(std::size_t number) {
  const std::size_t begin = out_.first[number], end = out_.first[number + 1];
  if (begin < end)
    check(MPI_Startall(narrow<int>(end - begin), out_.parts.data() + begin), "MPI_Startall");
}

std::span<const std::size_t> RepeatedMessages::arrived() {
  in_.complete.clear();
  const auto count = narrow<int>(in_.parts.size());
  int done = 0;
  while (count > 0 && in_.complete.empty() && done != MPI_UNDEFINED) {
    if constexpr (library_spins) {
      poll_until([&] {
        check(MPI_Testsome(count, in_.parts.data(), &done, in_.indices.data(), MPI_STATUSES_IGNORE),
              "MPI_Testsome");
        return done != 0;
      });
    } else {
      check(MPI_Waitsome(count, in_.parts.data(), &done, in_.indices.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitsome");
    }
    for (int k = 0; done != MPI_UNDEFINED && k < done; ++k) {
      const std::size_t m =
          in_.message[static_cast<std::size_t>(in_.indices[static_cast<std::size_t>(k)])];
      if (--in_.pending[m] == 0) in_.complete.push_back(m);
    }
    heartbeat();
  }
  return in_.complete;
}

void RepeatedMessages::finish() {
  if (out_.parts.empty()) return;
  const auto count = narrow<int>(out_.parts.size());
  if constexpr (library_spins) {
    poll_until([&] {
      int done = 0;
      check(MPI_Testall(count, out_.parts.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
      return done != 0;
    });
  } else {
    check(MPI_Waitall(count, out_.parts.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  heartbeat();
}

}  // namespace tessera::inline v1::mpi
