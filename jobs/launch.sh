# shellcheck shell=bash
# The only file with options and variables of launchers: mpirun of Open MPI, MPICH and Intel MPI,
# srun. Sourced by env.sh, or run:
#
#   bash launch.sh RANKS THREADS COMMAND...   starts it; the shell is replaced by the launcher
#   bash launch.sh --words RANKS THREADS      prints the words in front of the command
#   bash launch.sh --shared                   prints NAME=VALUE with which a plain `mpirun -n RANKS`
#                                             of any MPI shares cores without binding, also as root
#   bash launch.sh --contained                the same in any container (tests)
#
#   tessera_exec RANKS THREADS COMMAND...     the first, as a function
#   tessera_cores                             prints the number of physical cores of this process
#
# Variables that are already set keep their values. TESSERA_LAUNCHER=srun starts by Slurm's launcher
# instead of mpirun; it may also name another mpirun. TESSERA_SHOW_COMMAND=1 prints the command.

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
      [ "${quota:--1}" = max ] || [ "${quota:--1}" -le 0 ] ||
        echo $(((quota + period - 1) / period))
      [ -n "$path" ] || break
      path=${path%/*}
    done
  done </proc/self/cgroup
}

# Prints the kind of the launcher: openmpi, mpich, intel or srun.
tessera_launcher_kind() {
  local launcher=${TESSERA_LAUNCHER:-mpirun}
  if [ "${launcher##*/}" = srun ]; then
    echo srun
    return
  fi
  case $("$launcher" --version 2>/dev/null) in
    *Intel*MPI*) echo intel ;;
    *HYDRA* | *MPICH*) echo mpich ;;
    *) echo openmpi ;;
  esac
}

# Prints the --mpi option for srun: PMIx for Open MPI, PMI-2 for the others, where Slurm has it.
tessera_srun_mpi() {
  local wanted=pmix listed
  [ -z "${SLURM_MPI_TYPE:-}" ] || return 0 # the site's or the user's choice
  case $(mpirun --version 2>/dev/null) in *Intel*MPI* | *HYDRA* | *MPICH*) wanted=pmi2 ;; esac
  listed=$(srun --mpi=list 2>&1) || listed=
  case $listed in "" | *"$wanted"*) echo "--mpi=$wanted" ;; esac
}

# Prints "crowded" if the threads of all ranks exceed the cores.
tessera_crowded() { # ranks threads
  [ $(($1 * $2)) -le $(($(tessera_cores) * ${SLURM_JOB_NUM_NODES:-1})) ] || echo crowded
}

# Sets tessera_words, the launcher with its options. By default Open MPI binds each of up to two
# ranks to one core, on which all threads would run, and refuses more ranks than slots.
tessera_choose_words() { # ranks threads crowded
  local kind hydra
  kind=$(tessera_launcher_kind)
  tessera_words=("${TESSERA_LAUNCHER:-mpirun}" -n "$1")
  if [ "$kind" = intel ]; then # its mpirun is a script, which passes no signal on to the ranks
    hydra=${tessera_words[0]/%mpirun/mpiexec.hydra}
    if command -v "$hydra" >/dev/null; then tessera_words[0]=$hydra; fi
  fi
  case $kind${3:+-$3} in
    srun*)
      # shellcheck disable=SC2207 # no word or one
      tessera_words+=($(tessera_srun_mpi) "--cpus-per-task=$2" --cpu-bind=cores) ;;
    openmpi) tessera_words+=(--map-by "slot:PE=$2" --bind-to core) ;;
    openmpi-crowded) tessera_words+=(--map-by slot:OVERSUBSCRIBE --bind-to none) ;;
    mpich) tessera_words+=(-bind-to "core:$2") ;;
    mpich-crowded) tessera_words+=(-bind-to none) ;;
    intel) tessera_words+=(-genv I_MPI_PIN_DOMAIN "$2:compact" -genv I_MPI_PIN_CELL core) ;;
    intel-crowded) tessera_words+=(-genv I_MPI_PIN 0) ;;
  esac
}

# Prints, as NAME=VALUE, what mpirun needs in any case: Open MPI refuses to run as root, and its
# shared memory (vader in 4, smsc in 5) reads the memory of peers, which containers forbid.
tessera_permitting() { # contained, if without looking
  if [ "$(id -u)" = 0 ]; then
    printf '%s\n' OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  if [ -n "${1:-}" ] || ! tessera_may_read_peers; then
    local vader=OMPI_MCA_btl_vader_single_copy_mechanism
    printf '%s\n' "$vader=${!vader:-none}" \
      "OMPI_MCA_smsc=${OMPI_MCA_smsc:-^cma}"
  fi
}

tessera_shared() { # Open MPI 4, Open MPI 5, Intel MPI; MPICH shares by default
  local mapping=PRTE_MCA_rmaps_default_mapping_policy
  tessera_permitting "${1:-}"
  printf '%s\n' OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_hwloc_base_binding_policy=none \
    "$mapping=${!mapping:-:oversubscribe}" \
    PRTE_MCA_hwloc_default_binding_policy=none I_MPI_PIN=0
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

tessera_exec() { # ranks threads command...
  local ranks=$1 threads=$2 crowded variables
  shift 2
  crowded=$(tessera_crowded "$ranks" "$threads")
  export OMP_NUM_THREADS=$threads
  export SRUN_CPUS_PER_TASK=$threads # srun of Slurm >= 22.05 does not inherit --cpus-per-task
  if [ -n "$crowded" ]; then # places would pin several ranks to the same cores
    unset OMP_PLACES
    export OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OMPI_MCA_mpi_yield_when_idle=1
  else
    export OMP_PLACES=${OMP_PLACES:-cores} OMP_PROC_BIND=${OMP_PROC_BIND:-close}
  fi
  mapfile -t variables < <(tessera_permitting)
  [ ${#variables[@]} = 0 ] || export "${variables[@]?}"
  # HDF5's file locks fail on most network file systems.
  case $(stat -f -c %T . 2>/dev/null) in
    lustre | nfs* | gpfs | beegfs | panfs | ceph | smb* | fuse*)
      export HDF5_USE_FILE_LOCKING=${HDF5_USE_FILE_LOCKING:-FALSE} ;;
  esac
  tessera_choose_words "$ranks" "$threads" "$crowded"
  # Hydra starts its proxies by srun. PMIx, often the default there, is of no use to them; where it
  # fails, mpirun waits forever.
  case ${SLURM_JOB_ID:+$(tessera_launcher_kind)} in
    mpich | intel) export SLURM_MPI_TYPE=${SLURM_MPI_TYPE:-none} ;;
  esac
  [ -z "${TESSERA_SHOW_COMMAND:-}" ] ||
    echo "\$ OMP_NUM_THREADS=$OMP_NUM_THREADS ${tessera_words[*]} $*"
  exec "${tessera_words[@]}" "$@"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  case ${1:-} in
    --words)
      tessera_choose_words "$2" "$3" "$(tessera_crowded "$2" "$3")"
      echo "${tessera_words[*]}" ;;
    --shared) tessera_shared ;;
    --contained) tessera_shared contained ;;
    *) tessera_exec "$@" ;;
  esac
fi
