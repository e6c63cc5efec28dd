# shellcheck shell=bash
# Sourced by run.sh and the scripts in slurm/: starts programs of Tessera.
#
#   tessera_launch RANKS THREADS COMMAND...    runs it and returns its exit code
#   tessera_exec   RANKS THREADS COMMAND...    replaces the shell by it (`tessera_exec ... & app=$!`: signals reach the launcher)
#   tessera_job    RANKS THREADS COMMAND...    in a batch script: runs it, and requeues the job if it stopped resumable
#   tessera_site                               in a batch script: loads the modules of the site file, runs its prologue
#   tessera_sbatch [OPTION...] SCRIPT ARG...   submits with the options of the site file
#   tessera_cores                              prints the number of physical cores that this process may use
#
# Variables that are already set keep their values. TESSERA_LAUNCHER=srun starts by Slurm's own launcher instead of mpirun;
# TESSERA_SHOW_COMMAND=1 prints the command.

# The site file has lines KEY = "VALUE"; keys: tessera slurm --help Site.
tessera_site_file() { echo "${TESSERA_SITE:-${XDG_CONFIG_HOME:-${HOME:-}/.config}/tessera/site.toml}"; }
tessera_site_value() {
  local file
  file=$(tessera_site_file)
  [ ! -r "$file" ] ||
    sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*\([\"']\)\(.*\)\1[[:space:]]*\(#.*\)*\$/\2/p" "$file"
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
    sed "s|^#SBATCH --gpus-per-node=\([0-9]*\)|#SBATCH ${value%N*}\1${value##*N}|" "${arguments[i]}" >"$copy"
    arguments[i]=$copy
    break
  done
  sbatch "${options[@]}" "${words[@]}" "${arguments[@]}" || code=$?
  [ -z "$copy" ] || rm -f "$copy"
  return $code
}

# Cores of the affinity mask, siblings of one core counted once, and no more than the control
# group's share of time.
tessera_cores() {
  local list first last cpu siblings cores
  list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null)
  cores=$(
    for range in ${list//,/ }; do
      first=${range%-*} last=${range#*-}
      for ((cpu = first; cpu <= last; ++cpu)); do
        siblings=/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list
        cat "$siblings" 2>/dev/null || echo "$cpu"
      done
    done | sort -u | wc -l
  )
  [ "$cores" -gt 0 ] || cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
  local share
  for share in $(tessera_quotas); do [ "$share" -ge "$cores" ] || cores=$share; done
  echo "$cores"
}

# Prints the processors, rounded up, that each limited control group of this process grants: its own
# group and the visible ancestors, of both versions.
tessera_quotas() {
  local controllers path folder quota period
  while IFS=: read -r _ controllers path; do
    case ,$controllers, in
      ,,) folder=/sys/fs/cgroup ;;
      *,cpu,*) folder=/sys/fs/cgroup/cpu ;;
      *) continue ;;
    esac
    while :; do
      path=${path%/} quota=-1 period=0
      read -r quota period 2>/dev/null <"$folder$path/cpu.max" ||
        { read -r quota <"$folder$path/cpu.cfs_quota_us" &&
          read -r period <"$folder$path/cpu.cfs_period_us"; } 2>/dev/null
      [ "${quota:--1}" = max ] || [ "${quota:--1}" -le 0 ] || echo $(((quota + period - 1) / period))
      [ -n "$path" ] || break
      path=${path%/*}
    done
  done </proc/self/cgroup
}

tessera_exec() {
  local ranks=$1 threads=$2
  shift 2
  local nodes=${SLURM_JOB_NUM_NODES:-1}
  local cores=$(($(tessera_cores) * nodes))

  export OMP_NUM_THREADS=$threads
  export OMP_PLACES=${OMP_PLACES:-cores} OMP_PROC_BIND=${OMP_PROC_BIND:-close}
  export SRUN_CPUS_PER_TASK=$threads # srun of Slurm >= 22.05 does not inherit sbatch's --cpus-per-task
  if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

  if ! tessera_may_read_peers; then
    export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
  fi
  # Open MPI's own MPI-IO module hangs on Lustre, and HDF5's file locks fail on most network file
  # systems.
  case $(stat -f -c %T . 2>/dev/null) in
    lustre | nfs* | gpfs | beegfs | panfs | ceph | smb* | fuse*)
      export OMPI_MCA_io=${OMPI_MCA_io:-romio321} HDF5_USE_FILE_LOCKING=${HDF5_USE_FILE_LOCKING:-FALSE} ;;
  esac

  if [ "${TESSERA_LAUNCHER:-mpirun}" = srun ]; then
    tessera_become srun --mpi=pmix --ntasks="$ranks" --cpus-per-task="$threads" --cpu-bind=cores "$@"
  fi
  # By default mpirun binds each of up to two ranks to one core, on which all its threads would run.
  local place=(--map-by "slot:PE=$threads" --bind-to core)
  if [ $((ranks * threads)) -gt "$cores" ]; then
    # More ranks than slots are an error unless requested, as is binding them; places would pin the
    # same cores twice.
    place=(--bind-to none)
    unset OMP_PLACES
    export OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OMPI_MCA_mpi_yield_when_idle=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  fi
  tessera_become mpirun -n "$ranks" "${place[@]}" "$@"
}

tessera_become() {
  [ -z "${TESSERA_SHOW_COMMAND:-}" ] || echo "\$ OMP_NUM_THREADS=$OMP_NUM_THREADS $*"
  exec "$@"
}

# Containers often forbid a process to read another's memory ("Read -1, expected N, errno = 1"):
# CAP_SYS_PTRACE (bit 19) is required, unless neither a seccomp filter nor Yama is active.
tessera_may_read_peers() {
  local effective seccomp yama=0
  effective=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
  seccomp=$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)
  [ ! -r /proc/sys/kernel/yama/ptrace_scope ] || read -r yama </proc/sys/kernel/yama/ptrace_scope
  (((0x${effective:-0} >> 19) & 1)) || [ "${seccomp:-0}$yama" = 00 ]
}

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
    if [ -n "$tessera_signalled" ] && kill -USR1 $app 2>/dev/null; then sleep 1 & wait $! || true; fi
  done
  trap '' USR1 # a further signal must not end the last wait, which returns the exit code
  wait $app || code=$?
  if [ $code = 85 ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    if [ "${SLURM_RESTART_COUNT:-0}" -ge "${TESSERA_REQUEUES:-100}" ]; then
      tessera_note "requeued ${SLURM_RESTART_COUNT} times, the limit of TESSERA_REQUEUES; to resume, submit it again"
    else # the note comes first: Slurm ends this shell once the job is requeued
      tessera_note "stopped in time, to be requeued (restart ${SLURM_RESTART_COUNT:-0})"
      if scontrol requeue "$SLURM_JOB_ID"; then exit 0; fi
    fi
  fi
  return $code
}

tessera_note() { echo "tessera: $*" >&2; }
