#!/usr/bin/env bash
# bash jobs/packaging/image.sh: builds Tessera's packages, installs the program and removes all that
# only the build needed. For an image of Debian, as root (Containerfile, apptainer.def).
set -euo pipefail

# shellcheck source=../setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
cd "$tessera_root"
export DEBIAN_FRONTEND=noninteractive

tessera_packages=()
tessera_add_packages tool library header package
tessera_find_missing
build_only=("${tessera_missing[@]}")
apt-get update
apt-get install -y --no-install-recommends "${build_only[@]}"

cmake --preset package
cmake --build --preset package
(cd build/package && cpack -G DEB)
tessera_packages=()
tessera_add_packages run report
apt-get install -y --no-install-recommends ./build/package/tessera_*.deb "${tessera_packages[@]}"

apt-mark auto "${build_only[@]}" >/dev/null
apt-get autoremove -y --purge
rm -rf build/package /var/lib/apt/lists/*
tessera --version
