#include "mpi/node_reads.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>

#include "machine/fork_join.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// Returns whether all bytes were copied.
bool read_process(const NodeBytes& from, std::span<std::byte> to) {
  auto* const source = reinterpret_cast<std::byte*>(from.address);
  if (from.process == getpid()) {
    std::memcpy(to.data(), source, to.size());
    return true;
  }
  for (std::size_t done = 0; done < to.size();) {
    const iovec mine{to.data() + done, to.size() - done}, its{source + done, to.size() - done};
    const ssize_t size = process_vm_readv(static_cast<pid_t>(from.process), &mine, 1, &its, 1, 0);
    if (size <= 0) return false;
    done += static_cast<std::size_t>(size);
  }
  return true;
}

struct Piece {
  std::size_t read;
  std::size_t begin, end;
};

std::vector<Piece> cut(std::span<const NodeRead> reads) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < reads.size(); ++r) {
    const std::size_t bytes = reads[r].to.size();
    for (std::size_t at = 0; at < bytes; at += piece)
      pieces.push_back({r, at, std::min(at + piece, bytes)});
  }
  return pieces;
}

}  // namespace

NodeBytes here(const std::byte* data) {
  return {index_t{getpid()}, static_cast<index_t>(reinterpret_cast<std::intptr_t>(data))};
}

void read_node(std::span<NodeRead> reads) {
  const std::vector<Piece> pieces = cut(reads);
  std::vector<char> refused(pieces.size(), 0);  // not bits: threads write them
  const auto count = static_cast<index_t>(pieces.size());
  machine::parallel(static_cast<int>(std::min<index_t>(machine::default_threads(), count)), [&] {
    machine::parallel_for(0, count, 1, [&](index_t begin, index_t end) {
      for (auto p = static_cast<std::size_t>(begin); p < static_cast<std::size_t>(end); ++p) {
        const Piece& piece = pieces[p];
        const NodeRead& read = reads[piece.read];
        const NodeBytes from{read.from.process,
                             read.from.address + static_cast<index_t>(piece.begin)};
        refused[p] = !read_process(from, read.to.subspan(piece.begin, piece.end - piece.begin));
        heartbeat();
      }
    });
  });
  for (NodeRead& read : reads) read.failed = false;
  for (std::size_t p = 0; p < pieces.size(); ++p)
    if (refused[p] != 0) reads[pieces[p].read].failed = true;
}

bool node_reads_work(const Communicator& node) {
  if (node.size() == 1) return false;
  // Numbers that no other process has at this address, should another have this process's number.
  std::random_device random;
  const std::array<std::uint32_t, 4> mine{random(), random(), random(), random()};
  const NodeBytes at = here(reinterpret_cast<const std::byte*>(mine.data()));
  const auto places = node.all_gather(std::span<const index_t>(std::array{at.process, at.address}));
  const auto numbers = node.all_gather(std::span<const std::uint32_t>(mine));
  bool works = machine::default_threads() > 1;
  for (std::size_t r = 0; works && r < static_cast<std::size_t>(node.size()); ++r) {
    std::array<std::uint32_t, 4> got{};
    works =
        read_process({places[2 * r], places[2 * r + 1]}, std::as_writable_bytes(std::span(got))) &&
        std::equal(got.begin(), got.end(), &numbers[4 * r]);
  }
  return node.min(works ? 1 : 0) != 0;  // after which no rank reads `mine`
}

const std::vector<bool>& Communicator::node_readers() const {
  std::vector<bool>& readers = state_->node_readers;
  if (readers.empty()) {
    readers.resize(static_cast<std::size_t>(size_), false);
    const Communicator ranks = node();
    const bool works = node_reads_work(ranks);
    for (const index_t rank : ranks_of(ranks)) readers[static_cast<std::size_t>(rank)] = works;
  }
  return readers;
}

}  // namespace tessera::inline v1::mpi
