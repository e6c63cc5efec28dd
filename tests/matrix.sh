#!/usr/bin/env bash
# bash tests/matrix.sh [--continue] [ROW...]: tries HEAD in the environments that exist on one
# machine, each in a bare root of its own (tests/fresh.sh), and prints one table with the commit
# that each row tried. Without arguments all rows run, for hours; rows: --list. Logs are in
# build/matrix/; --continue takes a row that has ended from its log. The exit code is 1 if a cell is
# a failure. A row that cannot run here has the reason. For nodes without a network:
# tests/packages.sh.
#
# A row is a function row_NAME that calls `environment` with its title, then `column` for each
# command that is typed, in order: configure, build, run or tests. Without columns README.md's two
# commands are typed.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$tree/build/matrix

environment() { # title fresh.sh's argument...
  title=$1
  arguments=("${@:2}")
}
column() { # name command
  columns+=("$1")
  arguments+=(--type "$2")
}

setup='. jobs/setup.sh && tessera_add_packages'
kernels='apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y'
kernels+=' --no-install-recommends'
kernels_alone='-G Ninja -DCMAKE_BUILD_TYPE=Release -DTESSERA_MPI=OFF -DTESSERA_CUDA=OFF'

row_debian12() { environment "Debian 12, root" bookworm; }
row_debian13() { environment "Debian 13, root" trixie; }
row_user() { environment "Debian 12, user with sudo" bookworm --user; }

row_no_rights() { # what modules would provide is installed before
  environment "Debian 12, user without rights" bookworm --user --first \
    "$setup reader && tessera_install && rm /etc/sudoers.d/tessera"
}

row_mpich() {
  environment "Debian 12, MPICH" bookworm --first \
    "$kernels mpich libmpich-dev libhdf5-mpich-dev"
}

row_clang() {
  environment "Debian 12, clang" bookworm --first "$kernels clang libomp-dev"
  column run "CC=clang CXX=clang++ bash jobs/run.sh"
  column tests "CC=clang CXX=clang++ bash jobs/test.sh"
}

row_no_mpi() {
  environment "Debian 12, without MPI and HDF5" bookworm --first \
    "$kernels g++ cmake ninja-build pkg-config libhwloc-dev libfmt-dev libgtest-dev"
  column configure "cmake -S . -B build/alone $kernels_alone"
  column build "cmake --build build/alone"
  column tests "ctest --test-dir build/alone -LE slow --output-on-failure"
}

# The kernels. ctest starts the programs through the emulator, with the loader and the libraries of
# arm64's packages: the cross compiler's loader is of another date than their C library.
row_aarch64() {
  [ "$(uname -m)" = x86_64 ] || unavailable="this machine is $(uname -m)"
  environment "Debian 12, aarch64 by qemu, kernels alone" bookworm --first \
    "dpkg --add-architecture arm64 && $kernels g++-aarch64-linux-gnu cmake ninja-build pkg-config \
     qemu-user libgomp1:arm64 libhwloc-dev:arm64 libfmt-dev:arm64 libgtest-dev:arm64"
  column configure "PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig \
    cmake -S . -B build/arm $kernels_alone -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu \
    -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64"
  column build "cmake --build build/arm"
  # SVE of 256 bits, then of 512, which the emulator has by default
  column tests "QEMU_CPU=max,sve-default-vector-length=32 ctest --test-dir build/arm \
    --parallel $(nproc) -R '^base_simd|^kernels_.*leaf' -LE slow --output-on-failure"
  column tests "ctest --test-dir build/arm --parallel $(nproc) -L unit -LE slow --output-on-failure"
}

row_deb() {
  environment "Debian 12, .deb" bookworm --first "$setup package && tessera_install"
  column configure "cmake --preset package"
  column build "cmake --build --preset package && cd build/package && cpack -G DEB"
  column run "bash tests/packaging/try.sh build/package/*.deb"
}

row_rpm() { # the build machine's libraries are those of the RPM: no other distribution is here
  environment ".rpm, built and installed on Debian 12" bookworm --first \
    "$setup package && tessera_install"
  column configure "cmake --preset package"
  column build "cmake --build --preset package && cd build/package && cpack -G RPM"
  column run "bash tests/packaging/try.sh build/package/*.rpm"
}

row_pip() { # the command for a bare machine in apps/manual/python.md
  environment "Debian 12, pip install ." bookworm
  column build "apt-get update && sed -n '/^sudo apt-get/,/pip install \.\$/p' \
    apps/manual/python.md | sed 's/^sudo //' | DEBIAN_FRONTEND=noninteractive bash -e"
  column run "cd /tmp && ~/tessera-python/bin/python -c '
import numpy, tessera
from tessera import DistArray
a = numpy.arange(9.0).reshape(3, 3)
assert numpy.array_equal(tessera.matmul(a, a), a @ a)
assert numpy.array_equal(DistArray.from_numpy(a).transpose().local, a.T)'"
}

row_image() { # the steps of Containerfile and apptainer.def
  environment "image (Debian 12)" bookworm
  column build "bash jobs/packaging/image.sh"
  column run "cd /tmp && bash /usr/share/tessera/jobs/launch.sh 2 1 tessera matmul --n 200"
}

rows() { declare -F | sed -n 's/^declare -f row_//p'; }

# Prints why no row can run on this machine, or nothing.
unavailable_here() {
  if [ "$(id -u)" != 0 ]; then
    echo "needs root"
  elif [ -z "${TESSERA_FRESH_PACKAGES:-}" ] && ! command -v debootstrap >/dev/null; then
    echo "needs debootstrap"
  elif ! unshare --mount --pid --fork true 2>/dev/null; then
    echo "needs mount and process namespaces"
  fi
}

# Sets configured, built, ran and tested to what the log of a row says.
read_log() { # log
  local code name=0 codes line
  configured=- built=- ran=- tested=-
  # the last line of a command that may have several
  mapfile -t codes < <(sed -n 's/.*: exit code \([0-9]*\) after .* min; it installed .*/\1/p' "$1")
  if grep -q 'apt failed\|debootstrap failed\|command failed: ' "$1"; then
    configured="packages cannot be fetched"
    return
  fi
  for line in "${columns[@]}"; do
    code=${codes[name]:-}
    name=$((name + 1))
    case $code in
      '') continue ;;
      0) code=pass ;;
      *) code="fails ($code)" failed=1 ;;
    esac
    case $line in
      configure) configured=$code ;;
      build) built=$code ;;
      run) ran=$code ;;
      tests) tested=$code ;;
    esac
  done
  # run.sh configures and builds, too.
  if [ "$configured$built" = -- ] && [ "$ran" != - ]; then
    configured=pass built=pass
    if grep -q '^tessera: error: \(configuring failed\|not found\)' "$1"; then
      configured=fails built=- ran=-
    elif grep -q '^tessera: error: building failed' "$1"; then
      built=fails ran=-
    fi
  fi
  line=$(sed -nE '/^[0-9]+ passed, [0-9]+ failed|^[0-9]+% tests passed/p' "$1" | tail -n 1)
  [ -z "$line" ] || tested="$tested: $line"
}

table=() failed='' continue=''
case ${1:-} in
  --list) rows && exit ;;
  --continue) continue=yes && shift ;;
esac
for row in $(if [ $# -gt 0 ]; then echo "$@"; else rows; fi); do
  columns=() unavailable=$(unavailable_here)
  declare -F "row_$row" >/dev/null || {
    echo "tests/matrix.sh: error: $row: unknown row; rows: $(rows | tr '\n' ' ')" >&2
    exit 64
  }
  "row_$row"
  [ ${#columns[@]} -gt 0 ] || columns=(run tests)
  log=$logs/$row.log ended='^== ended after \([0-9]*\) min$'
  if [ -z "$continue" ] || ! grep -qs "$ended" "$log"; then
    if [ -n "$unavailable" ]; then
      table+=("| $title | not here: $unavailable | - | - | - | - | - |")
      continue
    fi
    mkdir -p "$logs"
    started=$SECONDS
    echo "== $title (log: $log)" >&2
    echo "== commit $(git -C "$tree" rev-parse --short HEAD)" >"$log"
    bash "$tree/tests/fresh.sh" "${arguments[@]}" >>"$log" 2>&1 || true
    echo "== ended after $(((SECONDS - started + 59) / 60)) min" >>"$log"
  fi
  read_log "$log"
  table+=("| $title | $configured | $built | $ran | $tested | $(sed -n "s/$ended/\1/p" "$log") \
| $(sed -n '1s/^== commit //p' "$log") |")
done
echo "| environment | configure | build | run | tests | min | commit |"
echo "|---|---|---|---|---|---|---|"
printf '%s\n' "${table[@]}"
[ -z "$failed" ]
