// Checks of GPUs, file systems, HDF5 and Tessera's own files.

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/text.hpp"
#include "commands/command.hpp"
#include "doctor.hpp"
#include "doctor_mpi.hpp"
#include "io/h5.hpp"
#include "machine/gpu.hpp"
#include "reference/facts.hpp"
#include "run/ceilings.hpp"
#include "run/provenance.hpp"

extern char** environ;

namespace tessera::apps::doctor {
namespace {

/// Returns the network file systems by statfs's magic number (linux/magic.h and their own sources).
const std::map<unsigned, const char*>& network_file_systems() {
  static const std::map<unsigned, const char*> names{
      {0x6969, "NFS"},       {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
      {0xAAD7AAEA, "PanFS"}, {0x00C36400, "Ceph"},   {0xFE534D42, "SMB"},  {0xFF534D42, "CIFS"},
      {0x517B, "SMB"},       {0x65735546, "FUSE"},   {0x5346414F, "AFS"},  {0x20030528, "OrangeFS"},
  };
  return names;
}

/// Error numbers of creating a file in a folder and locking it; 0: success.
struct Trial {
  int open_error = 0;
  int lock_error = 0;
};

Trial try_folder(const std::string& folder) {
  std::string name = folder + "/.tessera-doctor-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return {errno, 0};
  Trial result;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) result.lock_error = errno;
  close(file);
  unlink(name.c_str());
  return result;
}

bool locking_off() {
  const std::string value = variable("HDF5_USE_FILE_LOCKING").value_or("");
  return value == "FALSE" || value == "0";
}

void look_at_space(const std::string& folder, Findings& found) {
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0) return;
  const double left = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  const bool little = left < 1024.0 * 1024 * 1024;
  const bool no_names = space.f_files > 0 && space.f_favail < 100;
  if (no_names)
    found.push_back({Level::hurts, "space",
                     fmt::format("'{}' has {} inodes left", folder, space.f_favail),
                     "remove files, or --at another folder"});
  found.push_back(
      {little ? Level::hurts : Level::fine, "space",
       fmt::format("{} free in '{}'", human_bytes(left), folder),
       little ? "free space or write elsewhere: on a full file system a job ends with exit code 73"
              : ""});
}

void look_at_ownership(Findings& found) {
  std::vector<std::string> set;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string word(*entry);
    const std::string name = word.substr(0, word.find('='));
    const bool known = std::ranges::any_of(
        variables(), [&](const Variable& variable) { return variable.name == name; });
    if (name.starts_with("TESSERA_") && !known) set.push_back(word);
  }
  std::sort(set.begin(), set.end());
  if (!set.empty())
    found.push_back({Level::note, "environment",
                     join(set, " ") + ": sets an option of every command",
                     "unset it unless intended"});
}

}  // namespace

void look_at_gpus(const Surroundings& here, Findings& found) {
  const machine::Gpus& gpus = machine::gpus();
  const bool device = here.exists("/dev/nvidia0");
  if (!gpus.devices.empty()) {
    found.push_back(
        {Level::fine, "GPUs",
         fmt::format("{}, first {}", counted(static_cast<index_t>(gpus.devices.size()), "GPU"),
                     gpus.devices.front().name)});
  } else if (device) {
    found.push_back({Level::hurts, "GPUs", "this program cannot use the GPU: " + gpus.reason,
                     "build with nvcc in the PATH (cmake --preset release) and install a driver at "
                     "least as new as its CUDA"});
  } else {
    found.push_back({Level::fine, "GPUs", "none (" + gpus.reason + ")"});
  }
  const auto visible = variable("CUDA_VISIBLE_DEVICES");
  if (device && visible && *visible == "-1")
    found.push_back({Level::hurts, "GPUs", "CUDA_VISIBLE_DEVICES=-1 hides all GPUs",
                     "unset CUDA_VISIBLE_DEVICES"});
}

void look_at_files(const Surroundings& here, Findings& found) {
  struct statfs system {};
  if (statfs(here.folder.c_str(), &system) != 0) {
    found.push_back({Level::hurts, "files",
                     fmt::format("'{}': {}", here.folder, std::strerror(errno)),
                     "mkdir -p " + here.folder + ", or --at another folder"});
    return;
  }
  const auto name = network_file_systems().find(static_cast<unsigned>(system.f_type));
  const bool network = name != network_file_systems().end();
  const Trial trial = try_folder(here.folder);
  if (trial.open_error != 0)
    found.push_back({Level::hurts, "files",
                     fmt::format("folder '{}' is not writable: {}", here.folder,
                                 std::strerror(trial.open_error)),
                     "--at another folder, or chmod u+w"});
  if (trial.lock_error != 0 && !locking_off()) {
    found.push_back({Level::hurts, "HDF5",
                     fmt::format("files in '{}' cannot be locked ({}): \"unable to lock file\"",
                                 here.folder, std::strerror(trial.lock_error)),
                     "export HDF5_USE_FILE_LOCKING=FALSE"});
  } else if (network && !locking_off()) {
    found.push_back({Level::note, "HDF5",
                     fmt::format("{}: file locks often fail on other nodes", name->second),
                     "export HDF5_USE_FILE_LOCKING=FALSE"});
  }
  if (network)
    found.push_back({Level::note, "files",
                     fmt::format("'{}' is on {}: MPI-IO of other tools may hang or be slow",
                                 here.folder, name->second),
                     mpi_library().other_files.empty()
                         ? ""
                         : fmt::format("export {} (Tessera itself writes without MPI-IO)",
                                       mpi_library().other_files)});
  look_at_space(here.folder, found);
  found.push_back({Level::fine, "HDF5", "version " + io::library_version()});
  if (variable("HDF5_DISABLE_VERSION_CHECK"))
    found.push_back({Level::note, "HDF5",
                     "HDF5_DISABLE_VERSION_CHECK hides a mismatch of library and headers",
                     "unset HDF5_DISABLE_VERSION_CHECK"});
}

void look_at_tessera(const Surroundings&, Findings& found) {
  look_at_ownership(found);
  const run::Ceilings ceilings = run::load_ceilings(run::ceilings_file());
  if (ceilings.all.empty()) {
    found.push_back(
        {Level::note, "ceilings",
         "not measured on this host: shares of peak rates and predicted times are unknown",
         "mpirun -n 2 tessera machine, then tessera machine (once)"});
  } else if (ceilings.host != run::host_name()) {
    found.push_back({Level::note, "ceilings",
                     fmt::format("measured on {}, used on {}", ceilings.host, run::host_name()),
                     "unset TESSERA_MACHINE_FILE, or tessera machine"});
  } else {
    found.push_back({Level::fine, "ceilings", "measured " + ceilings.measured_at});
  }
  try {
    found.push_back({Level::fine, "Python",
                     find_python("h5py numpy matplotlib") + " has the packages for reports"});
  } catch (const Error&) {
    found.push_back({Level::note, "Python",
                     "without h5py, numpy or matplotlib: reports are unavailable",
                     "apt-get install python3-h5py python3-matplotlib, or export "
                     "TESSERA_PYTHON=/path/to/python3"});
  }
}

}  // namespace tessera::apps::doctor
