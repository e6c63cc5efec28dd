# shellcheck shell=bash
# Sourced by run.sh and test.sh: sets up packages and builds.
#
#   tessera_install                 installs the Debian packages of what is missing, whoever
#                                   provides the rest; not with --no-install
#   tessera_build TARGET...         preset release in build/release, with CUDA where nvcc is found
#                                   and works
#   tessera_python                  prints a Python that has h5py and numpy
#
# tessera_root is the folder of the source tree.

tessera_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tessera_build_dir=$tessera_root/build/release

tessera_say() { printf '== %s\n' "$*"; }
tessera_fail() {
  printf 'tessera: error: %s\n' "$*" >&2
  exit 1
}

# Variables of a surrounding MPI job would make a program of Tessera a rank of that job.
tessera_forget_launcher() {
  local name
  for name in $(compgen -e); do
    case $name in
      OMPI_COMM_* | OMPI_UNIVERSE_SIZE | OMPI_APP_CTX_NUM_PROCS | OMPI_FILE_LOCATION | OMPI_ARGV | \
        OMPI_COMMAND | OMPI_FIRST_RANKS | OMPI_NUM_APP_CTX | OMPI_MCA_ess* | OMPI_MCA_orte* | \
        OMPI_MCA_pmix* | PMI_* | PMIX_* | PRTE_*)
        unset "$name" ;;
    esac
  done
}

# Debian's names of what packages.txt lists for the program and its tests.
tessera_packages=()
tessera_add_packages() { # role...
  mapfile -t -O ${#tessera_packages[@]} tessera_packages < <(
    awk -v roles=" $* " '!/^#/ && index(roles, " " $2 " ") { print $3 }' \
      "$tessera_root/jobs/packages.txt")
}
tessera_add_packages tool library run header report python test

# Prints what the needs, or packages of Debian, are called elsewhere.
tessera_show_names() { # need or package...
  awk -v wanted=" $* " '
    function row(need, apt, dnf, spack, conda) {
      printf "  %-11s%-21s%-19s%-14s%s\n", need, apt, dnf, spack, conda
    }
    $2 == "need" { row("", "apt", "dnf", "Spack", "conda") }
    !/^#/ && (index(wanted, " " $1 " ") || index(wanted, " " $3 " ")) {
      row($1, $3, $4, $5, $6)
    }' "$tessera_root/jobs/packages.txt"
}

tessera_fail_lacking() { # need...
  tessera_fail "not found: $*
$(tessera_show_names "$@")
Install them or load their modules; CMAKE_PREFIX_PATH, HDF5_ROOT and MPI_HOME name their folders."
}

# The tools that come before CMake, which looks for the others.
tessera_require_tools() {
  local lacks=() compiler
  for compiler in ${CXX:+"$CXX"} c++ g++ clang++ ''; do
    if [ -z "$compiler" ]; then lacks+=(C++20); fi
    if command -v "${compiler%% *}" >/dev/null; then break; fi
  done
  command -v cmake >/dev/null || lacks+=(CMake)
  command -v ninja >/dev/null || lacks+=(Ninja)
  if [[ " ${lacks[*]} " = *" CMake "* ]]; then
    # Nothing can look for the libraries.
    mapfile -t -O ${#lacks[@]} lacks < <(
      awk '$2 ~ /^(library|header)$/ { print $1 }' "$tessera_root/jobs/packages.txt")
    tessera_fail "CMake not found, so that libraries cannot be looked for; the build needs:
$(tessera_show_names "${lacks[@]}")"
  fi
  [ ${#lacks[@]} = 0 ] || tessera_fail_lacking "${lacks[@]}"
}

tessera_is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the package of Debian's Open MPI or MPICH that corresponds to one of Open MPI; nothing
# where modules bring the MPI (""), and an HDF5 of it. Debian has mpi4py, which VTK requires, for
# Open MPI only: with it a second mpirun would come first in the PATH.
tessera_package_of() { # package openmpi|mpich|""
  case $2:$1 in
    openmpi:*) echo "$1" ;;
    *:python3-mpi4py | *:python3-vtk9) ;;
    mpich:openmpi-bin) echo mpich ;;
    mpich:*) echo "${1/openmpi/mpich}" ;;
    :*openmpi*) ;;
    *) echo "$1" ;;
  esac
}

# Sets tessera_missing to the packages that are not installed, of the MPI whose mpicc is in the
# PATH, and tessera_missing_listed to their names in packages.txt.
tessera_find_missing() {
  local package listed mpicc mpi=openmpi
  tessera_missing=() tessera_missing_listed=()
  if mpicc=$(command -v mpicc); then
    case $(dpkg-query -S "$(realpath "$mpicc")" 2>/dev/null) in
      *openmpi*) ;;
      *mpich*) mpi=mpich ;;
      *) mpi= ;;
    esac
  fi
  for listed in "${tessera_packages[@]}"; do
    package=$(tessera_package_of "$listed" "$mpi")
    if [ -n "$package" ] && ! tessera_is_installed "$package"; then
      tessera_missing+=("$package") tessera_missing_listed+=("$listed")
    fi
  done
}

# Prints the output of CMake, configuring in a folder that is removed, with the list of needs that
# it did not find. Nothing if there is no CMake, or it failed before it knew them.
tessera_probe() {
  local folder output
  command -v cmake >/dev/null || return 0
  folder=$(mktemp -d)
  output=$(cmake -S "$tessera_root" -B "$folder" -DTESSERA_CUDA=OFF 2>&1) &&
    output+=$'\nPackages were not found: '
  rm -rf "$folder"
  case $output in *"Packages were not found: "*) echo "$output" ;; esac
}

# Whether modules, conda or the user provide what a package is for: a command of the PATH, a module
# of the Python that is used, or what CMake found, e.g. by CMAKE_PREFIX_PATH or HDF5_ROOT.
tessera_provides() { # package, output of CMake, Python
  local need lacks
  need=$(awk -v package="$1" '!/^#/ && $3 == package { print $1; exit }' \
    "$tessera_root/jobs/packages.txt")
  lacks=$(sed -n 's/^ *Packages were not found: *//p' <<<"$2")
  case $need:$1 in
    pybind11:* | Python:*) [[ $2 = *"Tessera: Python package for"* ]] ;;
    PyTables:*) "$3" -c 'import tables' ;;
    netCDF4:*) "$3" -c 'import netCDF4' ;;
    *:python3-*) "$3" -c "import ${need,,}" ;;
    Fortran:*) command -v gfortran ;;
    dpkg-dev:*) command -v dpkg-shlibdeps ;;
    C++20:*) [ -n "$2" ] ;; # CMake passed its checks of the compiler
    libdeflate:*) [[ $2 = *"Found libdeflate"* ]] ;;
    MPI:* | HDF5:* | zlib:* | hwloc:* | fmt:* | CLI11:* | toml++:* | nlohmann:* | GoogleTest:*)
      [ -n "$2" ] && [[ " $lacks " != *" $need "* ]] ;;
    libFuzzer:* | libomp:* | OpenBLAS:*) return 1 ;;
    *) command -v "${need,,}" ;;
  esac >/dev/null 2>&1
}

tessera_install() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then return 0; fi
  local tessera_missing tessera_missing_listed i missing=() output python
  tessera_find_missing
  if [ ${#tessera_missing[@]} -gt 0 ]; then
    output=$(tessera_probe)
    python=$(tessera_python) || python=python3
  fi
  for i in "${!tessera_missing[@]}"; do
    tessera_provides "${tessera_missing_listed[i]}" "$output" "$python" ||
      missing+=("${tessera_missing[i]}")
  done
  # The version of a work tree goes into every result.
  if [ -e "$tessera_root/.git" ] && ! command -v git >/dev/null; then missing+=(git); fi
  [ ${#missing[@]} -gt 0 ] || return 0

  local apt=(apt-get install -y --no-install-recommends "${missing[@]}") as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
      tessera_say "packages of Debian that are not installed, and need root to install:"
      tessera_show_names "${missing[@]}"
      tessera_say "continuing with what there is; to have them, ask for: sudo ${apt[*]}"
      return 0
    fi
  fi
  tessera_say "installing with apt: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    tessera_fail "apt failed (last lines above, log in $log); missing are
$(tessera_show_names "${missing[@]}")
With modules or another package manager, rerun with --no-install; by hand:
  sudo apt-get update && sudo ${apt[*]}"
  fi
  rm -f "$log"
}

tessera_nvcc() {
  local usual=/usr/local/cuda/bin/nvcc
  command -v nvcc || { [ -x "$usual" ] && echo "$usual"; }
}

tessera_configure() { # [-D...]
  local fresh=()
  local cache=$tessera_build_dir/CMakeCache.txt
  # A tree that was moved or copied brings a cache that CMake refuses.
  if [ -e "$cache" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$tessera_root" "$cache"; then
    fresh=(--fresh)
  fi
  (cd "$tessera_root" && cmake --preset release "${fresh[@]}" "$@") \
    >"$tessera_build_dir.configure.log" 2>&1
}

tessera_compile() { # target...
  cmake --build "$tessera_build_dir" --target "$@" >"$tessera_build_dir.build.log" 2>&1
}

tessera_show_and_fail() { # what log
  local lacks
  lacks=$(sed -n 's/^ *Packages were not found: //p' "$2")
  # shellcheck disable=SC2086 # names are separated by blanks
  [ -z "$lacks" ] || tessera_fail_lacking $lacks
  tail -n 40 "$2" >&2
  tessera_fail "$1 failed (last lines above, log in $2)"
}

tessera_build() { # target...
  tessera_require_tools
  mkdir -p "$tessera_root/build"
  tessera_say "building in $tessera_build_dir (minutes the first time); to follow:" \
    "tail -f $tessera_build_dir.build.log"
  local nvcc
  if nvcc=$(tessera_nvcc); then
    export CUDACXX=${CUDACXX:-$nvcc}
    if tessera_configure -DTESSERA_CUDA=ON && tessera_compile "$@"; then return 0; fi
    cp "$tessera_build_dir.configure.log" "$tessera_build_dir.cuda.log"
    cat "$tessera_build_dir.build.log" >>"$tessera_build_dir.cuda.log" 2>/dev/null || true
    tessera_say "the CUDA build with $nvcc failed (see $tessera_build_dir.cuda.log):" \
      "continuing without CUDA"
  else
    tessera_say "nvcc not found: building for CPUs only (for GPUs install NVIDIA's cuda-toolkit" \
      "12 or newer, put nvcc on the PATH, and rerun)"
  fi
  tessera_configure -DTESSERA_CUDA=OFF ||
    tessera_show_and_fail configuring "$tessera_build_dir.configure.log"
  tessera_compile "$@" || tessera_show_and_fail building "$tessera_build_dir.build.log"
}

tessera_python() {
  local python
  for python in ${TESSERA_PYTHON:+"$TESSERA_PYTHON"} python3 /usr/bin/python3; do
    if "$python" -c 'import h5py, numpy' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}
