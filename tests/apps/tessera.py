"""Common parts of the tests from the outside: the program under mpirun, and inputs in every form
that tools write.

The program is $TESSERA_BIN, else the newest build/*/bin/tessera. TESSERA_DEVICE=gpu runs matmul and
transpose on the GPU where they have kernels for it. TESSERA_TEST_SEED repeats the random choices of
an earlier run (every script prints its seed); TESSERA_TEST_SLOW=1 runs the complete sets."""

import functools
import glob
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

SKIPPED = 77  # the exit code that CTest reports as skipped

try:
    import h5py
    import numpy
except ImportError as missing:
    print(f"skipped: {missing} ({sys.executable}); apt-get install python3-h5py")
    sys.exit(SKIPPED)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SLOW = os.environ.get("TESSERA_TEST_SLOW", "") not in ("", "0")
SEED = int(os.environ.get("TESSERA_TEST_SEED") or random.SystemRandom().randrange(10**6))
DEVICE = os.environ.get("TESSERA_DEVICE", "")
SANITIZED = "ASAN_OPTIONS" in os.environ  # the program then uses a multiple of its memory
SHARED_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
JOB_MARK = "TESSERA_TEST_JOB"  # marks the processes of one job in their environment

# Documented exit codes.
OK, USAGE, BAD_DATA, MISSING, INTERNAL, MEMORY = 0, 64, 65, 66, 70, 71
CANNOT_CREATE, IO, STALLED, VERIFICATION, STOPPED = 73, 74, 75, 76, 85

MPIRUN = os.environ.get("TESSERA_LAUNCHER", "mpirun")  # of the MPI that the program is built with
# Any mpirun, as root, on few cores, in a container without ptrace (as in tests/TesseraTest.cmake).
MPI_ENVIRONMENT = dict(line.split("=", 1) for line in subprocess.run(
    ["bash", os.path.join(ROOT, "jobs", "launch.sh"), "--contained"], check=True, text=True,
    stdout=subprocess.PIPE).stdout.splitlines())
# else the mpirun of Open MPI 4, or of 5, waits a second before it ends a failed job
MPI_ENVIRONMENT.update(OMPI_MCA_odls_base_sigkill_timeout="0",
                       PRTE_MCA_odls_base_sigkill_timeout="0")
# Variables of the folder for the launcher's files in Open MPI 4 and 5.
LAUNCHER_FOLDERS = ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")


def find_program():
    named = os.environ.get("TESSERA_BIN")
    built = sorted(glob.glob(os.path.join(ROOT, "build", "*", "bin", "tessera")),
                   key=os.path.getmtime)
    program = named or (built[-1] if built else "")
    if not os.access(program, os.X_OK):
        sys.exit(f"no program '{program}'; build it, or set TESSERA_BIN")
    return os.path.abspath(program)


PROGRAM = find_program()


# --- running


# seconds for a job without a promised time: ends hanging jobs, but not those waiting for a core
PATIENCE = 300
LOOK_SECONDS = 5  # between checks whether a launcher still has ranks


def told_code(words):
    """Returns the exit code in mpirun's message. If a rank dies while it connects, mpirun prints it
    and then may hang on a private lock (Open MPI 4.1.4 with PMIx 4.2.2, in
    PMIx_server_finalize)."""
    code, number = (re.search(pattern, words) for pattern in (r"Exit code: +(\d+)",
                                                              r"exited on signal (\d+)"))
    return int(code[1]) if code else 128 + int(number[1]) if number else None


def rank_of(pid):
    """Returns the rank of a process under mpirun; None for other processes and ended ones."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            for word in environ.read().split(b"\0"):
                if word.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")):
                    return int(word.split(b"=")[1])
    except OSError:
        pass
    return None


class Job:
    """A started program: alone (ranks=0) or under mpirun. Its processes carry a mark in their
    environment."""

    def __init__(self, arguments, ranks=0, threads=1, environment=None, folder=None, program=None):
        self.session, self.launched = None, ranks > 0
        self.signals = 20 if ranks > 0 and mpi_family() == "Open MPI" else 1  # see stop()
        self.mark = f"{JOB_MARK}={uuid.uuid4().hex}"
        command = [program or PROGRAM] + [str(a) for a in arguments]
        if ranks > 0:
            command = [MPIRUN, "-n", str(ranks)] + command
        # A user's TESSERA_... would change the tested behaviour, and measured ceilings the output.
        env = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")}
        env.update(MPI_ENVIRONMENT)
        # Concurrent jobs would remove each other's session folder.
        self.session = tempfile.mkdtemp(prefix="tessera-job-", dir=SHARED_MEMORY)
        os.chmod(self.session, 0o777)  # some jobs run as another user
        env.update(dict.fromkeys(LAUNCHER_FOLDERS, self.session))
        env.update(OMPI_MCA_btl_vader_backing_directory=self.session)  # btl_sm in 5, a synonym
        env.update(COLUMNS="1000", OMP_NUM_THREADS=str(threads),
                   TESSERA_MACHINE_FILE=os.path.join(self.session, "tessera.toml"),
                   TESSERA_POWERCAP=self.session,  # no energy counters of this machine
                   XDG_CONFIG_HOME=self.session)  # no site file of the user
        # Plans count buffers only, so that small inputs go out of core; tests of memory count the
        # program.
        env.update(TESSERA_PROGRAM_MEMORY="0")
        if DEVICE:
            env.update(TESSERA_DEVICE=DEVICE)
        env.update(environment or {})
        env = {name: value for name, value in env.items() if value is not None}  # None: unset
        name, value = self.mark.split("=")
        env[name] = value
        self.command = command
        self.started = time.monotonic()
        # mpirun resets its handler of SIGPIPE before it is done with the pipes of dead ranks, and
        # may die of the signal; inherited as ignored, as in Python, it stays ignored. Ranks get the
        # default from mpirun. SIGUSR1 likewise, as in jobs/env.sh.
        ignoring = ["sh", "-c", "trap '' USR1; exec \"$@\"", "sh"] if self.launched else []
        self.process = subprocess.Popen(ignoring + command, cwd=folder, env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, restore_signals=not self.launched,
                                        text=True, errors="replace")

    def pids(self):
        """Returns every living process of the job (zombies have no environment): {pid: command
        line}."""
        mark, found = self.mark.encode(), {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as environ:
                    if mark not in environ.read().split(b"\0"):
                        continue
                with open(f"/proc/{entry}/cmdline", "rb") as cmdline:
                    found[int(entry)] = cmdline.read().replace(
                        b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue  # ended in between, or not readable
        return found

    def ranks(self):
        """Returns {rank: pid} of the living ranks."""
        found = {}
        for pid in self.pids():
            rank = rank_of(pid)
            if rank is not None:
                found[rank] = pid
        return found

    def written(self):
        """Returns the bytes written so far by the processes."""
        total = 0
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/io") as counts:
                    total += int(re.search(r"wchar: (\d+)", counts.read())[1])
            except OSError:
                continue  # it has just ended
        return total

    def wait(self, timeout=PATIENCE):
        """Waits for the result. A job that exceeds the timeout is killed and reported with code
        None, a launcher without ranks with the code that it printed."""
        end, deserted = time.monotonic() + timeout, 0
        while True:
            try:
                out, err = self.process.communicate(timeout=max(0,
                                                                min(LOOK_SECONDS, end
                                                                    - time.monotonic())))
                code, deserted = self.process.returncode, 0
                break
            except subprocess.TimeoutExpired:
                deserted = deserted + 1 if self.launched and not self.ranks() else 0
                if deserted < 3 and time.monotonic() < end:
                    continue
                self.end()
                out, err = self.process.communicate()
                code = told_code(err) if deserted else None
                break
        seconds = time.monotonic() - self.started
        self.clean()
        return Result(self.command, code, out, err, seconds, deserted > 0)

    def stop(self, ready, number=signal.SIGUSR1):
        """Sends the signal once `ready` and returns the result. Repeats it for Open MPI's mpirun,
        which may lose one, but not for a program alone, which a second SIGTERM ends. Ranks of other
        launchers get it themselves: MPICH's mpiexec, once it has had a signal, may end with 0
        whatever its ranks end with."""
        while not ready() and self.process.poll() is None:
            time.sleep(0.01)
        for _ in range(self.signals):
            if self.launched and self.signals == 1:
                for pid in self.pids():
                    if rank_of(pid) is not None:
                        os.kill(pid, number)
            else:
                self.process.send_signal(number)
            try:
                self.process.wait(1)
                break
            except subprocess.TimeoutExpired:
                continue
        return self.wait()

    def clean(self):
        """Removes the launcher's files of the job, also after a kill."""
        if self.session:
            shutil.rmtree(self.session, ignore_errors=True)

    def end(self):
        """Kills the remaining processes of the job by id."""
        self.process.kill()
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_gone(self, seconds):
        """Waits until no process of the job is left; returns those left after `seconds` seconds."""
        end = time.monotonic() + seconds
        while (left := self.pids()) and time.monotonic() < end:
            time.sleep(0.05)
        self.clean()
        return left


class Result:
    def __init__(self, command, code, out, err, seconds, deserted=False):
        self.command, self.code, self.out, self.err, self.seconds = command, code, out, err, seconds
        self.deserted = deserted  # the launcher waited without ranks, and was killed

    @property
    def errors(self):
        """Returns Tessera's error lines; mpirun adds a paragraph."""
        return [line for line in (self.out + self.err).splitlines() if "tessera: error:" in line]

    def __str__(self):
        return (f"{' '.join(self.command)}\nexit code {self.code} after {self.seconds:.2f} s\n"
                f"--- stdout\n{self.out}--- stderr\n{self.err}---")


def kernels(workload):
    """Returns the kernels of a workload on the tested device: the CPU, or the GPU with
    TESSERA_DEVICE=gpu."""
    wanted, names, inside = "device" if DEVICE == "gpu" else "host", [], False
    for line in run("list").out.splitlines():
        words = line.split()
        inside = (inside or words[1:2] == ["kernel"]) and bool(words)
        if inside and words[0] == workload and words[2] == wanted:
            names.append(words[1])
    return [name for name in names if name != "blas" or has_openblas()]


@functools.cache
def mpi_family():
    """Returns the family of the MPI library that the program uses: "Open MPI", "MPICH" or
    "Intel(R) MPI"."""
    return re.search(r"^MPI +(Open MPI|MPICH|Intel\(R\) MPI)", run("--version").out, re.M)[1]


@functools.cache
def has_libomp():
    """Returns whether the program's OpenMP is LLVM's."""
    return re.search(r"^compiler +Clang", run("--version").out, re.M | re.I) is not None


def has_openblas():
    """Returns whether the kernel blas finds its library."""
    return run("matmul", "--n", 2, "--kernel", "blas", "--plan").code == OK


def run(*arguments, timeout=PATIENCE, **how):
    return Job(arguments, **how).wait(timeout)


# --- files --------------------------------------------------------------------------------


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def snapshot(folder):
    """Returns everything below a folder: {path: attributes that a write would change}."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            regular = os.path.isfile(path) and not os.path.islink(path)
            found[os.path.relpath(
                path, folder)] = digest(path) if regular and os.access(path, os.R_OK) else "other"
    return found


# Storage of an operand: element types by name, and surrounding structures.
ELEMENTS = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "f32_big": ">f4", "f64_big": ">f8",
            "i16": "<i2",
            "i16_big": ">i2", "i32": "<i4", "i64": "<i8", "u8": "u1", "u16": "<u2",
            "u64_big": ">u8"}
STORAGES = ("contiguous", "chunked", "gzip", "shuffle_gzip", "fletcher", "extendible", "userblock",
            "deep_path")


def draw_values(rng, shape, element):
    """Returns random values that the element type represents exactly, as stored; numpy.Generator
    rng."""
    kind = numpy.dtype(ELEMENTS[element])
    if kind.kind == "f":
        return rng.uniform(-1, 1, shape).astype(kind)
    low, high = (0, 200) if kind.kind == "u" else (-100, 100)
    return rng.integers(low, high, shape).astype(kind)


def write_matrix(path, values, storage="contiguous", name="A"):
    """Writes values (with their own type) in one of STORAGES; returns "file:/dataset"."""
    values = numpy.asarray(values)
    options = {}
    if values.size > 0:
        chunks = tuple(max(1, min(extent, 7 + 13 * d)) for d, extent in enumerate(values.shape))
        options = {"chunked": {"chunks": chunks},
                   "gzip": {"chunks": chunks, "compression": "gzip", "compression_opts": 1},
                   "shuffle_gzip": {"chunks": True, "compression": "gzip", "shuffle": True},
                   "fletcher": {"chunks": chunks, "fletcher32": True},
                   "extendible": {"chunks": chunks, "maxshape": (None,) * values.ndim}}.get(storage,
                                                                                            {})
    dataset = f"/group/sub group/{name}" if storage == "deep_path" else f"/{name}"
    with h5py.File(path, "w", userblock_size=512 if storage == "userblock" else 0) as file:
        file.create_dataset(dataset, data=values, **options)
    return f"{path}:{dataset}"


def read_matrix(path, dataset="C"):
    with h5py.File(path, "r") as file:
        return file[dataset][()]


def traffic(path):
    """Returns {repetition: (bytes read, bytes written, seconds waited)} of all ranks of the last
    run."""
    names = ("bytes_read", "bytes_written", "waited")
    with h5py.File(path, "r") as file:
        run = file[sorted(file)[-1]]
        if "files" not in run:
            return {}
        table = {name: column[:] for name, column in run["files"].items()}
        assert [run["files"][name].attrs["units"] for name in names] == ["B", "B", "s"]
    return {int(r): tuple(table[name][table["repetition"] == r].sum() for name in names)
            for r in numpy.unique(table["repetition"])}


# --- test cases


class Case(unittest.TestCase):
    """A test with a separate folder, in which the program runs."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tessera-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_tessera(self, *arguments, **how):
        how.setdefault("folder", self.folder)
        return run(*arguments, **how)

    def succeed(self, *arguments, **how):
        result = self.run_tessera(*arguments, **how)
        self.assertEqual(result.code, OK, str(result))
        self.assertEqual(result.errors, [], str(result))
        return result

    def fail_with(self, code, *arguments, words=(), **how):
        """Expects that the program ends with the code and one line of Tessera's that contains all
        the words."""
        return self.assert_failed(self.run_tessera(*arguments, **how), code, words)

    def assert_failed(self, result, code, words=()):
        self.assertEqual(result.code, code, str(result))
        self.assertEqual(len(result.errors), 1, f"one line of ours is wanted\n{result}")
        for word in (words,) if isinstance(words, str) else words:
            self.assertIn(word, result.errors[0], str(result))
        return result

    def has_begun_to_write(self, job):
        """Returns a function that tells whether 1 MiB was written since the output exists: what
        MPI and ranks write before does not count."""
        before = []

        def ready():
            if any(".partial" in name for name in os.listdir(self.folder)):
                before.append(job.written())
            return bool(before) and before[-1] > before[0] + (1 << 20)

        return ready

    def assert_within(self, promised, seconds, told=""):
        """Expects that `seconds` is below the promise, stretched by slack() if exceeded."""
        if seconds >= promised:
            self.assertLess(seconds, slack(promised), told)

    def own_memory(self, *arguments):
        """Returns the peak of private memory of a run on one rank, bytes. Excludes pages of its
        program and libraries, of which the system keeps an arbitrary number, and the file cache."""
        job, most = Job(arguments, folder=self.folder), 0
        while job.process.poll() is None:
            try:
                with open(f"/proc/{job.process.pid}/status") as status:
                    own = [int(line.split()[1]) * 1024 for line in status
                           if line.startswith(("RssAnon", "RssShmem"))]
                    most = max(most, sum(own))
            except OSError:
                pass
            time.sleep(0.005)
        result = job.wait()
        self.assertEqual(result.code, OK, str(result))
        return most


def slack(seconds):
    """Returns the promised seconds, stretched by the machine's current slowness relative to idle.
    """
    alone = 0.6  # seconds of the run below on two idle cores
    return seconds * max(1.0, run("matmul", "--n", 8, "--repetitions", 1, ranks=3).seconds / alone)


def main(module="__main__"):
    """Runs the tests of a script (those named on the command line); exits with 77 if all of them
    were skipped."""
    print(f"seed {SEED} (TESSERA_TEST_SEED={SEED} repeats it), program {PROGRAM}", flush=True)
    program = unittest.main(module=module, exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    # A module that skips itself has run no test.
    sys.exit(SKIPPED if result.skipped and len(result.skipped) >= result.testsRun else 0)
