#!/usr/bin/env bash
# bash tests/packaging/try.sh PACKAGE...: installs packages of Tessera (.deb or .rpm), runs the four
# workloads, builds an external program with CMake and pkg-config, and removes the packages again;
# no file may remain. As root, on a machine without Tessera (tests/matrix.sh has bare roots). RPMs
# are installed without their dependencies, whose names are Fedora's.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
say() { printf '== %s\n' "$*"; }
fail() {
  printf 'tests/packaging/try.sh: error: %s\n' "$*" >&2
  exit 1
}

files() { find /usr /etc /opt -xdev \( -type f -o -type l -o -type d \) -iname '*tessera*' | sort; }

install_packages() {
  case $1 in
    *.deb) apt-get install -y --no-install-recommends "$@" ;;
    *.rpm) rpm --install --nodeps "$@" ;;
    *) fail "$1 is neither .deb nor .rpm" ;;
  esac
}

remove_packages() {
  local names=() package
  for package in "$@"; do
    case $package in
      *.deb) names+=("$(dpkg-deb --field "$package" Package)") ;;
      *.rpm) names+=("$(rpm --query --package --queryformat '%{NAME}' "$package")") ;;
    esac
  done
  case $1 in
    *.deb) apt-get purge -y "${names[@]}" ;;
    *.rpm) rpm --erase "${names[@]}" ;;
  esac
}

run_python() {
  (cd / && python3 -c 'import numpy, tessera
a = numpy.arange(9.0).reshape(3, 3)
assert numpy.array_equal(tessera.matmul(a, a), a @ a)')
}

run_workloads() {
  local launch=(bash /usr/share/tessera/jobs/launch.sh 2 1 tessera)
  "${launch[@]}" matmul --n 200 --out c.h5:/C
  "${launch[@]}" transpose --in c.h5:/C --out t.h5:/C
  "${launch[@]}" stencil --in t.h5:/C --stencil heat --steps 10 --out u.h5:/u
  "${launch[@]}" sort --n 100000 --type f64 --out s.h5:/keys
  tessera verify c.h5 && tessera verify t.h5 && tessera verify u.h5 && tessera verify s.h5
}

build_outside() {
  local words launch=(bash "$tree/jobs/launch.sh" 3 1)
  cmake -S "$tree/tests/install" -B by_cmake -DCMAKE_BUILD_TYPE=Release
  cmake --build by_cmake
  "${launch[@]}" ./by_cmake/outside
  read -ra words < <(pkg-config --cflags --libs tessera)
  c++ "$tree/tests/install/main.cpp" "${words[@]}" -o by_pkg_config
  "${launch[@]}" ./by_pkg_config
}

[ $# -gt 0 ] || fail "usage: bash tests/packaging/try.sh PACKAGE..."
mapfile -t packages < <(realpath "$@")
[ -z "$(command -v tessera)" ] || fail "tessera is installed already ($(command -v tessera))"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
files >before.txt
install_packages "${packages[@]}"
say "installed: $(files | wc -l) paths with the name"
run_workloads
case " ${packages[*]}" in *-dev*) build_outside ;; esac
case " ${packages[*]}" in *python3-*) run_python ;; esac
remove_packages "${packages[@]}"
files >after.txt
diff before.txt after.txt || fail "files remain (above)"
say "installed, ran, removed: no file remains"
