#!/usr/bin/env bash
# bash tests/bench.sh <matmul|transpose|stencil|sort|files|overhead|python|scalapack|peers>
# [--quick] [...]: ours and the peers, interleaved in one run; files: commands from file to file;
# overhead: small products through the interfaces; python: the package against numpy, scipy, polars,
# Heat and dask, those that TESSERA_PYTHON (/usr/bin/python3) imports; scalapack: its own testers
# call our entries (tests/scalapack/testers.sh). Other arguments are passed to the program of one
# process only (see its --help).
# bash tests/bench.sh peers [--quick] [--ranks N --threads T] [--rounds N] [--only WORD]: the
# `tessera` program against the benchmark programs in the peers' own builds, which TESSERA_PEERS
# names: folders, separated by colons, in which these are looked for at any depth: cosma_miniapp and
# pxgemm_miniapp (COSMA), pxtran_miniapp (COSTA), MPI1/ and OPENMP/ Stencil/stencil and
# Transpose/transpose (PRK, built with their defaults), mwd_kernel (girih), yask_kernel.3axis.*.exe
# (YASK, stencil=3axis radius=1), kadis_sort (KaDiS: made of sort_peers/kadis.cpp). Both report
# the time of the kernel with its exchange, operands and result in memory, without generation and
# check; same cores and binding (peers.py).
# bash tests/bench.sh --guard [--store]: fails if a kernel lost 5 % since the baseline that --store
# made on this machine (tests/bench/guard.py).
set -euo pipefail
cd "$(dirname "$0")/.."
names="matmul|transpose|stencil|sort|files|overhead|python|scalapack|peers|--guard"
workload=${1:?usage: bash tests/bench.sh $names [...]}
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
if [ "$workload" = peers ]; then
  make tessera
  unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # every library chooses its kernels by itself
  exec python3 tests/bench/peers.py "$build/bin/tessera" "$@"
fi
if [ "$workload" = overhead ]; then
  make c_overhead
  OMP_NUM_THREADS=1 "$build/tests/c/c_overhead"
  make tessera_python
  PYTHONPATH=$build/python exec /usr/bin/python3 tests/bench/overhead.py
fi
if [ "$workload" = scalapack ]; then
  make tessera_scalapack
  exec bash tests/scalapack/testers.sh "$build/lib/libtessera_scalapack.so" "$@"
fi
if [ "$workload" = python ]; then
  make tessera_python
  unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
  export PYTHONPATH=$build/python
  "${TESSERA_PYTHON:-/usr/bin/python3}" tests/bench/python.py "$@"
  # shellcheck source=jobs/env.sh
  . jobs/env.sh
  for ranks in 2 4; do
    tessera_launch "$ranks" 1 "${TESSERA_PYTHON:-/usr/bin/python3}" tests/bench/python.py "$@"
  done
  exit
fi
make "bench_$workload"
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE # every library chooses its kernels by itself
"$build/tests/bench/bench_$workload" "$@"
quick=(); for word in "$@"; do [ "$word" = --quick ] && quick=(--quick); done
# Distributed peers, where they were found.
programs=("bench_${workload}_mpi")
if [ "$workload" = transpose ]; then programs+=(bench_permute_mpi); fi
if [ -x "$build/tests/bench/${programs[0]}" ]; then
  # shellcheck source=jobs/env.sh
  . jobs/env.sh
  [ "$workload" = sort ] && counts="2 3 4"
  for ranks in ${counts:-2 4}; do
    for program in "${programs[@]}"; do
      tessera_launch "$ranks" 1 "$build/tests/bench/$program" "${quick[@]}"
    done
  done
fi
if [ -e "tests/bench/${workload}_files.py" ]; then
  make tessera
  "${python:?h5py is missing}" "tests/bench/${workload}_files.py" "$build/bin/tessera" "${quick[@]}"
fi
