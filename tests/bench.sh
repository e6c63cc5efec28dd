#!/usr/bin/env bash
# bash tests/bench.sh <matmul|transpose|stencil|sort|files> [--quick] [...]: ours and the peers,
# interleaved in one run; files: whole commands from file to file. Other arguments are passed to the
# program of one process only (see its --help).
set -euo pipefail
cd "$(dirname "$0")/.."
workload=${1:?usage: bash tests/bench.sh matmul|transpose|stencil|sort|files [--quick]}
shift
build=build/bench; mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" \
  -DTESSERA_CUDA=OFF -DTESSERA_BENCH=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
if [ "$workload" = files ]; then
  cmake --build "$build" --target tessera >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
  exec "$(command -v /usr/bin/python3 || echo python3)" tests/bench/files.py "$build/bin/tessera" "$@"
fi
cmake --build "$build" --target "bench_$workload" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # every library chooses its kernels by itself
"$build/tests/bench/bench_$workload" "$@"
quick=(); for word in "$@"; do [ "$word" = --quick ] && quick=(--quick); done
if [ -x "$build/tests/bench/bench_${workload}_mpi" ]; then # the distributed peers, where they were found
  # shellcheck source=jobs/env.sh
  . jobs/env.sh
  [ "$workload" = sort ] && counts="2 3 4"
  for ranks in ${counts:-2 4}; do tessera_launch "$ranks" 1 "$build/tests/bench/bench_${workload}_mpi" "${quick[@]}"; done
fi
if [ -e "tests/bench/${workload}_files.py" ]; then
  cmake --build "$build" --target tessera >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
  "$(command -v /usr/bin/python3 || echo python3)" "tests/bench/${workload}_files.py" "$build/bin/tessera" "${quick[@]}"
fi
