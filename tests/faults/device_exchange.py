"""A rank is killed or stopped while GPUs exchange data: everything ends soon, with one cause, and nothing is left on the GPUs."""

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
WORKLOADS = {"transpose": ("--n", 3000), "matmul": ("--n", 3000), "stencil": ("--shape", "3000x3000", "--steps", 2000)}


def devices():
    if not shutil.which("nvidia-smi"):
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def computing():
    """The processes that hold memory of a GPU."""
    listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True,
                            text=True)
    return {int(word) for word in listed.stdout.split() if word.isdigit()}


class DeviceExchange(tessera.Case):
    def setUp(self):
        super().setUp()
        self.devices = devices()
        if self.devices == 0:
            self.skipTest("no GPU is here")

    def ways(self):
        """Those that can be had with so many ranks: with two ranks a GPU some cannot."""
        found = []
        for way in ("ipc", "nccl", "mpi", "staged"):
            for ranks in (2, 3):
                result = tessera.run("transpose", "--n", 64, "--device", "gpu", "--gpu-exchange", way, "--repetitions", 1,
                                     ranks=ranks, timeout=120)
                self.assertIn(result.code, (tessera.OK, tessera.USAGE), str(result))
                if result.code == tessera.OK:
                    found.append((way, ranks))
        self.assertTrue(found)
        return found

    def interrupt(self, workload, way, ranks, victim, number):
        """Sends the signal to a rank in the middle of many exchanges; the seconds until all have ended, and the result."""
        job = tessera.Job([workload, *WORKLOADS[workload], "--device", "gpu", "--gpu-exchange", way, "--repetitions", 1000000,
                           "--stall-limit", STALL_LIMIT], ranks=ranks, folder=self.folder)
        self.addCleanup(job.end)
        end = time.monotonic() + 60
        while len(job.ranks()) < ranks and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(6 + random.random())  # devices and libraries take their time to start
        pids = job.ranks()
        self.assertEqual(len(pids), ranks, f"{workload} by {way} does not run: {job.wait(timeout=5)}")
        os.kill(pids[victim], number)
        at = time.monotonic()
        result = job.wait(timeout=60)
        seconds = time.monotonic() - at
        told = f"{workload}, {way}, signal {number} to rank {victim} of {ranks}\n{result}"
        self.assertNotIn(result.code, (tessera.OK, None), told)
        self.assertEqual(job.wait_gone(max(0, END_SECONDS - seconds)), {}, f"processes are left\n{told}")
        while computing() & set(pids.values()) and time.monotonic() - at < END_SECONDS:
            time.sleep(0.1)  # the driver clears up after them
        self.assertEqual(computing() & set(pids.values()), set(), f"memory of a GPU is left\n{told}")
        return seconds, result, told

    def test_a_killed_rank_ends_all(self):
        for way, ranks in self.ways():
            for workload in WORKLOADS:
                victim = random.Random(tessera.SEED).randrange(ranks)
                with self.subTest(workload, way=way, ranks=ranks):
                    seconds, result, told = self.interrupt(workload, way, ranks, victim, signal.SIGKILL)
                    self.assertLess(seconds, END_SECONDS, told)
                    self.assertLessEqual(len(result.errors), 1, told)
                    self.assertIn("signal 9", result.out + result.err, told)

    def test_a_stopped_rank_is_found(self):
        for way, ranks in self.ways():
            with self.subTest(way=way, ranks=ranks):
                seconds, result, told = self.interrupt("transpose", way, ranks, ranks - 1, signal.SIGSTOP)
                self.assertLess(seconds, END_SECONDS, told)
                self.assertEqual(result.code, tessera.STALLED, told)
                for line in result.errors:
                    self.assertIn("no progress", line, told)


if __name__ == "__main__":
    tessera.main()
