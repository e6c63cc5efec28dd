"""Private Slurm for tests, of one node or of several that differ: the daemons of Debian's packages
run by the invoking user, all state in one folder.

Installed programs are used; otherwise apt downloads the packages, which are unpacked into the
folder without privileges or changes to the machine. Ports are chosen at the start."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

MARK = "TESSERA_TEST_JOB"  # in the environment of every process of this cluster


class Unavailable(Exception):
    """Slurm cannot be found or started here; the message is a one-line reason."""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def memory_mib():
    with open("/proc/meminfo") as file:
        return int(re.search(r"MemTotal: *(\d+)", file.read())[1]) * 9 // 10 // 1024


class Packages:
    """Slurm's programs: the system's, or those of packages unpacked below a folder."""

    NAMES = ("slurm-wlm", "munge")
    PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmstepd", "sbatch", "srun", "scontrol",
                "squeue", "sinfo", "scancel")

    def __init__(self, folder):
        self.folder, self.unpacked = folder, False
        self.path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        if not all(shutil.which(name, path=self.path) for name in self.PROGRAMS):
            self.unpack()
        self.programs = {name: self.find(name) for name in self.PROGRAMS}

    def find(self, name):
        found = shutil.which(name, path=self.path) or shutil.which(name + "-wlm", path=self.path)
        if not found:
            raise Unavailable(f"no program {name} here")
        return found

    def libraries(self):
        return [folder for pattern in ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/slurm-wlm",
                                       "lib/*-linux-gnu")
                for folder in glob.glob(os.path.join(self.folder,
                                                     pattern))] if self.unpacked else []

    def plugins(self):
        return next((folder for folder in self.libraries() if folder.endswith("slurm-wlm")), None)

    def unpack(self):
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Unavailable("Slurm is not installed, and without apt its packages cannot be had")
        debs = os.path.join(self.folder, "debs")
        if not glob.glob(os.path.join(debs, "slurmctld_*.deb")):
            os.makedirs(debs, exist_ok=True)
            self.download(debs)
        for deb in glob.glob(os.path.join(debs, "*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, self.folder], check=True)
        self.unpacked = True
        self.path = ":".join(os.path.join(self.folder, part)
                             for part in ("usr/bin", "usr/sbin")) + ":" + self.path

    def download(self, debs):
        """Runs apt with the machine's package lists, else with private ones."""
        state = os.path.join(self.folder, "apt")
        for part in ("lists/partial", "archives/partial"):
            os.makedirs(os.path.join(state, part), exist_ok=True)
        own = [f"Dir::State::lists={state}/lists", f"Dir::Cache={state}",
               f"Dir::Cache::archives={state}/archives"]
        quick = ["Acquire::Retries=1", "Acquire::http::Timeout=20", "Acquire::https::Timeout=20"]
        user = ["APT::Sandbox::User=root"] if os.getuid() == 0 else []

        def apt(*words, options=()):
            command = ["apt-get", "-qq"]
            for option in (*quick, *user, *options):
                command += ["-o", option]
            done = subprocess.run(command + list(words), cwd=debs, capture_output=True, text=True,
                                  env={**os.environ, "LC_ALL": "C"}, timeout=120)
            if done.returncode != 0:
                last = (done.stderr.strip() or "no word of why").splitlines()[-1]
                raise Unavailable(f"Slurm is not installed, and apt-get {words[0]} failed ({last})")
            return done.stdout

        def fetch(options):
            plan = apt("install", "-s", "--no-install-recommends", *self.NAMES, options=options)
            apt("download", *re.findall(r"^Inst (\S+)", plan, re.M), options=options)

        try:
            fetch([f"Dir::Cache={state}", f"Dir::Cache::archives={state}/archives"])
        except (Unavailable, subprocess.TimeoutExpired):
            try:
                apt("update", options=own)
                fetch(own)
            except subprocess.TimeoutExpired:
                raise Unavailable(
                    "Slurm is not installed, and its packages do not arrive") from None


class PrivateSlurm:
    """One node that is this machine, or fake ones: nodes, {name: (CPUs, MiB)}, a slurmd each."""

    def __init__(self, gpus=0, packages=None, nodes=None):
        # Short: the name of a socket has 107 characters at most.
        parent = tempfile.gettempdir() if len(tempfile.gettempdir()) < 50 else "/tmp"
        self.folder = tempfile.mkdtemp(prefix="tessera-slurm-", dir=parent)
        os.chmod(self.folder, 0o755)
        self.daemons, self.mark, self.host = [], uuid.uuid4().hex, socket.gethostname().split(
            ".")[0]
        self.nodes = nodes
        try:
            self.packages = Packages(packages or os.path.join(self.folder, "packages"))
            self.make_environment()
            self.start_munge()
            self.start_slurm(gpus)
        except BaseException:
            self.stop()
            self.remove()
            raise

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make_environment(self):
        """Sets the environment of daemons and clients: no variables of a surrounding job, temporary
        files in the folder."""
        foreign = re.compile("SLURM|SRUN|SBATCH|OMPI_|PMI|PRTE|OMP_|TESSERA_|HDF5_")
        self.environment = {k: v for k, v in os.environ.items() if not foreign.match(k)}
        for name in ("tmp", "home", "munge"):
            os.mkdir(self.path(name), 0o755)
        libraries = ":".join(self.packages.libraries()
                             + [os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")
        self.environment.update({MARK: self.mark, "PATH": self.packages.path,
                                 "SLURM_CONF": self.path("slurm.conf"),
                                 "TMPDIR": self.path("tmp"), "HOME": self.path("home"),
                                 "LC_ALL": "C",
                                 # Waiting ranks yield the core, which they may share here.
                                 "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive"})
        if libraries:
            self.environment["LD_LIBRARY_PATH"] = libraries

    def launch(self, name, *arguments):
        with open(self.path(name + ".out"), "ab") as log:
            process = subprocess.Popen([self.packages.programs[name], *arguments],
                                       env=self.environment, cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)
        self.daemons.append((name, process))
        return process

    def last_words(self, *names):
        words = []
        for name in names:
            for file in (self.path(name + ".log"), self.path(name + ".out")):
                if os.path.exists(file):
                    with open(file, errors="replace") as log:
                        words += [line.strip() for line in log
                                  if re.search("error|fatal", line, re.I)][-1:]
        return "; ".join(words) or "no word of why"

    def start_munge(self):
        with open(os.open(self.path("munge/key"), os.O_CREAT | os.O_WRONLY, 0o400), "wb") as key:
            key.write(os.urandom(128))
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log",
                 "seed-file": "seed"}
        munged = self.launch("munged", "--foreground", "--num-threads=2",
                             *(["--force"] if os.getuid() == 0 else []),
                             *(f"--{option}={self.path('munge', file)}"
                               for option, file in files.items()))
        end = time.monotonic() + 20
        while not os.path.exists(self.path("munge/socket")):
            if munged.poll() is not None or time.monotonic() > end:
                raise Unavailable(f"munged does not start here "
                                  f"({self.last_words('munged', 'munge/log')})")
            time.sleep(0.02)

    def start_slurm(self, gpus):
        for attempt in range(3):  # another process may take a chosen port before its use
            self.write_configuration(gpus)
            controller = self.launch("slurmctld", "-D", "-c", "-f", self.path("slurm.conf"))
            nodes = [self.launch("slurmd", "-D", "-f", self.path("slurm.conf"), "-d",
                                 self.packages.programs["slurmstepd"],
                                 *(["-N", name] if name else [])) for name in self.nodes or [""]]
            end = time.monotonic() + 60
            while all(daemon.poll() is None for daemon in (controller, *nodes)) \
                    and time.monotonic() < end:
                states = self.client("sinfo", "-h", "-N", "-o", "%T", check=False).stdout.split()
                if states == ["idle"] * len(nodes):
                    # Devices for the controller to allocate that nothing opens: in slurm.conf they
                    # would require files.
                    if gpus:
                        self.client("scontrol", "update", f"NodeName={self.host}",
                                    f"Gres=gpu:{gpus}")
                    return
                time.sleep(0.1)
            reason = self.last_words("slurmctld", "slurmd",
                                     *(f"slurmd-{name}" for name in self.nodes or [self.host]))
            self.stop(keep=("munged",))
        raise Unavailable(f"Slurm does not start here ({reason})")

    def write_configuration(self, gpus):
        user = subprocess.run(["id", "-un"], capture_output=True, text=True,
                              check=True).stdout.strip()
        cpus = len(os.sched_getaffinity(0))
        for name in ("state", "spool"):
            os.makedirs(self.path(name), exist_ok=True)
        # Purpose of each line, or the failure without it: all are necessary.
        lines = {
            "ClusterName": "private",
            "SlurmctldHost": f"{self.host}(127.0.0.1)",
            "SlurmUser": user,
            "SlurmdUser": user,
            "AuthType": "auth/munge",
            # a requeued job waits that long
            "AuthInfo": f"socket={self.path('munge/socket')},cred_expire=5",
            "CredType": "cred/munge",
            "SlurmctldPort": free_port(),
            "SlurmdPort": free_port(),
            "StateSaveLocation": self.path("state"),
            "SlurmdSpoolDir": self.path("spool", "%n"),
            "SlurmctldPidFile": self.path("slurmctld.pid"),
            "SlurmdPidFile": self.path("slurmd-%n.pid"),
            "SlurmctldLogFile": self.path("slurmctld.log"),
            "SlurmdLogFile": self.path("slurmd-%n.log"),
            # no control groups in containers, nor for users
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/affinity" if cpus > 1 else "task/none",
            "MpiDefault": "pmix",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "ReturnToService": 2,
            "SchedulerParameters": "batch_sched_delay=0,sched_interval=2",
            "KillWait": 5,
            "MinJobAge": 3600,  # seconds that Slurm remembers a job
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
        }
        if gpus:
            lines["GresTypes"] = "gpu"
        if self.packages.plugins():
            lines["PluginDir"] = self.packages.plugins()
        nodes = [f"NodeName={self.host} NodeAddr=127.0.0.1 CPUs={max(2, cpus)} "
                 f"RealMemory={memory_mib()}"]
        if self.nodes:
            nodes = [f"NodeName={name} NodeHostname={self.host} NodeAddr=127.0.0.1 "
                     f"Port={free_port()} CPUs={fake} RealMemory={memory}"
                     for name, (fake, memory) in self.nodes.items()]
            lines["TaskPlugin"] = "task/none"  # cannot bind to cores that the machine lacks
        if self.nodes or cpus < 2:
            lines["SlurmdParameters"] = "config_overrides"
        with open(self.path("slurm.conf"), "w") as file:
            file.writelines(f"{name}={value}\n" for name, value in lines.items())
            file.writelines(f"{node} State=UNKNOWN\n" for node in nodes)
            file.write("PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
        with open(self.path("cgroup.conf"), "w") as file:
            # unused, but without it slurmd searches for one and dies
            file.write("CgroupPlugin=cgroup/v1\n")

    # --- use ---

    def client(self, name, *words, check=True, folder=None, environment=None):
        done = subprocess.run([self.packages.programs[name], *(str(w) for w in words)],
                              cwd=folder or self.folder,
                              env={**self.environment, **(environment or {})}, capture_output=True,
                              text=True, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"{name} {' '.join(str(w) for w in words)}: "
                                 f"{done.stderr or done.stdout}")
        return done

    def submit(self, *words, **how):
        return self.client("sbatch", "--parsable", *words, **how).stdout.strip()

    def job(self, number):
        """Returns scontrol's fields of a job, or of the tasks of an array."""
        text = self.client("scontrol", "-o", "show", "job", number).stdout
        return [dict(re.findall(r"(\S+?)=(\S*)", line))
                for line in text.splitlines() if line.strip()]

    def wait(self, number, limit=600):
        """Waits until all tasks of a job have ended and returns them."""
        end = time.monotonic() + limit
        alone = None  # since when a launcher is all that is left
        while True:
            tasks = self.job(number)
            ended = not any(task["JobState"] in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING",
                                                 "REQUEUED") for task in tasks)
            # Ranks of a cancelled job outlive its launcher and its end according to Slurm.
            left = {pid: words for task in tasks
                    for pid, words in self.pids(f"SLURM_JOB_ID={task['JobId']}").items()}
            if ended and not left:
                return tasks
            if not ended or not all(words.startswith("mpirun ") for words in left.values()):
                alone = None
            elif alone is None:
                alone = time.monotonic()
            elif time.monotonic() > alone + 30:
                self.end_launchers(left)
            if time.monotonic() > end:
                raise AssertionError(f"job {number} has not ended after {limit} s: {tasks}")
            time.sleep(0.1)

    def end_launchers(self, left):
        """Kills launchers whose ranks have ended: Open MPI 4.1 leaves one now and then that was
        signalled while it ended."""
        print(f"a launcher that stayed without ranks: {left}", flush=True)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    # --- the end ---

    def pids(self, *more):
        """Returns all living processes of this cluster, or those that also have these variables:
        {pid: command line}."""
        marks, found = {word.encode() for word in (f"{MARK}={self.mark}", *more)}, {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/environ", "rb") as environ:
                    if not marks <= set(environ.read().split(b"\0")):
                        continue
                with open(f"/proc/{entry}/cmdline", "rb") as cmdline:
                    found[int(entry)] = cmdline.read().replace(
                        b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
        return found

    def stop(self, keep=()):
        """Ends the daemons by their ids, the last started first. Kills and returns the
        processes left: none are expected."""
        for name, process in reversed(self.daemons):
            if name in keep:
                continue
            for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
                try:
                    process.send_signal(number)
                    process.wait(seconds)
                    break
                except subprocess.TimeoutExpired:
                    continue
        self.daemons = [(name, process) for name, process in self.daemons if name in keep]
        end = time.monotonic() + 10
        while not keep and (left := self.pids()) and time.monotonic() < end:
            time.sleep(0.05)
        left = {} if keep else self.pids()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
