#!/usr/bin/env bash
# bash tests/packages.sh FOLDER [RELEASE...]: fetches what the rows of tests/matrix.sh install, bare
# roots and packages of bookworm and trixie (1 GB), for nodes without a network:
# `TESSERA_FRESH_PACKAGES=FOLDER bash tests/matrix.sh` there takes everything from a copy of FOLDER,
# but for what pip installs.
set -euo pipefail

[ $# -gt 0 ] || {
  echo "tests/packages.sh: error: name a folder for the packages" >&2
  exit 64
}
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
folder=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bookworm trixie

# Debian's names in packages.txt, without those of one MPI; of both MPIs; of other compilers.
of_any=$(awk '!/^#/ && $3 ~ /^[a-z]/ && $3 !~ /openmpi|mpi4py|vtk9/ { print $3 }' \
  "$tree/jobs/packages.txt" | tr '\n' ' ')
of_openmpi=$(awk '!/^#/ && $3 ~ /openmpi|mpi4py|vtk9/ { print $3 }' "$tree/jobs/packages.txt" |
  tr '\n' ' ')
of_mpich="mpich libmpich-dev libhdf5-mpich-dev"
of_arm="g++-aarch64-linux-gnu qemu-user libgomp1:arm64 libhwloc-dev:arm64 libfmt-dev:arm64 \
  libgtest-dev:arm64"
more="git ccache python3-venv python3-pip"

for release in "$@"; do
  place=/var/cache/tessera/$release
  fetch="DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --download-only \
    --no-install-recommends -o Dir::Cache::archives=$place"
  mkdir -p "$folder/$release/partial"
  rm -f "$folder/$release/Packages"
  TESSERA_FRESH_PACKAGES=$folder bash "$tree/tests/fresh.sh" "$release" --type \
    "dpkg --add-architecture arm64 && apt-get update -qq && $fetch $of_any $of_openmpi $more &&
     $fetch $of_any $of_mpich $more && $fetch $of_arm && apt-get install -y -qq dpkg-dev &&
     cd $place && dpkg-scanpackages --multiversion . >Packages.new && mv Packages.new Packages"
done
