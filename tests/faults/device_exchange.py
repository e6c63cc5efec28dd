"""A rank is killed or stopped while GPUs exchange data: the job ends soon, with one cause, and
frees all GPU memory."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import tessera

END_SECONDS = 10
STALL_LIMIT = 3
SPARE_MIB = 64  # that a driver may keep
WORKLOADS = {"transpose": ("--n", 3000), "matmul": ("--n", 3000),
             "stencil": ("--shape", "3000x3000", "--steps", 2000),
             "sort": ("--n", 3000000)}


def devices():
    if not shutil.which("nvidia-smi"):
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def computing():
    """Returns the processes with GPU memory: {pid: the driver's line}."""
    listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory,gpu_bus_id",
                             "--format=csv,noheader"],
                            capture_output=True, text=True)
    words = [line.split(",", 1) for line in listed.stdout.splitlines()]
    return {int(line[0]): line[1].strip() for line in words if line[0].strip().isdigit()}


def used_memory():
    """Returns the used memory of all GPUs, MiB."""
    listed = subprocess.run(["nvidia-smi", "--query-gpu=memory.used",
                             "--format=csv,noheader,nounits"], capture_output=True,
                            text=True)
    return sum(int(word) for word in listed.stdout.split() if word.isdigit())


def states(pids):
    """Returns the kernel's state of processes, {pid: "D (waiting in ...)"}, including zombies,
    without those that are gone."""
    found = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
            with open(f"/proc/{pid}/wchan") as wchan:
                found[pid] = f"{state} ({wchan.read() or '-'})"
        except OSError:
            continue
    return found


class Watch:
    """Records when the processes of a job end, relative to a signal, for the message of a failed
    test."""

    def __init__(self, job, ranks):
        self.job, self.ranks, self.at, self.ended, self.code = job, ranks, time.monotonic(
        ), {}, None

    def look(self):
        """Returns whether the launcher has ended."""
        now = time.monotonic() - self.at
        living = self.job.pids()
        for rank, pid in self.ranks.items():
            if pid not in living:
                self.ended.setdefault(f"rank {rank}", now)
        self.code = self.job.process.poll()
        if self.code is not None:
            self.ended.setdefault("mpirun", now)
        return self.code is not None

    def seconds(self, limit):
        """Waits until the launcher has ended; returns None if it has not within `limit` seconds."""
        while not self.look():
            if time.monotonic() - self.at > limit:
                return None
            time.sleep(0.02)
        return self.ended["mpirun"]

    def __str__(self):
        self.look()
        pids = {"mpirun": self.job.process.pid, **{f"rank {rank}": pid
                                                   for rank, pid in self.ranks.items()}}
        known = states(pids.values())
        lines = [f"  {name} (process {pid}): "
                 + (f"ended after {self.ended[name]:.2f} s" if name in self.ended else "lives")
                 + (f", state {known[pid]}" if pid in known else ", gone")
                 for name, pid in pids.items()]
        return "\n".join([
            f"mpirun's exit status: {self.code}", *lines,
            f"living processes of the job: {self.job.pids()}",
            f"processes on the GPUs: {computing()}, memory used: {used_memory()} MiB"
        ])


class DeviceExchange(tessera.Case):
    def setUp(self):
        super().setUp()
        self.devices = devices()
        if self.devices == 0:
            self.skipTest("no GPU is here")
        self.idle = used_memory()

    def ways(self):
        """Returns the transports available with each number of ranks: some are not with two ranks a
        GPU."""
        found = []
        for way in ("ipc", "nccl", "mpi", "staged"):
            for ranks in (2, 3):
                result = tessera.run("transpose", "--n", 64, "--device", "gpu", "--gpu-exchange",
                                     way, "--repetitions", 1,
                                     ranks=ranks, timeout=120)
                self.assertIn(result.code, (tessera.OK, tessera.USAGE), str(result))
                if result.code == tessera.OK:
                    found.append((way, ranks))
        self.assertTrue(found)
        return found

    def start(self, workload, way, ranks):
        """Returns a job in the middle of many exchanges, and {rank: pid}."""
        job = tessera.Job([workload, *WORKLOADS[workload], "--device", "gpu", "--gpu-exchange", way,
                           "--repetitions", 1000000,
                           "--stall-limit", STALL_LIMIT], ranks=ranks, folder=self.folder)
        self.addCleanup(job.end)
        end = time.monotonic() + 60
        while len(job.ranks()) < ranks and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(6 + random.random())  # devices and libraries start slowly
        pids = job.ranks()
        if len(pids) != ranks:
            self.fail(f"{workload} by {way} does not run with {ranks} ranks: {job.wait(timeout=5)}")
        return job, pids

    def interrupt(self, workload, way, ranks, victim, number):
        """Sends the signal to a rank in the middle of many exchanges; returns the seconds until all
        have ended, and the result."""
        job, pids = self.start(workload, way, ranks)
        named = computing().keys() & set(pids.values())
        os.kill(pids[victim], number)
        watch = Watch(job, pids)
        seconds = watch.seconds(limit=60)
        seen = str(watch)
        result = job.wait(timeout=5)
        told = f"{workload}, {way}, signal {number} to rank {victim} of {ranks}\n{seen}\n{result}"
        self.assertIsNotNone(seconds, f"it hangs\n{told}")
        self.assertGreater(watch.code, 0, f"the launcher itself was killed, or ended well\n{told}")
        left = job.wait_gone(max(0, END_SECONDS - seconds))
        self.assertEqual(left, {}, f"processes are left: {states(left)}\n{told}")
        # The driver frees their memory. In a container it may list processes under other ids: then
        # compares the total memory.
        held = (lambda: computing().keys() & named) if named else (
            lambda: max(0,
                        used_memory() - self.idle - SPARE_MIB))
        while held() and time.monotonic() - watch.at < END_SECONDS:
            time.sleep(0.1)
        self.assertFalse(held(),
                         f"memory of a GPU is left: {used_memory()} MiB, {computing()}\n{told}")
        return seconds, result, told

    def test_a_killed_rank_ends_all(self):
        for way, ranks in self.ways():
            for workload in WORKLOADS:
                victim = random.Random(tessera.SEED).randrange(ranks)
                with self.subTest(workload, way=way, ranks=ranks):
                    seconds, result, told = self.interrupt(workload, way, ranks, victim,
                                                           signal.SIGKILL)
                    self.assertLess(seconds, END_SECONDS, told)
                    self.assertLessEqual(len(result.errors), 1, told)
                    self.assertIn("signal 9", result.out + result.err, told)

    def test_a_stopped_rank_is_found(self):
        for way, ranks in self.ways():
            with self.subTest(way=way, ranks=ranks):
                seconds, result, told = self.interrupt("transpose", way, ranks, ranks - 1,
                                                       signal.SIGSTOP)
                self.assertLess(seconds, END_SECONDS, told)
                self.assertEqual(result.code, tessera.STALLED, told)
                for line in result.errors:
                    self.assertIn("no progress", line, told)


if __name__ == "__main__":
    tessera.main()
