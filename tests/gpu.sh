#!/usr/bin/env bash
# bash tests/gpu.sh: on a node with a GPU and without a network, builds, runs the device tests and prints the bench table.
# Packages that the node lacks may lie as .deb files in .carry/ of this tree: they are unpacked beside the system.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/build/prefix
mkdir -p "$prefix"
for deb in .carry/*.deb; do
  if [ -e "$deb" ]; then dpkg -x "$deb" "$prefix"; fi
done
export LD_LIBRARY_PATH=$prefix/usr/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}
flavour=() # the system's HDF5 where it has the development files, else the one that was unpacked
if ! compgen -G '/usr/lib/*/cmake/hdf5*' >/dev/null && ! command -v h5cc >/dev/null && ! command -v h5pcc >/dev/null; then
  include=$prefix/usr/include/hdf5/openmpi lib=$prefix/usr/lib/x86_64-linux-gnu
  flavour=(-DHDF5_C_INCLUDE_DIR="$include" -DHDF5_hdf5_LIBRARY="$lib/libhdf5_openmpi.so" -DHDF5_ROOT="$prefix/usr")
fi
cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" \
  -DCMAKE_CUDA_ARCHITECTURES="${TESSERA_GPU_ARCHITECTURES:-90a-real}" -DCMAKE_PREFIX_PATH="$prefix/usr" "${flavour[@]}" "$@"
cmake --build build/gpu --target kernels_matmul_variants_test matmul_gpu
OMP_NUM_THREADS=4 build/gpu/tests/kernels/matmul/kernels_matmul_variants_test --gtest_brief=1
if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck; do
    compute-sanitizer --tool $tool --error-exitcode 9 build/gpu/tests/kernels/matmul/kernels_matmul_variants_test \
      --gtest_brief=1 --gtest_filter='*TakeAnyTile*:*Exact*' | tail -n 3
  done
fi
build/gpu/tests/matmul_gpu
