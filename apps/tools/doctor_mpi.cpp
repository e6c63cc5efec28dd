#include "doctor_mpi.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "run/provenance.hpp"

namespace tessera::apps::doctor {
namespace {

constexpr MpiLibrary open_mpi_5{.version = "Open MPI",
                                .family = "Open MPI",
                                .package = "openmpi-bin",
                                .bound = "--map-by slot:PE={} --bind-to core",
                                .crowded = "--map-by slot:OVERSUBSCRIBE --bind-to none",
                                .srun = "pmix",
                                .peer_reads = "OMPI_MCA_smsc",
                                .no_peer_reads = "^cma",
                                .other_files = "OMPI_MCA_io=^ompio"};

constexpr MpiLibrary open_mpi_4() {
  MpiLibrary library = open_mpi_5;
  library.version = "Open MPI v4";
  library.peer_reads = "OMPI_MCA_btl_vader_single_copy_mechanism";
  library.no_peer_reads = "none";
  return library;
}

constexpr MpiLibrary mpich{.version = "MPICH",
                           .family = "MPICH",
                           .package = "mpich",
                           .bound = "-bind-to core:{}",
                           .crowded = "-bind-to none",
                           .srun = "pmi2",
                           .peer_reads = "",
                           .no_peer_reads = "",
                           .other_files = ""};

constexpr MpiLibrary intel_mpi{
    .version = "Intel(R) MPI",
    .family = "Intel MPI",
    .package = "intel-oneapi-mpi",
    .bound = "-genv I_MPI_PIN_DOMAIN {}:compact -genv I_MPI_PIN_CELL core",
    .crowded = "-genv I_MPI_PIN 0",
    .srun = "pmi2",
    .peer_reads = "",
    .no_peer_reads = "",
    .other_files = ""};

constexpr std::array libraries{open_mpi_4(), open_mpi_5, mpich, intel_mpi};

const MpiLibrary& row_of(std::string_view text) {
  const auto* const row = std::ranges::find_if(
      libraries, [&](const MpiLibrary& library) { return text.starts_with(library.version); });
  return row == libraries.end() ? open_mpi_5 : *row;
}

}  // namespace

std::string_view family_of(std::string_view text) {
  struct Sign {
    std::string_view word, family;
  };
  constexpr std::array signs{Sign{"Open MPI", "Open MPI"}, Sign{"OpenRTE", "Open MPI"},
                             Sign{"open-mpi", "Open MPI"}, Sign{"HYDRA", "MPICH"},
                             Sign{"MPICH", "MPICH"},       Sign{"Intel(R) MPI", "Intel MPI"}};
  const auto* const sign = std::ranges::find_if(
      signs, [&](const Sign& one) { return text.find(one.word) != std::string_view::npos; });
  return sign == signs.end() ? std::string_view() : sign->family;
}

const MpiLibrary& mpi_library() {
  static const MpiLibrary& row = row_of(run::mpi_library());
  return row;
}

bool is_open_mpi() { return mpi_library().family == "Open MPI"; }

std::string bound(int threads) { return fmt::format(fmt::runtime(mpi_library().bound), threads); }

}  // namespace tessera::apps::doctor
