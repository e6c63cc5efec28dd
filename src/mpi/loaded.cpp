#include "mpi/loaded.hpp"

#include <fmt/core.h>
#include <link.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mpi/launcher.hpp"

namespace tessera::inline v1::mpi {
namespace {

/// Returns the paths of the loaded MPI libraries: Open MPI, Intel MPI, MPICH and its derivatives.
std::vector<std::string> loaded_libraries() {
  std::vector<std::string> found;
  const auto look = [](dl_phdr_info* object, std::size_t, void* list) {
    const std::string_view path(object->dlpi_name);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libmpi.so") || name.starts_with("libmpich.so"))
      static_cast<std::vector<std::string>*>(list)->emplace_back(path);
    return 0;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

}  // namespace

std::string version_in(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find_first_of(",\n")))};
  std::string version;
  for (std::string word; words >> word;) {  // MPICH has "MPICH Version:", a tab and the number
    if (word == "Version:" || word == "Version" || word == ":") continue;
    version += (version.empty() ? "" : " ") + word;
  }
  return version;
}

void require_one_library() {
  const std::vector<std::string> libraries = loaded_libraries();
  if (libraries.size() < 2) return;
  throw Error(ExitCode::internal,
              "two MPI libraries are loaded (" + libraries[0] + ", " + libraries[1] +
                  "): MPI cannot start; check LD_LIBRARY_PATH, or build Tessera with an HDF5 of "
                  "its own MPI (HDF5_ROOT)");
}

void require_own_launcher(int ranks) {
  const int started = launcher().ranks;
  if (ranks > 1 || started < 2) return;
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  throw Error(
      ExitCode::internal,
      fmt::format("the launcher started {} processes, but each is rank 0 of 1: it belongs to "
                  "another MPI library than this program's, {}; use the launcher of that "
                  "(jobs/launch.sh takes its name from TESSERA_LAUNCHER)",
                  started, version_in(text.data())));
}

}  // namespace tessera::inline v1::mpi
