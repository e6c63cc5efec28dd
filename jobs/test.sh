#!/usr/bin/env bash
# bash jobs/test.sh [--no-install] [--all] [CTEST ARGUMENT...]: sets up, builds, and runs the test
# suite; without --all, without tests that take long (label slow). The last line is `N passed, N
# failed`, followed by `, N skipped` if some were skipped.
set -euo pipefail

# Tests inherit no variables of a surrounding job, shell or cluster.
for name in $(compgen -e); do
  case $name in
    TESSERA_PYTHON | HDF5_ROOT | HDF5_DIR) ;; # where things are
    OMPI_* | PMI_* | PMIX_* | PRTE_* | SLURM_* | SRUN_* | OMP_* | GOMP_* | KMP_* | TESSERA_* | \
      HDF5_* | GTEST_* | CTEST_*)
      unset "$name" ;;
  esac
done
# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=jobs/env.sh
. "$tessera_root/jobs/env.sh"

installs=1
if [ "${1:-}" = --no-install ]; then
  shift
  installs=
fi
exclude='^slow$'
if [ "${1:-}" = --all ]; then
  shift
  exclude='^$'
  tessera_add_packages fuzzer # and the other compiler
fi
if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null; then exclude="$exclude|^cuda$"; fi # no GPU

# Readers for the tests of files; a library with a thread per core (apps_processors).
tessera_add_packages reader package
[ -z "$installs" ] || tessera_install
tessera_build all
TESSERA_PYTHON=$(tessera_python) && export TESSERA_PYTHON

summary=$tessera_build_dir/junit.xml
rm -f "$summary"
status=0
ctest --test-dir "$tessera_build_dir" --parallel "$(tessera_cores)" --output-on-failure \
  --no-tests=error --label-exclude "$exclude" --output-junit "$summary" "$@" || status=$?

# Prints the skipped cases of passing tests, by reason: GoogleTest and unittest print one each.
left_out() {
  awk '
    /^[0-9]+\/[0-9]+ Test: / { test = $3 }
    gtest { reasons[$0 ": " test]++; gtest = 0 }
    /: Skipped$/ { gtest = 1 }
    match($0, /\.\.\. skipped .*/) {
      reason = substr($0, RSTART + 13, RLENGTH - 14)
      reasons[reason ": " test]++
    }
    END { for (r in reasons) printf "  %s (%d)\n", r, reasons[r] }' "$1" | sort
}
log=$tessera_build_dir/Testing/Temporary/LastTest.log
if [ -e "$log" ] && [ -n "$(left_out "$log")" ]; then
  tessera_say "skipped cases (reason: test (cases)):"
  left_out "$log"
fi

# States of a case in CTest: run, fail, disabled, notrun; a skip is a notrun with a SKIP message.
count() { grep -c "$1" "$summary" 2>/dev/null || true; }
passed=$(count '<testcase .*status="run"')
skipped=$(count '<skipped message="SKIP_')
disabled=$(count '<testcase .*status="disabled"')
failed=$(($(count '<testcase ') - passed - skipped - disabled))
[ "$failed" -eq 0 ] || status=1
[ "$passed" -gt 0 ] || status=1
line="$passed passed, $failed failed"
[ $((skipped + disabled)) -eq 0 ] || line="$line, $((skipped + disabled)) skipped"
echo "$line"
exit "$status"
