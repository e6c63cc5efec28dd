#include "run/understood.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

#include "base/text.hpp"
#include "machine/gpu.hpp"
#include "mpi/agreement.hpp"
#include "mpi/runtime.hpp"
#include "run/provenance.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr char between = '\x1f',
               after = '\x1e';  // ASCII unit and record separators, which no option contains

std::string text_of(const Fact& fact) {
  return fact.name + between + fact.value + between + fact.source;
}

Fact fact_of(const std::string& text) {
  const auto words = split(text, between);
  return {words.at(0), words.at(1), words.at(2)};
}

/// Fact that differs between two ranks.
struct Difference {
  Fact root, other;
  int rank;  ///< of the other
};

/// Returns the first fact that differs from root's, on the lowest rank where it does; nullopt if
/// none does. Collective if there is one, else local.
std::optional<Difference> first_difference(const mpi::Communicator& comm, const Alike& alike) {
  if (alike.holds()) return {};
  const std::vector<Fact>& facts = alike.facts();
  std::string texts;
  for (const Fact& fact : facts) texts += text_of(fact) + after;
  std::vector<Fact> of_root;
  for (const std::string& text :
       split(comm.broadcast(comm.is_root() ? texts : std::string(), 0), after))
    if (!text.empty()) of_root.push_back(fact_of(text));
  std::size_t mine = 0;
  while (mine < std::min(facts.size(), of_root.size()) && facts[mine].name == of_root[mine].name &&
         facts[mine].value == of_root[mine].value)
    ++mine;
  const bool all_as_root = mine == facts.size() && mine == of_root.size();
  const index_t never = ssize(facts) + ssize(of_root) + 1;
  const index_t first = -comm.max(-(all_as_root ? never : static_cast<index_t>(mine)));
  const bool differs = !all_as_root && static_cast<index_t>(mine) == first;
  const auto rank = static_cast<int>(-comm.max(-index_t{differs ? comm.rank() : comm.size()}));
  const Fact none{"further options", "", ""};
  const Fact here = mine < facts.size() ? facts[mine] : none;
  const Fact there = static_cast<std::size_t>(first) < of_root.size()
                         ? of_root[static_cast<std::size_t>(first)]
                         : none;
  return Difference{there, fact_of(comm.broadcast(text_of(here), rank)), rank};
}

std::string described(const Fact& fact) {
  const bool elsewhere = !fact.source.empty() && fact.source != "flag" && fact.source != "default";
  return (fact.value.empty() ? "no " + fact.name : fact.name + " " + fact.value) +
         (elsewhere ? fmt::format(" ({})", fact.source) : "");
}

}  // namespace

index_t hash_of(const std::vector<Fact>& facts) {
  std::string words;
  for (const Fact& fact : facts) words += fact.name + between + fact.value + after;
  return static_cast<index_t>(std::hash<std::string>()(words) >> 1);
}

Alike::Alike(mpi::Agreement& agreement, std::vector<Fact> facts)
    : agreement_(agreement),
      facts_(std::move(facts)),
      most_(agreement.largest(hash_of(facts_))),
      least_(agreement.largest(-hash_of(facts_))) {}

bool Alike::holds() const { return agreement_.value(most_) == agreement_.least(least_); }

std::vector<Fact> seen_of_file(const std::string& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (descriptor >= 0) close(descriptor);
    return {{file, fmt::format("cannot be opened ({})", why), mpi::host_name()}};
  }
  std::array<char, 4096> bytes{};
  const auto got = pread(descriptor, bytes.data(), bytes.size(), 0);
  close(descriptor);
  const std::string beginning(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return {
      {file, fmt::format("has {} bytes", status.st_size), mpi::host_name()},
      {file, fmt::format("begins with bytes of checksum {:x}", std::hash<std::string>()(beginning)),
       mpi::host_name()}};
}

std::vector<Fact> understood(const std::string& command, const OptionSet* options,
                             const Parsed& parsed) {
  std::vector<Fact> facts{
      {"the command", command, ""},
      {"the version", build_name(), ""},
      {"a build", machine::built_with_cuda() ? "with CUDA" : "without CUDA", ""}};
  if (options == nullptr || parsed.lists.empty()) return facts;
  for (const Option& option : options->options()) {
    const auto& values = parsed.lists.at(option.name);
    const std::string flag = (option.positional ? "" : "--") + option.name;
    const std::string& origin = parsed.sources.at(option.name);
    const std::string source = origin == "environment" ? environment_name(option.name) : origin;
    if (!option.differs)
      facts.push_back({flag, join(values, ","), source});
    else if (option.axis)  // every rank needs the same number of points
      facts.push_back({flag, counted(ssize(values), "value"), source});
  }
  facts.push_back({"arguments", join(parsed.rest, " "), "flag"});
  return facts;
}

void require_same_facts(const mpi::Communicator& comm, const std::vector<Fact>& facts) {
  mpi::Agreement agreement(comm, "options");
  const Alike alike(agreement, facts);
  agreement.settle();
  const auto difference = first_difference(comm, alike);
  if (!difference) return;
  throw mpi::AgreedError(
      ExitCode::usage,
      fmt::format(
          "ranks received different options: rank 0 {}, rank {} {}; pass the same to all ranks",
          described(difference->root), difference->rank, described(difference->other)));
}

void require_same_file(const mpi::Communicator& comm, const Alike& seen) {
  const auto difference = first_difference(comm, seen);
  if (!difference) return;
  const auto& [root, other, rank] = *difference;
  throw mpi::AgreedError(
      ExitCode::missing_input,
      fmt::format("ranks see different files '{}': on rank 0 ({}) it {}, on rank {} ({}) it {}; "
                  "name a file that all ranks see",
                  root.name, root.source, root.value, rank, other.source, other.value));
}

}  // namespace tessera::inline v1::run
