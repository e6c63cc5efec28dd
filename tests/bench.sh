#!/usr/bin/env bash
# bash tests/bench.sh <matmul|transpose|stencil|sort|files|overhead> [--quick] [...]: ours and the
# peers, interleaved in one run; files: whole commands from file to file; overhead: small products
# through the interfaces. Other arguments are passed to the program of one process only (see its
# --help).
# bash tests/bench.sh --guard [--store]: fails if a kernel lost 5 % since the baseline that --store
# made on this machine (tests/bench/guard.py).
set -euo pipefail
cd "$(dirname "$0")/.."
workload=${1:?usage: bash tests/bench.sh matmul|transpose|stencil|sort|files|overhead|--guard [...]}
shift
build=build/bench; mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" \
  -DTESSERA_CUDA=OFF -DTESSERA_BENCH=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
make() { cmake --build "$build" --target "$1" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }; }
# The Python of the PATH, with the peers that the user has there, or the system's.
python=$(for one in python3 /usr/bin/python3; do
  if "$one" -c "import h5py" 2>&-; then echo "$one"; fi
done | head -n 1)
if [ "$workload" = --guard ]; then
  make bench_guard
  exec python3 tests/bench/guard.py "$build/tests/bench/bench_guard" "$@"
fi
if [ "$workload" = files ]; then
  make tessera
  exec "${python:?h5py is missing}" tests/bench/files.py "$build/bin/tessera" "$@"
fi
if [ "$workload" = overhead ]; then
  make c_overhead
  OMP_NUM_THREADS=1 "$build/tests/c/c_overhead"
  make tessera_python
  PYTHONPATH=$build/python exec /usr/bin/python3 tests/bench/overhead.py
fi
make "bench_$workload"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # every library chooses its kernels by itself
"$build/tests/bench/bench_$workload" "$@"
quick=(); for word in "$@"; do [ "$word" = --quick ] && quick=(--quick); done
# Distributed peers, where they were found.
if [ -x "$build/tests/bench/bench_${workload}_mpi" ]; then
  # shellcheck source=jobs/env.sh
  . jobs/env.sh
  [ "$workload" = sort ] && counts="2 3 4"
  for ranks in ${counts:-2 4}; do
    tessera_launch "$ranks" 1 "$build/tests/bench/bench_${workload}_mpi" "${quick[@]}"
  done
fi
if [ -e "tests/bench/${workload}_files.py" ]; then
  make tessera
  "${python:?h5py is missing}" "tests/bench/${workload}_files.py" "$build/bin/tessera" "${quick[@]}"
fi
