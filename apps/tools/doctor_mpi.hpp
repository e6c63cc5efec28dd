#pragma once
// What `tessera doctor` advises for each MPI library.

#include <string>
#include <string_view>

namespace tessera::apps::doctor {

/// Options of an MPI library's mpirun, as jobs/launch.sh writes them, and settings of the library.
struct MpiLibrary {
  std::string_view version;  ///< how the text of MPI_Get_library_version begins
  std::string_view family;
  std::string_view package;        ///< package of its mpirun
  std::string_view bound;          ///< options that bind each rank to {} cores
  std::string_view crowded;        ///< options for more threads than cores
  std::string_view srun;           ///< value of srun's --mpi
  std::string_view peer_reads;     ///< variable: how ranks read each other's memory; "": none
  std::string_view no_peer_reads;  ///< its value that avoids such reads
  std::string_view other_files;    ///< setting that replaces its MPI-IO; "": none
};

/// Returns the family of the library or launcher that reports `text`; "" if unknown.
[[nodiscard]] std::string_view family_of(std::string_view text);

/// Returns the row of this program's library; that of Open MPI if the library is unknown.
[[nodiscard]] const MpiLibrary& mpi_library();

[[nodiscard]] bool is_open_mpi();

/// Returns the options that bind each rank to `threads` cores.
[[nodiscard]] std::string bound(int threads);

}  // namespace tessera::apps::doctor
