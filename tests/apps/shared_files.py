"""Files used concurrently by others: two runs at once, links, pipes and devices, programs that
write."""

import os
import signal
import stat
import time

import tessera
from tessera import BAD_DATA, CANNOT_CREATE, IO, OK, h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)
LONG = ("matmul", "--n", 400, "--kernel", "naive", "--repetitions", 3)


class TwoAtOnce(tessera.Case):
    def stopped(self, *words, until):
        """Starts a run and stops it once a file with that prefix exists; the test ends it."""
        job = tessera.Job(words, folder=self.folder)
        self.addCleanup(job.end)
        while not any(name.startswith(until) for name in os.listdir(self.folder)):
            self.assertIsNone(job.process.poll(), "it has ended")
            time.sleep(0.002)
        os.kill(job.process.pid, signal.SIGSTOP)
        return job

    def go_on(self, job):
        os.kill(job.process.pid, signal.SIGCONT)
        return job.wait()

    def test_each_has_a_run_of_its_own_in_the_results(self):
        """Both find the file without a run; their rows must not mix in one."""
        job = self.stopped(*LONG, "--out", "c.h5:/C", "--results", "r.h5", until=".c.h5.partial")
        self.assertFalse(os.path.exists(self.path("r.h5")))
        other = self.succeed("matmul", "--n", 8, *QUICK, "--results", "r.h5")
        result = self.go_on(job)
        self.assertEqual(result.code, OK, str(result))
        self.assertIn("(group matmul_0001)", other.out)
        self.assertIn("(group matmul_0002)", result.out)
        with h5py.File(self.path("r.h5")) as file:
            self.assertEqual([list(run["summary/n"][()]) for run in file.values()], [[8], [400]])
            for run, n in zip(file.values(), ("--n 8 ", "--n 400 ")):
                self.assertIn(n, run.attrs["command_line"])

    def test_an_output_that_came_meanwhile_stays(self):
        for more, code in (((), CANNOT_CREATE), (("--overwrite",), OK)):
            job = self.stopped(*LONG, "--out", "c.h5:/C", *more, until=".c.h5.partial")
            self.succeed("matmul", "--n", 8, *QUICK, "--out", "c.h5:/C")
            before = tessera.digest(self.path("c.h5"))
            result = self.go_on(job)
            if code == OK:
                self.assertEqual(result.code, OK, str(result))
            else:
                self.assert_failed(result, code, ("'c.h5'", "concurrently", "--overwrite"))
            self.assertEqual(tessera.digest(self.path("c.h5")) == before, code != OK)
            self.assertEqual(os.listdir(self.folder), ["c.h5"])
            os.unlink(self.path("c.h5"))

    def test_the_lock_of_results_is_for_all_who_may_write_them(self):
        self.addCleanup(os.umask, os.umask(0o002))
        self.succeed("matmul", "--n", 8, *QUICK, "--results", "r.h5")
        os.chmod(self.path("r.h5"), 0o640)
        self.succeed("matmul", "--n", 9, *QUICK, "--results", "r.h5")
        modes = [stat.S_IMODE(os.stat(self.path(name)).st_mode) for name in (".r.h5.lock", "r.h5")]
        self.assertEqual(modes, [0o664, 0o640])

    def test_a_file_that_somebody_writes_to_is_not_called_damaged(self):
        for more, code in ({"libver": "earliest"}, IO), ({"libver": "latest"}, BAD_DATA):
            with h5py.File(self.path("w.h5"), "w", **more) as file:
                file.create_dataset("A", data=numpy.ones((4, 4)), maxshape=(None, 4))
                if code == BAD_DATA:
                    file.swmr_mode = True
                file.flush()
                result = self.fail_with(code, "transpose", "--in", "w.h5:/A",
                                        environment={"HDF5_USE_FILE_LOCKING": "TRUE"},
                                        words=("'w.h5'", "open for writing in another program",
                                               "try again"))
                self.assertNotIn("write it again", result.err)
                self.assertLessEqual(result.err.count("Resource temporarily unavailable"), 1)


class Links(tessera.Case):
    """Output to a link goes to its target, existing or not, and the link remains."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("store"))

    def link(self, name):
        os.symlink(f"store/{name}", self.path(name))

    def assert_behind(self, *names):
        for name in names:
            self.assertTrue(os.path.islink(self.path(name)), name)
        self.assertEqual([name for name in os.listdir(self.folder) if name not in names], ["store"])

    def test_results(self):
        self.link("r.h5")
        for n in (8, 9):
            self.succeed("matmul", "--n", n, *QUICK, "--results", "r.h5")
        self.assertIn("skipped", self.succeed("matmul", "--n", 8, *QUICK, "--results",
                                              "store/r.h5").out)
        self.assert_behind("r.h5")
        with h5py.File(self.path("store/r.h5")) as file:
            self.assertEqual(list(file), ["matmul_0001", "matmul_0002"])
        os.symlink("no/where/r.h5", self.path("bad.h5"))
        self.succeed("locality", "sort", "--n", 9, "--results", "r.h5")
        self.assert_behind("r.h5", "bad.h5")

    def test_an_output_that_is_replaced(self):
        self.link("c.h5")
        for n in (8, 9):
            self.succeed("matmul", "--n", n, *QUICK, "--out", "c.h5:/C", "--overwrite")
        self.assert_behind("c.h5")
        self.assertEqual(os.listdir(self.path("store")), ["c.h5"])
        self.assertEqual(tessera.read_matrix(self.path("store/c.h5")).shape, (9, 9))

    def test_checkpoints(self):
        self.link("k.h5")
        steps = ("stencil", "--shape", "20x20", *QUICK, "--checkpoint", "k.h5",
                 "--checkpoint-every", 2, "--steps")
        self.succeed(*steps, 6)
        self.assert_behind("k.h5")
        self.assertEqual(sorted(os.listdir(self.path("store"))), ["k.h5", "k.h5.previous"])
        self.assertIn("k.h5 after step", self.succeed(*steps, 8, "--resume", "auto").out)


class SpecialFiles(tessera.Case):
    def test_pipes_and_devices_are_not_replaced(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("/dev/null", self.path("null"))
        for name in ("pipe", "null"):
            for words in (("matmul", "--n", 8, "--out", f"{name}:/C"),
                          ("sort", "--n", 8, "--out", f"{name}:/C")):
                for more in ((), ("--overwrite",)):
                    result = self.fail_with(CANNOT_CREATE, *words, *more,
                                            words=(f"'{name}'", "pipe or device"))
                    self.assertNotIn("--overwrite", result.err)
        self.fail_with(CANNOT_CREATE, "machine", "--seconds", 0.01,
                       environment={"TESSERA_MACHINE_FILE": self.path("null")},
                       words=("/null'", "pipe or device"))
        job = tessera.Job(("machine",),
                          environment={"TESSERA_MACHINE_FILE": "/dev/null/m.toml"}).wait()
        self.assert_failed(job, CANNOT_CREATE, "/dev/null/m.toml")
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("pipe")).st_mode))
        self.assertEqual(sorted(os.listdir(self.folder)), ["null", "pipe"])


if __name__ == "__main__":
    tessera.main()
