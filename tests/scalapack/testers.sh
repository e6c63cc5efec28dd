#!/usr/bin/env bash
# bash tests/scalapack/testers.sh LIBRARY [SOURCE]: compiles ScaLAPACK's own testers of the PBLAS
# (level 3) and of REDIST with the installed ScaLAPACK, runs them on 8 ranks with LIBRARY
# (libtessera_scalapack.so) preloaded, all grids and problems of their input files, and prints their
# summaries. Fails if a test does, or if LIBRARY is not what they call. SOURCE: a tree of
# ScaLAPACK's sources; without one they are fetched. Needs mpifort, mpicc and ScaLAPACK (Debian:
# gfortran, libscalapack-openmpi-dev; other names of the library: SCALAPACK="-lscalapack").
set -euo pipefail
library=$(realpath "${1:?usage: bash tests/scalapack/testers.sh LIBRARY [SOURCE]}")
source=${2:-}
here=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=jobs/env.sh
. "$here/jobs/env.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$source" ]; then
  source=$work/scalapack
  git clone --quiet --depth 1 https://github.com/Reference-ScaLAPACK/scalapack "$source"
fi
source=$(realpath "$source")
read -ra libraries <<<"${SCALAPACK:--lscalapack-openmpi -llapack -lblas}"
cd "$work"

# Runs a tester with the library preloaded, its output in $1.txt, and fails unless it calls `entry`.
run_with_ours() {
  local program=$1 entry=$2
  if ! LD_DEBUG=bindings LD_DEBUG_OUTPUT=$program.bound tessera_launch 8 1 \
      env LD_PRELOAD="$library" "./$program" >"$program.txt" 2>&1; then
    tail -n 20 "$program.txt"
    exit 1
  fi
  if ! grep -q "to $library .*$entry'" "$program".bound.*; then
    echo "$program does not call $entry of $library" >&2
    exit 1
  fi
}

failed=0
for t in s d c z; do
  T=${t^^}
  tests=$source/PBLAS/TESTING
  mpifort -O2 -std=legacy -w -fallow-argument-mismatch "$tests/p${t}blas3tst.f" \
    "$tests/p${t}blastst.f" "$tests/pblastst.f" "$tests/slamch.f" "$tests/dlamch.f" \
    -o "p${t}blas3tst" "${libraries[@]}"
  # No error exits, which end the job; all eight grids and problems; products only.
  sed -e 's/^T\(.*test error exits\)/F\1/' -e 's/^[0-9]*\(.*number of process grids\)/8\1/' \
    -e 's/^[0-9]*\(.*number of tests problems\)/8\1/' \
    -e "s/^\(P${T}[A-Z0-9]* *\)T/\1F/; s/^\(P${T}GEMM *\)F/\1T/" \
    "$tests/P${T}BLAS3TST.dat" >"P${T}BLAS3TST.dat"
  run_with_ours "p${t}blas3tst" "p${t}gemm_"
  line=$(grep -h "|  P${T}GEMM" "p${t}blas3tst.txt" "P${T}BLAS3TST.SUMM" 2>/dev/null || true)
  echo "tests, passed, failed, skipped: ${line:-no summary of P${T}GEMM}"
  read -r _ _ all passed _ <<<"${line:-| none 1 0}"
  [ "$all" = "$passed" ] || failed=1
done
for t in s d c z i; do
  mpicc -O2 -w -DAdd_ -I"$source/REDIST/SRC" -I"$source/REDIST/TESTING" \
    "$source/REDIST/TESTING/p${t}gemrdrv.c" -o "p${t}gemr" "${libraries[@]}"
  cp "$source/REDIST/TESTING/GEMR2D.dat" .
  run_with_ours "p${t}gemr" "gemr2d"
  all=$(head -n 1 GEMR2D.dat)
  passed=$(grep -c "TEST PASSED OK" "p${t}gemr.txt" || true)
  echo "P${t^^}GEMR2D: $passed of $((all)) tests passed"
  [ "$passed" -eq "$((all))" ] || failed=1
done
exit "$failed"
