#include "mpi/launcher.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

extern char** environ;

namespace tessera::inline v1::mpi {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<int> first_number_in(std::initializer_list<const char*> variables) {
  for (const char* name : variables) {
    if (const std::string value = variable(name); !value.empty()) return std::atoi(value.c_str());
  }
  return std::nullopt;
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns whether a server accepts connections at "<name>;tcp4://address:port"; true for addresses
/// of another form. A PMIx server ignores a connection without data.
bool answers(const std::string& uri) {
  constexpr std::string_view scheme = "tcp4://";
  const auto begin = uri.find(scheme), colon = uri.rfind(':');
  if (begin == std::string::npos || colon < begin + scheme.size()) return true;
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(uri.c_str() + colon + 1)));
  const std::string address = uri.substr(begin + scheme.size(), colon - begin - scheme.size());
  if (inet_pton(AF_INET, address.c_str(), &server.sin_addr) != 1) return true;
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return true;
  connect(descriptor, reinterpret_cast<const sockaddr*>(&server), sizeof server);
  constexpr int patience = 5000;  // milliseconds; the server is on this node
  pollfd writable{descriptor, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  const bool there = poll(&writable, 1, patience) == 1 &&
                     getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  close(descriptor);
  return there;
}

/// Returns whether a PMIx server responds: Open MPI's mpirun, PRRTE, srun --mpi=pmix.
bool pmix_answers() {
  if (variable("PMIX_NAMESPACE").empty() || variable("PMIX_RANK").empty()) return false;
  for (const char* name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                           "PMIX_SERVER_URI21", "PMIX_SERVER_URI2"}) {
    if (const std::string uri = variable(name); !uri.empty()) return answers(uri);
  }
  return false;
}

/// Returns whether a PMI-1 or PMI-2 server is present: MPICH's mpiexec and srun --mpi=pmi2 pass an
/// inherited socket or a port.
bool pmi_answers() {
  if (variable("PMI_RANK").empty()) return false;
  if (!variable("PMI_PORT").empty()) return true;
  const std::string number = variable("PMI_FD");
  struct stat status {};
  return !number.empty() && fstat(std::atoi(number.c_str()), &status) == 0 &&
         S_ISSOCK(status.st_mode);
}

pid_t parent_of(pid_t pid) {
  const std::string stat = content_of("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end =
      stat.rfind(')');  // "pid (name) state parent"; the name may contain any character
  return name_end == std::string::npos || name_end + 4 >= stat.size()
             ? 0
             : static_cast<pid_t>(std::atoi(stat.c_str() + name_end + 4));
}

bool has_entry(const std::string& environment, const std::string& entry) {
  return ('\0' + environment).find('\0' + entry + '\0') != std::string::npos;
}

/// Ancestors of this process with the same rank variables; one that has loaded MPI is that rank
/// itself.
struct Above {
  bool has_rank = false;    ///< some ancestor is the rank
  bool has_script = false;  ///< some ancestor has the same variables, but no MPI
};

Above look_above() {
  const bool pmix = !variable("PMIX_NAMESPACE").empty();
  const std::string job =
      pmix ? "PMIX_NAMESPACE=" + variable("PMIX_NAMESPACE") : "PMI_SIZE=" + variable("PMI_SIZE");
  const std::string rank =
      pmix ? "PMIX_RANK=" + variable("PMIX_RANK") : "PMI_RANK=" + variable("PMI_RANK");
  Above found;
  for (pid_t pid = getppid(); pid > 1; pid = parent_of(pid)) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const std::string environment = content_of(folder + "/environ");
    if (!has_entry(environment, job) || !has_entry(environment, rank)) break;
    found.has_script = true;
    const std::string maps = content_of(folder + "/maps");
    constexpr std::array libraries{"/libmpi.", "/libmpich.", "/libpmix.", "/libpmi.", "/libpmi2."};
    found.has_rank = std::any_of(libraries.begin(), libraries.end(), [&](const char* library) {
      return maps.find(library) != std::string::npos;
    });
    if (found.has_rank) break;
  }
  return found;
}

Launcher look() {
  const bool pmix = pmix_answers();
  if (!pmix && !pmi_answers()) return {};
  const Above above = look_above();
  if (above.has_rank) return {};
  Launcher result{.there = true, .direct = !above.has_script};
  result.rank =
      pmix ? first_number_in({"PMIX_RANK"}).value_or(0) : first_number_in({"PMI_RANK"}).value_or(0);
  result.node_ranks = std::max(
      1, first_number_in({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE"})
             .value_or(1));
  result.ranks = std::max(
      1, first_number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}).value_or(1));
  return result;
}

Launcher& found() {
  static Launcher result = look();
  return result;
}

}  // namespace

const Launcher& launcher() { return found(); }
void leave_launcher() { found() = {}; }
int launcher_rank() { return launcher().rank; }
int launcher_node_ranks() { return launcher().node_ranks; }

int tasks_without_mpi() {
  if (launcher().there || variable("SLURM_STEP_ID").empty()) return 1;
  return first_number_in({"SLURM_STEP_NUM_TASKS"}).value_or(1);
}

bool is_launchers(const char* entry) {
  constexpr std::array beginnings{"PMI_",
                                  "PMI2_",
                                  "PMIX_",
                                  "PRTE_",
                                  "SLURM_",
                                  "SLURMD_",
                                  "OMPI_COMM_WORLD",
                                  "OMPI_MCA_ess",
                                  "OMPI_MCA_orte_",
                                  "OMPI_MCA_pmix",
                                  "OMPI_UNIVERSE_SIZE",
                                  "OMPI_FILE_LOCATION",
                                  "OMPI_APP_CTX",
                                  "OMPI_FIRST_RANKS",
                                  "OMPI_NUM_APP_CTX"};
  const std::string_view name(entry);
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const char* beginning) { return name.starts_with(beginning); });
}

}  // namespace tessera::inline v1::mpi
