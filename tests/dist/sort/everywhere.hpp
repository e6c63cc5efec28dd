#pragma once

#include <numeric>
#include <span>
#include <vector>

#include "mpi/communicator.hpp"
#include "mpi/exchange.hpp"

namespace tessera::dist::sort {

/// Returns the whole on every rank, from parts of any sizes.
template <class T>
std::vector<T> everywhere(const mpi::Communicator& comm, std::span<const T> mine) {
  const auto p = static_cast<std::size_t>(comm.size());
  const std::vector<index_t> from = comm.all_gather(static_cast<index_t>(mine.size()));
  const std::vector<index_t> to(p, static_cast<index_t>(mine.size()));
  std::vector<T> copies,
      all(static_cast<std::size_t>(std::accumulate(from.begin(), from.end(), index_t{0})));
  for (std::size_t r = 0; r < p; ++r) copies.insert(copies.end(), mine.begin(), mine.end());
  mpi::exchange_items(comm, std::span<const T>(copies), to, std::span<T>(all), from);
  return all;
}

}  // namespace tessera::dist::sort
