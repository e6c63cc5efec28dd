#!/usr/bin/env bash
# bash tests/gpu.sh [--quick | --errors | --sanitize] [WORKLOAD...]: on a node with a GPU and
# without a network, builds, runs the device tests and prints the bench tables last. No workload
# named: all of them. Without --quick the tests of the program run on the device too, where Python
# has h5py: TESSERA_DEVICE=gpu. --errors: as --quick, with one table, of the rates and errors of
# products by precision. --sanitize: no tables; compute-sanitizer looks for errors of memory, races
# and uninitialised reads. It takes its time. Packages that the node lacks may lie as .deb files in
# .carry/ of this tree: they are unpacked into a prefix. CUDAARCHS: the architectures to compile
# for, 90a-real by default. With 75-virtual the driver compiles the kernels from code for 7.5, which
# any later GPU then runs with the shared memory of a GPU of 7.5 (src/kernels/cuda_code.hpp).
set -euo pipefail
cd "$(dirname "$0")/.."
# The programs with a workload's device tests, those of their tests that compute-sanitizer checks
# (it is some 100 times slower) and that --quick runs (where it has no list, those that are
# checked), and the tests of the program itself.
declare -A tests brief checked raced program_tests shards
tests[matmul]="kernels_matmul_variants_test kernels_matmul_device_test"
tests[matmul]+=" kernels_matmul_quantised_test"
brief[matmul]='*Anywhere*:*Exact*:*RoundOperands*:*HoweverTheyTravel*:QuantisedKernels*'
brief[matmul]+=':Variants/2.*:Variants/3.*'
checked[matmul]='*ExactOnIntegers*:*Anywhere*:*HoweverTheyTravel*'
raced[matmul]='*ExactOnIntegers*:*SingleWarpsTakeShapes*' # racecheck is slower still
program_tests[matmul]="matmul_numpy.py AgainstNumpy"
program_tests[transpose]="transpose_numpy.py AgainstNumpy"
program_tests[stencil]="stencil_gpu.py OnGpus stencil_half.py OnGpus"
program_tests[sort]="shares.py GpusAndCpus"
tests[transpose]="kernels_transpose_cuda_test kernels_transpose_transpose_test"
checked[transpose]='Device.*:DeviceRearranges.*:*WhatItDoesNotHold*'
raced[transpose]='Device.*:DeviceRearranges.*'
tests[memory]="kernels_memory_device_probes_test kernels_device_functions_test machine_gpu_test"
tests[memory]+=" run_device_test"
brief[memory]='*'
checked[memory]='DeviceProbes.RunAndAreRight'
tests[sort]="kernels_sort_sort_test"
shards[sort]=3 # long ones run in this many processes at once
shards[stencil]=4
brief[sort]='DeviceVariants.*:CudaRuns.*:CudaSort/1.*:CudaSort/4.*:CudaCounting.*:CudaRadix.*'
brief[sort]+=':CudaArgsort*'
checked[sort]='CudaSort/1.*UnderACheck*:CudaSort/2.*UnderACheck*:CudaSort/4.*UnderACheck*'
checked[sort]+=':CudaSort/5.*UnderACheck*:*RefusesTooWide*:CudaHybrid.*UnderACheck'
tests[stencil]="kernels_stencil_cuda_test kernels_stencil_sweep_test"
brief[stencil]='*UnderACheck*:DeviceVariants.*'
checked[stencil]='*UnderACheck*'
# Ranks that talk GPU to GPU: on every number of GPUs there is, and with two ranks a GPU.
tests[exchange]="mpi_device_exchange_test dist_transpose_on_devices_test"
tests[exchange]+=" dist_matmul_on_devices_test dist_sort_on_devices_test"
tests[exchange]+=" dist_stencil_on_devices_test dist_stencil_halo_exchange_test"
devices=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
# shellcheck disable=SC2046 # a word is a variable
export $(bash jobs/launch.sh --shared) NCCL_NVLS_ENABLE=0
checked[exchange]='*BringEveryPiece*:*OverlaysAnyTwoLayouts*:*HasTheBitsOfTheHost*:*OrdersByTheMap*'
checked[exchange]+=':*RepeatPackedMessages*:DeviceRelayouts/3.*:DeviceRelayouts/7.*:DevicePermute*'
checked[exchange]+=':*SeveralFieldsInOne*:*BringsBackParts*:*DividesManyKeys*:*LayersOnADevice*'
under_mpirun() { mpirun -n "$@"; }
shared_gpus() { # two ranks a GPU
  OMP_NUM_THREADS=4 under_mpirun $((2 * devices)) build/gpu/tests/exchange_gpu --quick
}
# Calls a function, and again while CUDA's multi-process service runs, where the node has it.
under_mps() {
  local status=0
  "$1"
  if ! command -v nvidia-cuda-mps-control >/dev/null; then return; fi
  echo "== the same with CUDA's multi-process service"
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d) # of this script alone: the node's own service stays
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
  nvidia-cuda-mps-control -d
  "$1" || status=$?
  echo quit | nvidia-cuda-mps-control
  rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  return $status
}
# Perhaps a package of Python's has NCCL.
if [ -z "${TESSERA_NCCL:-}" ] && ! ldconfig -p | grep -q 'libnccl\.so\.2'; then
  found=$(find / -xdev -name libnccl.so.2 -print -quit 2>/dev/null || true)
  if [ -n "$found" ]; then export TESSERA_NCCL=$found; fi
fi
quick=() sanitizer=
if [ "${1:-}" = --quick ] || [ "${1:-}" = --errors ]; then
  quick=("$1")
  tests[memory]=${tests[memory]/ run_device_test/} # it is linked to most of the program
  shift
elif [ "${1:-}" = --sanitize ]; then
  sanitizer=$(command -v compute-sanitizer) || {
    echo "compute-sanitizer is not here: it comes with the CUDA Toolkit"
    exit 1
  }
  shift
fi
workloads=("$@")
if [ $# = 0 ]; then workloads=("${!tests[@]}"); fi
prefix=$PWD/build/prefix
mkdir -p "$prefix"
for deb in .carry/*.deb; do
  if [ -e "$deb" ]; then dpkg -x "$deb" "$prefix"; fi
done
export LD_LIBRARY_PATH=$prefix/usr/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH:-}
flavour=() # the system's HDF5 where it has the development files, else the unpacked one
if ! compgen -G '/usr/lib/*/cmake/hdf5*' >/dev/null && ! command -v h5cc h5pcc >/dev/null; then
  include=$prefix/usr/include/hdf5/openmpi lib=$prefix/usr/lib/x86_64-linux-gnu
  flavour=(-DHDF5_ROOT="$prefix/usr" -DHDF5_C_INCLUDE_DIR="$include"
    -DHDF5_HL_INCLUDE_DIR="$include" -DHDF5_hdf5_LIBRARY_RELEASE="$lib/libhdf5_openmpi.so"
    -DHDF5_hdf5_hl_LIBRARY_RELEASE="$lib/libhdf5_openmpi_hl.so")
fi
cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O3 -DNDEBUG" -DCMAKE_PREFIX_PATH="$prefix/usr" "${flavour[@]}" \
  -DCMAKE_CUDA_ARCHITECTURES="${CUDAARCHS:-90a-real}" >build/gpu.log 2>&1 ||
  { cat build/gpu.log; exit 1; }
build() {
  cmake --build build/gpu --target "$@" >build/gpu.log 2>&1 ||
    { grep -E "error|FAILED" build/gpu.log; exit 1; }
}
program_of() { find build/gpu/tests -name "$1" -type f; }
# Runs a command with each of the words that follow, all at once, and prints in order what they
# print. Fails if one does.
side_by_side() {
  local command=$1 status=0 word pids=() logs
  logs=$(mktemp -d build/gpu.XXXXXX)
  shift
  for word in "$@"; do
    $command "$word" >"$logs/$word" 2>&1 &
    pids+=($!)
  done
  for word in "$@"; do
    wait "${pids[0]}" || status=$?
    pids=("${pids[@]:1}")
    cat "$logs/$word"
  done
  rm -r "$logs"
  return $status
}
# Ranks that talk GPU to GPU: up to one more than there are GPUs, at least 3, and two a GPU; --quick
# has these alone.
exchange_test() {
  local ranks filter="*" counts
  counts=$( (seq 1 3 && seq 1 $((devices + 1)) && echo $((2 * devices))) | sort -nu)
  if [ ${#quick[@]} != 0 ]; then filter=${checked[exchange]} counts=$((2 * devices)); fi
  for ranks in $counts; do
    echo "-- $1, $ranks ranks"
    OMP_NUM_THREADS=2 under_mpirun "$ranks" "$(program_of "$1")" --gtest_brief=1 \
      --gtest_filter="$filter"
  done
}
kernel_test() { # of a workload, a program, in N shards, this one
  local filter="*"
  if [ ${#quick[@]} != 0 ]; then filter=${brief[$1]:-${checked[$1]}}; fi
  GTEST_TOTAL_SHARDS=$3 GTEST_SHARD_INDEX=$4 OMP_NUM_THREADS=4 "$(program_of "$2")" \
    --gtest_brief=1 --gtest_filter="$filter"
}
kernel_tests() {
  local name
  for name in ${tests[$1]}; do
    side_by_side "kernel_test $1 $name ${shards[$1]:-1}" $(seq 0 $((${shards[$1]:-1} - 1)))
  done
}
# One tool on one program; $1: what to start it by.
sanitize() {
  local start=$1 tool=$2 name=$3 filter=$4 program
  program=$(program_of "$name")
  [ -n "$("$program" --gtest_list_tests --gtest_filter="$filter" | grep '^  ')" ] || return 0
  # shellcheck disable=SC2086
  OMP_NUM_THREADS=1 $start "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" \
    --gtest_brief=1 --gtest_filter="$filter" >build/gpu.log 2>&1 ||
    { head -n 60 build/gpu.log; exit 9; }
  echo "$name, $tool: $(grep "SUMMARY" build/gpu.log | sort | uniq -c)"
}
sanitize_all() { # one after the other: at once they take ten times as long
  local workload name
  for workload in "${workloads[@]}"; do
    for name in ${tests[$workload]}; do
      if [ "$workload" = exchange ]; then
        sanitize "under_mpirun 2" memcheck "$name" "${checked[exchange]}"
      else
        sanitize "" memcheck "$name" "${checked[$workload]}"
        sanitize "" racecheck "$name" "${raced[$workload]:-${checked[$workload]}}"
        sanitize "" initcheck "$name" "${checked[$workload]}"
      fi
    done
  done
}
# Those of the program itself.
numpy_tests() {
  local status log=build/gpu.$1.py.log words
  read -ra words <<<"${program_tests[$1]}" # script class ...
  while [ ${#words[@]} != 0 ]; do
    echo "-- ${words[0]}"
    status=0
    TESSERA_DEVICE=gpu TESSERA_BIN=$PWD/build/gpu/bin/tessera TESSERA_TEST_SEED=1 \
      "$python" "tests/apps/${words[0]}" "${words[1]}" >"$log" 2>&1 || status=$?
    if [ $status != 0 ] && [ $status != 77 ]; then tail -n 60 "$log" && exit 1; fi
    tail -n 3 "$log"
    words=("${words[@]:2}")
  done
}
device_tests() {
  # shellcheck disable=SC2086
  if [ "$1" = exchange ]; then side_by_side exchange_test ${tests[$1]}; else kernel_tests "$1"; fi
}
# shellcheck disable=SC2046
build tessera_cuda $(for workload in "${workloads[@]}"; do echo "${tests[$workload]}"; done)
if [ -n "$sanitizer" ]; then
  sanitize_all
  exit
fi
# All tests at once, for they leave most of the machine idle, those of kernels while the rest is
# built; the tables after them.
declare -A running
for workload in "${workloads[@]}"; do
  device_tests "$workload" >"build/gpu.$workload.log" 2>&1 &
  running[$workload]=$!
done
python=
if [ ${#quick[@]} = 0 ]; then
  for candidate in python3 /usr/bin/python3; do
    if [ -z "$python" ] && "$candidate" -c 'import h5py, numpy' 2>/dev/null; then
      python=$candidate
    fi
  done
  if [ -z "$python" ]; then echo "tests of the program skipped: no Python with h5py and numpy"; fi
fi
build "${workloads[@]/%/_gpu}" ${python:+tessera}
for workload in "${workloads[@]}"; do
  if [ -z "$python" ] || [ -z "${program_tests[$workload]:-}" ]; then continue; fi
  numpy_tests "$workload" >"build/gpu.$workload.program.log" 2>&1 &
  running[$workload.program]=$!
done
failed=0
for part in "${!running[@]}"; do
  status=0
  wait "${running[$part]}" || status=$?
  echo "== $part: tests on the device" && cat "build/gpu.$part.log"
  if [ $status != 0 ]; then echo "$part: FAILED ($status)" && failed=$status; fi
done
if [ $failed != 0 ]; then exit "$failed"; fi
for workload in "${workloads[@]}"; do
  if [ "${quick[0]:-}" = --errors ] && [ "$workload" != matmul ]; then continue; fi
  echo "== $workload"
  if [ "$workload" = exchange ]; then
    for ranks in $(seq 2 "$devices"); do
      OMP_NUM_THREADS=8 under_mpirun "$ranks" build/gpu/tests/exchange_gpu "${quick[@]}"
    done
    under_mps shared_gpus
    continue
  fi
  "build/gpu/tests/${workload}_gpu" "${quick[@]}"
done
# Counters and those on paper, where the program is and Nsight Compute may read them.
if [ -n "$python" ] && [[ " ${workloads[*]} " == *" memory "* ]] && command -v ncu >/dev/null; then
  echo "== counters of kernels, on paper and here"
  "$python" tests/paper_counters.py build/gpu/bin/tessera
fi
