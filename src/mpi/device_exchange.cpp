#include "mpi/device_exchange.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "machine/nccl.hpp"
#include "mpi/agreement.hpp"
#include "mpi/device_messages.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::mpi {
namespace {

namespace device = machine::device;

/// Returns the message of the lowest rank on which `attempt` throws, on every rank; "" if none
/// does. Collective.
std::string first_obstacle(const Communicator& comm, const std::function<void()>& attempt) {
  std::string why;
  try {
    attempt();
  } catch (const std::exception& error) {
    why = error.what();
  }
  const auto speaker =
      static_cast<int>(-comm.max(-index_t{why.empty() ? comm.size() : comm.rank()}));
  if (speaker == comm.size()) return {};
  return comm.broadcast(why + " on rank " + std::to_string(speaker), speaker);
}

/// Maps the other ranks' blocks, in the order of ranks; this rank's entry is empty. Throws
/// Error(internal) if a block cannot be mapped.
std::vector<device::Mapped> map_all(const Communicator& comm,
                                    std::span<const device::Handle> handles,
                                    std::span<const index_t> sizes) {
  std::vector<device::Mapped> mapped(handles.size());
  for (std::size_t r = 0; r < handles.size(); ++r) {
    if (static_cast<int>(r) != comm.rank() && sizes[r] > 0) mapped[r] = device::Mapped(handles[r]);
  }
  return mapped;
}

/// Returns why IPC does not work, or "": every rank writes its number into every block and checks
/// its own block. Collective.
std::string ipc_obstacle(const Communicator& comm) {
  if (comm.node().size() != comm.size()) return "the ranks are on several nodes";
  const auto ranks = static_cast<std::size_t>(comm.size());
  using Number = index_t;
  constexpr auto width = static_cast<index_t>(sizeof(Number));
  device::Allocation own, host;
  device::Handle handle{};
  std::string why = first_obstacle(comm, [&] {
    own = device::Allocation(width * comm.size(), device::Home::device);
    host = device::Allocation(width * comm.size(), device::Home::pinned);
    handle = device::handle_of(own);
  });
  if (!why.empty()) return why;
  const auto handles = comm.all_gather(std::span<const device::Handle>(&handle, 1));
  const std::vector<index_t> sizes(ranks, own.size());
  auto* const numbers = reinterpret_cast<Number*>(host.data());
  std::vector<device::Mapped> mapped;
  const device::Stream stream;
  why = first_obstacle(comm, [&] {
    mapped = map_all(comm, handles, sizes);
    for (std::size_t r = 0; r < ranks; ++r) {
      std::byte* const there = static_cast<int>(r) == comm.rank() ? own.data() : mapped[r].data();
      numbers[r] = comm.rank() + 1;
      device::copy({host.data() + index_t{width} * static_cast<index_t>(r), 1, width, width},
                   {there + width * comm.rank(), 1, width, width}, stream);
    }
    stream.wait();
  });
  if (why.empty()) {
    comm.barrier();
    why = first_obstacle(comm, [&] {
      device::copy({own.data(), 1, own.size(), own.size()},
                   {host.data(), 1, own.size(), own.size()}, stream);
      stream.wait();
      for (std::size_t r = 0; r < ranks; ++r)
        require(numbers[r] == static_cast<Number>(r) + 1, ExitCode::internal,
                "data written by other ranks is missing");
    });
  }
  mapped.clear();
  comm.barrier();  // before any rank frees a mapped block
  return why;
}

/// Returns a message if two ranks share a device, otherwise "". Collective.
std::string shared_device(const Communicator& comm) {
  std::string mine, obstacle;
  const std::string why =
      first_obstacle(comm, [&] { mine = host_name() + ' ' + device::identity(); });
  if (!why.empty()) return why;
  const auto all = comm.gather(mine, 0);
  for (std::size_t r = 0; r < all.size() && obstacle.empty(); ++r) {
    const auto first = std::find(all.begin(), all.end(), all[r]);
    const auto other = static_cast<std::size_t>(first - all.begin());
    if (other < r)
      obstacle = "ranks " + std::to_string(other) + " and " + std::to_string(r) +
                 " share a GPU, which NCCL does not support";
  }
  return comm.broadcast(obstacle, 0);
}

std::string nccl_obstacle(const Communicator& comm, std::unique_ptr<machine::Nccl>& nccl) {
  std::string why = first_obstacle(comm, [] {
    require(machine::nccl_missing().empty(), ExitCode::internal, machine::nccl_missing());
  });
  if (why.empty()) why = shared_device(comm);
  if (!why.empty()) return why;
  machine::Nccl::Id id{};
  why = first_obstacle(comm, [&] {
    if (comm.is_root()) id = machine::Nccl::make_id();
  });
  if (!why.empty()) return why;
  comm.broadcast(std::span<char>(id), 0);
  why = first_obstacle(
      comm, [&] { nccl = std::make_unique<machine::Nccl>(id, comm.rank(), comm.size()); });
  if (!why.empty()) nccl.reset();
  return why;
}

/// Returns why MPI cannot transfer device memory, or "", by a query function that is an extension
/// of Open MPI and MPICH. Collective.
std::string mpi_obstacle(const Communicator& comm) {
  return first_obstacle(comm, [] {
    using Query = int();
    auto* const query = reinterpret_cast<Query*>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
    require(query != nullptr && query() == 1, ExitCode::internal,
            "the MPI library does not report support for device memory");
  });
}

std::string obstacle_of(DeviceTransport transport, const Communicator& comm,
                        std::unique_ptr<machine::Nccl>& nccl) {
  if (comm.size() == 1) return {};  // no transfers
  switch (transport) {
    case DeviceTransport::ipc:
      return ipc_obstacle(comm);
    case DeviceTransport::nccl:
      return nccl_obstacle(comm, nccl);
    case DeviceTransport::mpi:
      return mpi_obstacle(comm);
    case DeviceTransport::staged:
      break;
  }
  return {};
}

}  // namespace

struct DeviceExchange::State {
  Communicator comm;
  DeviceTransportChoice choice;
  std::unique_ptr<machine::Nccl> nccl;
  std::unique_ptr<DeviceMessages> messages;  ///< created on first use
  index_t strip_bytes = 0;
};

DeviceExchange::DeviceExchange(std::shared_ptr<State> state) : state_(std::move(state)) {}

DeviceExchange::DeviceExchange(const Communicator& comm, DeviceTransport transport)
    : state_(std::make_shared<State>(
          State{comm, {transport, std::string(name(transport))}, nullptr, nullptr, 0})) {}

DeviceExchange DeviceExchange::choose(const Communicator& comm, const std::string& wanted) {
  auto state = std::make_shared<State>(State{comm, {}, nullptr, nullptr, 0});
  DeviceTransportChoice choice;
  std::string refusal;
  try {
    choice = choose_device_transport(wanted, [&](DeviceTransport transport) {
      return obstacle_of(transport, comm, state->nccl);
    });
  } catch (const Error& error) {  // the same error on every rank, as obstacles are
    refusal = error.what();
  }
  together(comm, "device", [&] { require(refusal.empty(), ExitCode::usage, refusal); });
  state->choice = choice;
  return DeviceExchange(std::move(state));
}

DeviceExchange DeviceExchange::shared(const Communicator& comm) {
  // A state that is alive holds its communicator: no other one has the same handle.
  static std::mutex mutex;
  static std::map<std::pair<MPI_Comm, std::string>, std::weak_ptr<State>> known;
  const std::pair key(comm.handle(), device::identity());
  std::shared_ptr<State> state;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    if (const auto found = known.find(key); found != known.end()) state = found->second.lock();
  }
  if (comm.max(index_t{state == nullptr}) == 0) return DeviceExchange(std::move(state));
  DeviceExchange made = choose(comm, "auto");
  const std::lock_guard lock(mutex);
  known[key] = made.state_;
  return made;
}

const Communicator& DeviceExchange::comm() const { return state_->comm; }
DeviceTransport DeviceExchange::transport() const { return state_->choice.transport; }
const std::string& DeviceExchange::text() const { return state_->choice.text; }
machine::Nccl* DeviceExchange::nccl() const { return state_->nccl.get(); }
void DeviceExchange::set_strip_bytes(index_t bytes) const { state_->strip_bytes = bytes; }

void DeviceExchange::exchange(std::span<const DeviceOut> out, std::span<const DeviceIn> in) const {
  if (!state_->messages)
    state_->messages =
        std::make_unique<DeviceMessages>(state_->comm, transport(), state_->nccl.get());
  state_->messages->exchange(out, in, state_->strip_bytes);
}

PeerMemory::PeerMemory(const DeviceExchange& exchange, index_t bytes) : comm_(exchange.comm()) {
  const auto ranks = static_cast<std::size_t>(comm_.size());
  const bool shares = exchange.reaches() && ranks > 1;
  device::Handle handle{};
  together(comm_, "allocate", [&] {
    own_ = device::Allocation(bytes, device::Home::device);
    if (shares && bytes > 0) handle = device::handle_of(own_);
  });
  all_.assign(ranks, nullptr);
  if (shares) {
    const auto handles = comm_.all_gather(std::span<const device::Handle>(&handle, 1));
    const auto sizes = comm_.all_gather(bytes);
    together(comm_, "allocate", [&] { mapped_ = map_all(comm_, handles, sizes); });
    for (std::size_t r = 0; r < ranks; ++r) all_[r] = mapped_[r].data();
  }
  all_[static_cast<std::size_t>(comm_.rank())] = own_.data();
}

PeerMemory::PeerMemory(PeerMemory&& other) noexcept
    : comm_(other.comm_),
      own_(std::move(other.own_)),
      mapped_(std::move(other.mapped_)),
      all_(std::move(other.all_)) {}

PeerMemory& PeerMemory::operator=(PeerMemory&& other) noexcept {
  std::swap(comm_, other.comm_);
  std::swap(own_, other.own_);
  std::swap(mapped_, other.mapped_);
  std::swap(all_, other.all_);
  return *this;
}

PeerMemory::~PeerMemory() {
  if (mapped_.empty() || leaves_alone()) return;
  mapped_.clear();
  comm_.barrier();  // before any rank frees a mapped block
}

}  // namespace tessera::inline v1::mpi
