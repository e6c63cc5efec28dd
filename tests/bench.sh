#!/usr/bin/env bash
# bash tests/bench.sh <matmul|transpose|stencil|sort> [--quick] [...]: ours and the peers, interleaved in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
workload=${1:?usage: bash tests/bench.sh matmul|transpose|stencil|sort [--quick]}
shift
build=build/bench; mkdir -p build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" \
  -DTESSERA_CUDA=OFF -DTESSERA_BENCH=ON >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target "bench_$workload" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
exec "$build/tests/bench/bench_$workload" "$@"
