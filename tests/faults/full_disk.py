"""Full disks and file size limits: one line, and no file or the complete one."""

import os
import shutil
import subprocess
import unittest

from fault import RANKS, Fault
import tessera
from tessera import CANNOT_CREATE, IO, OK, h5py


class FullDisk(Fault):
    """A memory disk of a few MiB."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        self.disk = self.path("disk")
        os.mkdir(self.disk)
        self.mount(16 << 20)

    def mount(self, size):
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.disk],
                              capture_output=True)
        if made.returncode != 0:
            self.skipTest(f"cannot mount a small disk here: {made.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", self.disk], check=False)

    def fill(self, leave):
        """Fills the disk except for `leave` bytes."""
        state = os.statvfs(self.disk)
        with open(os.path.join(self.disk, "filler"), "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize - leave)

    def test_no_space_for_the_output(self):
        for ranks in (0, RANKS):
            result = self.fail_with(CANNOT_CREATE, "matmul", "--n", 2048, "--k", 8, "--out",
                                    f"{self.disk}/c.h5:/C",
                                    ranks=ranks, words=("c.h5", "No space left", "32 MiB"))
            self.assert_within(3, result.seconds)
            self.assertEqual(os.listdir(self.disk), [])

    def test_hardly_any_space(self):
        """The disk fills up at every step of the protocol: the output is complete or absent."""
        need, outcomes = 256 * 256 * 8, []
        for spare in range(-4096, 32 * 4096, 4096):
            self.fill(need + spare)
            result = self.run_tessera("matmul", "--n", 256, "--repetitions", 1, "--out",
                                      f"{self.disk}/c.h5:/C")
            told = f"{spare} bytes to spare\n{result}"
            outcomes.append(result.code)
            if result.code == OK:
                self.assert_verified(f"{self.disk}/c.h5", told)
                os.unlink(f"{self.disk}/c.h5")
            else:
                self.assertIn(result.code, (CANNOT_CREATE, IO), told)
                self.assertEqual(len(result.errors), 1, told)
                self.assertIn("c.h5", result.errors[0], told)
            self.assertEqual(os.listdir(self.disk), ["filler"], told)
            os.unlink(os.path.join(self.disk, "filler"))
        self.assertIn(OK, outcomes)
        self.assertNotEqual(outcomes[0], OK)

    def test_no_space_for_the_compressed_copy(self):
        """The elements have space, their chunks do not: the old output stays as it is."""
        words = ("transpose", "--n", 512, "--out", f"{self.disk}/c.h5:/C", "--compress", "gzip:1",
                 "--overwrite")
        self.succeed(*words)
        before, need, codes = tessera.digest(f"{self.disk}/c.h5"), 512 * 512 * 8, []
        for spare in (0, need // 8, need // 2, *range(need - 5 * 8192, need + 3 * 8192, 8192)):
            for ranks in (0, RANKS):
                self.fill(need + spare)
                result = self.run_tessera(*words, ranks=ranks)
                codes.append(result.code)
                told = f"{spare} bytes to spare\n{result}"
                if result.code == OK:
                    self.assert_verified(f"{self.disk}/c.h5", told)
                else:
                    self.assert_failed(result, CANNOT_CREATE, ("c.h5", "No space left"))
                    self.assertEqual(tessera.digest(f"{self.disk}/c.h5"), before, told)
                self.assertEqual(sorted(os.listdir(self.disk)), ["c.h5", "filler"], told)
                os.unlink(os.path.join(self.disk, "filler"))
                if result.code == OK:
                    before = tessera.digest(f"{self.disk}/c.h5")
        self.assertNotEqual(codes[0], OK)
        self.assertEqual(codes[-1], OK)

    def test_no_space_for_the_results(self):
        """The results of earlier runs are unchanged."""
        results = f"{self.disk}/r.h5"
        self.succeed("matmul", "--n", 8, "--results", results)
        before, size = tessera.digest(results), os.path.getsize(results)
        codes = []
        for leave in (0, 4096, size // 2, size, size + 8192, size + 65536, size + 131072, 8 << 20):
            self.fill(leave)
            result = self.run_tessera("matmul", "--n", 9, "--results", results)
            codes.append(result.code)
            told = f"{leave} bytes left\n{result}"
            if result.code == OK:
                with h5py.File(results) as file:
                    self.assertEqual(len(file), 2, told)
            else:
                self.assert_failed(result, CANNOT_CREATE, ("r.h5", "No space left"))
                self.assertEqual(tessera.digest(results), before, told)
            self.assertEqual(self.partials(self.disk), [], told)
            os.unlink(os.path.join(self.disk, "filler"))
            if result.code == OK:
                break
        self.assertNotEqual(codes[0], OK)
        self.assertEqual(codes[-1], OK)

    def test_no_space_for_a_script(self):
        """The same command succeeds once there is space."""
        words = ("slurm", "sort", "--n", 10, "--time", 5, "--script", f"{self.disk}/s.sbatch")
        self.fill(0)
        self.fail_with(CANNOT_CREATE, *words, words="s.sbatch")
        self.assertEqual(os.listdir(self.disk), ["filler"])
        os.unlink(os.path.join(self.disk, "filler"))
        self.succeed(*words)


class FileSizeLimit(Fault):
    @unittest.skipUnless(shutil.which("prlimit"), "needs prlimit")
    def test_larger_than_allowed(self):
        """ulimit -f: a one-line error instead of death by a signal."""
        self.fail_with(CANNOT_CREATE, f"--fsize={32 << 20}", tessera.PROGRAM, "matmul", "--n", 2300,
                       "--k", 8, "--out",
                       "c.h5:/C", program="prlimit", words="c.h5")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    tessera.main()
