# shellcheck shell=bash
# Sourced by run.sh and the scripts in slurm/: starts programs of Tessera.
#
#   tessera_launch RANKS THREADS COMMAND...    runs it and returns its exit code
#   tessera_exec   RANKS THREADS COMMAND...    replaces the shell by it, so that signals reach the
#                                              launcher (`tessera_exec ... & app=$!`)
#   tessera_job    RANKS THREADS COMMAND...    in a batch script: runs it, and requeues the job
#                                              if it stopped resumable
#   tessera_site                               in a batch script: loads the modules of the site file
#                                              and runs its prologue
#   tessera_sbatch [OPTION...] SCRIPT ARG...   submits with the options of the site file
#
# launch.sh, which it reads, says how ranks are started.

# The site file has lines KEY = "VALUE"; keys: tessera slurm --help Site.
tessera_site_file() {
  echo "${TESSERA_SITE:-${XDG_CONFIG_HOME:-${HOME:-}/.config}/tessera/site.toml}"
}
tessera_site_value() {
  local file s='[[:space:]]*'
  file=$(tessera_site_file)
  [ ! -r "$file" ] ||
    sed -n "s/^$s$1$s=$s\([\"']\)\(.*\)\1$s\(#.*\)*\$/\2/p" "$file"
}

tessera_site() {
  local modules prologue strict=$-
  modules=$(tessera_site_value modules) prologue=$(tessera_site_value prologue)
  set +eu # many module commands do not pass strict mode
  # shellcheck disable=SC2086 # names are separated by blanks
  [ -z "$modules" ] || module load $modules
  [ -z "$prologue" ] || . "$(cd "$(dirname "$(tessera_site_file)")" && realpath "$prologue")"
  case $strict in *e*) set -e ;; esac
  case $strict in *u*) set -u ;; esac
}

tessera_sbatch() {
  local key value options=() words=() arguments=("$@") i copy='' code=0
  for key in partition account qos constraint; do
    value=$(tessera_site_value "$key")
    [ -z "$value" ] || options+=("--$key=$value")
  done
  read -ra words <<<"$(tessera_site_value sbatch)"
  value=$(tessera_site_value gpu-option)
  for i in "${!arguments[@]}"; do
    [ -n "$value" ] && [ -f "${arguments[i]}" ] || continue
    # The site's form of the request replaces the script's in a copy: both at once may conflict.
    copy=$(mktemp)
    sed "s|^#SBATCH --gpus-per-node=\([0-9]*\)|#SBATCH ${value%N*}\1${value##*N}|" \
      "${arguments[i]}" >"$copy"
    arguments[i]=$copy
    break
  done
  sbatch "${options[@]}" "${words[@]}" "${arguments[@]}" || code=$?
  [ -z "$copy" ] || rm -f "$copy"
  return $code
}

# shellcheck source=jobs/launch.sh
. "$(dirname "${BASH_SOURCE[0]}")/launch.sh"

tessera_launch() { (tessera_exec "$@"); }

# The launch line of a batch script. Slurm sends USR1 to the batch shell before the time is up
# (--signal=B:USR1@120): the shell forwards it to the launcher, and that to every rank. A program
# that then stops resumable (exit code 85) is queued again, at most $TESSERA_REQUEUES times.
tessera_job() { # ranks threads command...
  local code=0
  tessera_signalled=
  trap 'tessera_signalled=1' USR1
  (
    trap '' USR1 # a signal before the launcher handles it must not end it
    tessera_exec "$@"
  ) &
  local app=$!
  while kill -0 $app 2>/dev/null; do
    wait $app || true
    # A signal ended the wait: forward it until the launcher handles it.
    if [ -n "$tessera_signalled" ] && kill -USR1 $app 2>/dev/null; then
      sleep 1 & wait $! || true
    fi
  done
  trap '' USR1 # a further signal must not end the last wait, which returns the exit code
  wait $app || code=$?
  # MPICH's launcher, once it has had a signal, may end with 0 whatever its ranks end with. A run
  # that had finished ends with 0 again when it is resumed.
  if [ $code = 0 ] && [ -n "$tessera_signalled" ] && [ "$(tessera_launcher_kind)" = mpich ]; then
    code=85
  fi
  if [ $code = 85 ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    if [ "${SLURM_RESTART_COUNT:-0}" -ge "${TESSERA_REQUEUES:-100}" ]; then
      tessera_note "requeued ${SLURM_RESTART_COUNT} times, the limit of TESSERA_REQUEUES;" \
        "to resume, submit it again"
    else # the note comes first: Slurm ends this shell once the job is requeued
      tessera_note "stopped in time, to be requeued (restart ${SLURM_RESTART_COUNT:-0})"
      if scontrol requeue "$SLURM_JOB_ID"; then exit 0; fi
    fi
  fi
  return $code
}

tessera_note() { echo "tessera: $*" >&2; }
