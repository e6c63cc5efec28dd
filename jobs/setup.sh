# shellcheck shell=bash
# Sourced by run.sh and test.sh: sets up packages and builds.
#
#   tessera_install                 installs the missing Debian packages; not with --no-install
#   tessera_build TARGET...         preset release in build/release, with CUDA where nvcc is found and works
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
      OMPI_COMM_* | OMPI_UNIVERSE_SIZE | OMPI_APP_CTX_NUM_PROCS | OMPI_FILE_LOCATION | OMPI_ARGV | OMPI_COMMAND | \
        OMPI_FIRST_RANKS | OMPI_NUM_APP_CTX | OMPI_MCA_ess* | OMPI_MCA_orte* | OMPI_MCA_pmix* | PMI_* | PMIX_* | PRTE_*)
        unset "$name" ;;
    esac
  done
}

tessera_packages=(g++ cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libhdf5-openmpi-dev zlib1g-dev libdeflate-dev
  libhwloc-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libgtest-dev python3-h5py python3-numpy
  python3-matplotlib python3-jsonschema valgrind)

tessera_is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the package of Debian's Open MPI or MPICH that corresponds to one of Open MPI; nothing where
# modules bring the MPI (""), and an HDF5 of it.
tessera_package_of() { # package openmpi|mpich|""
  case $2:$1 in
    mpich:openmpi-bin) echo mpich ;;
    mpich:*) echo "${1/openmpi/mpich}" ;;
    :*openmpi*) ;;
    *) echo "$1" ;;
  esac
}

# Sets tessera_missing to the packages that are not installed, of the MPI whose mpicc is in the PATH.
tessera_find_missing() {
  local package mpicc mpi=openmpi
  tessera_missing=()
  if mpicc=$(command -v mpicc); then
    case $(dpkg-query -S "$(realpath "$mpicc")" 2>/dev/null) in
      *openmpi*) ;;
      *mpich*) mpi=mpich ;;
      *) mpi= ;;
    esac
  fi
  for package in "${tessera_packages[@]}"; do
    package=$(tessera_package_of "$package" "$mpi")
    [ -z "$package" ] || tessera_is_installed "$package" || tessera_missing+=("$package")
  done
}

tessera_install() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    tessera_say "apt-get not found: install g++, CMake >= 3.25, Ninja, Open MPI, HDF5, zlib, hwloc, CLI11, toml++, nlohmann-json, fmt, GoogleTest" \
      "and Python with h5py, numpy and matplotlib by other means"
    return
  fi
  local tessera_missing
  tessera_find_missing
  local missing=("${tessera_missing[@]}")
  # The version of a work tree goes into every result.
  if [ -e "$tessera_root/.git" ] && ! command -v git >/dev/null; then missing+=(git); fi
  [ ${#missing[@]} -gt 0 ] || return 0

  local apt=(apt-get install -y --no-install-recommends "${missing[@]}") as_root=()
  if [ "$(id -u)" != 0 ]; then
    as_root=(sudo)
    [ -t 0 ] || as_root=(sudo -n)
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
      tessera_fail "${#missing[@]} packages are missing and need root to install; ask for:
  sudo ${apt[*]}"
    fi
  fi
  tessera_say "installing with apt: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${apt[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    tessera_fail "apt failed (last lines above, log in $log); by hand:
  sudo apt-get update && sudo ${apt[*]}"
  fi
  rm -f "$log"
}

tessera_nvcc() { command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; }; }

tessera_configure() { # [-D...]
  local fresh=()
  local cache=$tessera_build_dir/CMakeCache.txt
  # A tree that was moved or copied brings a cache that CMake refuses.
  if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$tessera_root" "$cache"; then fresh=(--fresh); fi
  (cd "$tessera_root" && cmake --preset release "${fresh[@]}" "$@") >"$tessera_build_dir.configure.log" 2>&1
}

tessera_compile() { # target...
  cmake --build "$tessera_build_dir" --target "$@" >"$tessera_build_dir.build.log" 2>&1
}

tessera_show_and_fail() { # what log
  tail -n 40 "$2" >&2
  tessera_fail "$1 failed (last lines above, log in $2)"
}

tessera_build() { # target...
  mkdir -p "$tessera_root/build"
  tessera_say "building in $tessera_build_dir (minutes the first time); to follow: tail -f $tessera_build_dir.build.log"
  local nvcc
  if nvcc=$(tessera_nvcc); then
    export CUDACXX=${CUDACXX:-$nvcc}
    if tessera_configure -DTESSERA_CUDA=ON && tessera_compile "$@"; then return 0; fi
    cp "$tessera_build_dir.configure.log" "$tessera_build_dir.cuda.log"
    cat "$tessera_build_dir.build.log" >>"$tessera_build_dir.cuda.log" 2>/dev/null || true
    tessera_say "the CUDA build with $nvcc failed (see $tessera_build_dir.cuda.log): continuing without CUDA"
  else
    tessera_say "nvcc not found: building for CPUs only (for GPUs install NVIDIA's cuda-toolkit 12 or newer, put nvcc on the PATH," \
      "and rerun)"
  fi
  tessera_configure -DTESSERA_CUDA=OFF || tessera_show_and_fail configuring "$tessera_build_dir.configure.log"
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
