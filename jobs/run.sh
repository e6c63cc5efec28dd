#!/usr/bin/env bash
# bash jobs/run.sh [--no-install]: sets up, builds, makes real input, and runs the main job of every
# workload on this machine. It writes to build/ and results/ of this tree only, and can be rerun.
set -euo pipefail

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=jobs/env.sh
. "$tessera_root/jobs/env.sh"
tessera_forget_launcher
cd "$tessera_root"
SECONDS=0

# Two ranks at least, for a distributed job; one a NUMA node where there are more; the threads share
# the rest.
choose_ranks() {
  cores=$(tessera_cores)
  local numa
  numa=$(compgen -G '/sys/devices/system/node/node[0-9]*' | wc -l)
  ranks=$((numa > 2 ? numa : 2))
  if [ "$cores" -eq 3 ]; then ranks=3; fi
  threads=$((cores / ranks > 0 ? cores / ranks : 1))
}

# Channels of the main job: more work for more cores, at most an eighth of the free memory for the
# three matrices.
choose_size() {
  local megabytes
  megabytes=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  channels=1024
  while [ $channels -lt 8192 ] && [ $((channels * channels)) -lt $((1100000 * cores)) ] &&
    [ $((channels * channels * 24 * 8 / 1048576)) -lt "$megabytes" ]; do
    channels=$((channels * 2))
  done
  spectra=$((channels * 3 / 4))
}

launch() {
  echo
  TESSERA_SHOW_COMMAND=1 tessera_launch "$ranks" "$threads" "$program" "$@"
}

draw_report() { # folder
  if "$program" report "$1/results.h5" --html "$1/report.html" --png "$1/pictures" \
    >"$1/report.log" 2>&1; then
    rm -f "$1/report.log"
    files+=("$1/report.html" "all measurements as a page, with pictures in $1/pictures")
  else
    tail -n 2 "$1/report.log" >&2
  fi
}

job_matmul() {
  local folder=results/matmul
  mkdir -p $folder
  choose_size
  tessera_say "matmul: counts of a detector = ideal gamma-ray spectra" \
    "($spectra x $channels, int32, gzip) x its response ($channels x $channels, f32)"
  "$python" jobs/make_input.py $folder "$spectra" "$channels"
  if [ -e $folder/results.h5 ]; then mv $folder/results.h5 $folder/results.previous.h5; fi
  launch matmul --a $folder/spectra.h5:/counts --b $folder/response.h5:/smearing \
    --out $folder/counted.h5:/counts --overwrite --results $folder/results.h5
  printf '\n$ %s verify %s\n' $program $folder/counted.h5
  "$program" verify $folder/counted.h5
  "$python" - $folder <<'PYTHON'
import sys
import h5py
folder = sys.argv[1]
with h5py.File(f"{folder}/spectra.h5") as a, h5py.File(f"{folder}/counted.h5") as c:
    ideal, counted = a["counts"][:].sum(axis=1), c["counts"][:].sum(axis=1)
error = abs(counted / ideal - 1).max()
print(f"h5py: counts of every spectrum are preserved to within {error:.1e}:",
      "right" if error < 1e-5 else "WRONG")
sys.exit(0 if error < 1e-5 else 76)
PYTHON
  tessera_say "compare all kernels (configs/matmul/variants.toml)"
  launch matmul --config configs/matmul/variants.toml --results $folder/results.h5
  draw_report $folder
  files+=("$folder/spectra.h5" "input: ideal spectra"
    "$folder/response.h5" "input: the detector's response"
    "$folder/counted.h5" "the product, with its checksum, check and provenance"
    "$folder/results.h5" "every repetition and phase: tessera report $folder/results.h5")
  next+=("mpirun -n $ranks $program matmul --n 2048:8192:x2 --plan"
    "mpirun -n $ranks $program matmul --config configs/matmul/strong.toml --results results/s.h5")
}

job_transpose() {
  local folder=results/transpose input=results/matmul/spectra.h5:/counts
  mkdir -p $folder
  tessera_say "transpose: spectra by channel instead of by exposure (the same file, int32, gzip)"
  if [ -e $folder/results.h5 ]; then mv $folder/results.h5 $folder/results.previous.h5; fi
  launch transpose --in $input --out $folder/by_channel.h5:/counts --overwrite \
    --results $folder/results.h5
  tessera_say "compare kernels on a cache-friendly size and on a power of two"
  launch transpose --n 4000,4096 --kernel naive,tiled,column,cache_oblivious --repetitions 3 \
    --results $folder/results.h5
  draw_report $folder
  files+=("$folder/by_channel.h5" "the spectra transposed" "$folder/results.h5" "its timings")
  local study=configs/studies/tutorial/transpose_naive_vs_cache_oblivious.toml
  next+=("$program transpose --config $study --results results/study.h5")
}

job_stencil() {
  local folder=results/stencil input=results/matmul/spectra.h5:/counts
  mkdir -p $folder
  tessera_say "stencil: 10 steps of diffusion smooth the map of counts (exposure x channel)," \
    "reflecting boundaries"
  if [ -e $folder/results.h5 ]; then mv $folder/results.h5 $folder/results.previous.h5; fi
  launch stencil --in $input --stencil heat --steps 10 --boundary reflect \
    --out $folder/smooth.h5:/counts --overwrite --results $folder/results.h5
  "$python" - $folder <<'PYTHON'
import sys
import h5py, numpy
folder = sys.argv[1]
with h5py.File("results/matmul/spectra.h5") as a, h5py.File(f"{folder}/smooth.h5") as b:
    u, got = a["counts"][:].astype("f8"), b["counts"][:]
for _ in range(10):
    p = numpy.pad(u, 1, "symmetric")
    u = 0.5 * u + 0.125 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
error = abs(got - u).max() / abs(u).max()
print(f"numpy: equal to within {error:.1e} of the largest count:",
      "right" if error < 1e-14 else "WRONG")
sys.exit(0 if error < 1e-14 else 76)
PYTHON
  tessera_say "compare kernels on many steps of a two-dimensional field"
  launch stencil --shape 2048x2048 --steps 32 --repetitions 3 \
    --kernel naive,tiled,column,streaming,cache_oblivious --results $folder/results.h5
  draw_report $folder
  files+=("$folder/smooth.h5" "the counts smoothed" "$folder/results.h5" "its timings")
  next+=("$program stencil --config configs/stencil/variants.toml --results results/stencil.h5")
}

job_sort() {
  local folder=results/sort
  mkdir -p $folder
  tessera_say "sort: a table of 1,000,000 detector events by channel, then by descending energy"
  "$python" - $folder <<'PYTHON'
import os, sys
import h5py, numpy
path = f"{sys.argv[1]}/events.h5"
if not os.path.exists(path):
    draw, n = numpy.random.default_rng(1), 1_000_000
    with h5py.File(path + ".part", "w") as f:
        f["events/time"] = numpy.cumsum(draw.exponential(1e-4, n))
        f["events/energy"] = draw.exponential(500, n).astype("f4")
        f["events/channel"] = draw.integers(0, 4096, n, dtype="i4")
    os.rename(path + ".part", path)
PYTHON
  if [ -e $folder/results.h5 ]; then mv $folder/results.h5 $folder/results.previous.h5; fi
  launch sort --in $folder/events.h5:/events --by channel,-energy \
    --out $folder/sorted.h5:/events --overwrite --results $folder/results.h5
  "$python" - $folder <<'PYTHON'
import sys
import h5py, numpy
folder = sys.argv[1]
with h5py.File(f"{folder}/events.h5") as a, h5py.File(f"{folder}/sorted.h5") as b:
    order = numpy.lexsort((-a["events/energy"][:], a["events/channel"][:]))
    right = all(numpy.array_equal(a["events"][c][:][order], b["events"][c][:]) for c in a["events"])
print("numpy.lexsort: equal rows:", "right" if right else "WRONG")
sys.exit(0 if right else 76)
PYTHON
  tessera_say "compare kernels"
  launch sort --n 4000000 --type u64 --repetitions 3 \
    --kernel std,quicksort,mergesort,samplesort,radix --results $folder/results.h5
  draw_report $folder
  files+=("$folder/events.h5" "input: a table of events"
    "$folder/sorted.h5" "the events in order" "$folder/results.h5" "its timings")
  study=configs/studies/tutorial/counting_sort.toml
  next+=("$program sort --config $study --results results/study.h5")
}

case ${1:-} in
  "") tessera_install ;;
  --no-install) ;; # modules or the user provide the packages
  *) tessera_fail "$1: unknown argument; usage: bash jobs/run.sh [--no-install]" ;;
esac
tessera_build tessera
python=$(tessera_python) ||
  tessera_fail "Python with h5py and NumPy not found: install them, or set TESSERA_PYTHON
$(tessera_show_names h5py NumPy)"
export TESSERA_PYTHON=$python
program=build/release/bin/tessera
choose_ranks
mkdir -p results
built=$SECONDS
tessera_say "built in $built s; $cores core(s): $ranks ranks x $threads thread(s)"

tessera_say "peak rates of this machine"
# Messages first; a waiting rank would disturb the probes of the node, which a single process takes.
tessera_launch 2 1 "$program" machine --seconds 0.1 >/dev/null
echo
echo "\$ $program machine --seconds 0.1"
"$program" machine --seconds 0.1

files=() next=("$program list" "$program matmul --help")
for workload in matmul transpose stencil sort; do
  echo
  "job_$workload"
done

echo
tessera_say "done in $((SECONDS - built)) s. Files:"
printf '  %-32s %s\n' "${files[@]}"
as_root=
if [ "$(tessera_launcher_kind)" = openmpi ]; then
  as_root=" (as root first: export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)"
fi
tessera_say "next steps$as_root:"
printf '  %s\n' "${next[@]}"
tessera_say "run the tests: bash jobs/test.sh"
