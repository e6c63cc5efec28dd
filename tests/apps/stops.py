"""Runs that a signal stops, and runs that resume them."""

import os
import re
import signal
import time

import tessera
from tessera import h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)


class Stops(tessera.Case):
    def points(self, file="r.h5"):
        with h5py.File(self.path(file)) as results:
            return [point.decode() for run in results.values()
                    for point in run["summary/point"][()]]

    def catches(self, pid, number):
        with open(f"/proc/{pid}/status") as status:
            return int(re.search(r"SigCgt:\s*(\w+)", status.read())[1], 16) >> (number - 1) & 1

    def test_a_sweep_stops_after_a_point_and_goes_on(self):
        for ranks, number in ((0, signal.SIGUSR1), (0, signal.SIGTERM), (2, signal.SIGUSR1)):
            with self.subTest(ranks=ranks, signal=number):
                file = f"r{ranks}{number}.h5"
                job = tessera.Job(["matmul", "--n", "8:80000:8", *QUICK, "--results", file,
                                   "--resume", "auto"],
                                  ranks=ranks, folder=self.folder)
                result = job.stop(lambda: os.path.exists(self.path(file)), number)
                self.assert_failed(result, tessera.STOPPED,
                                   words=(" of 10000 points", "--resume auto"))
                done = int(re.search(r"after (\d+) of", result.errors[0])[1])
                self.assertEqual(len(self.points(file)), done)
                self.assertIn(f"results: {file}", result.out)
                last = self.succeed("matmul", "--n", f"8:{8 * (done + 2)}:8", *QUICK, "--results",
                                    file, "--resume", "auto",
                                    ranks=ranks)
                self.assertIn(f"{done} point{'s' if done > 1 else ''} already in {file}: skipped",
                              last.out)
                points = self.points(file)
                self.assertEqual((len(points), len(set(points))), (done + 2, done + 2))

    def test_between_repetitions_too(self):
        """The next run measures the interrupted point completely."""
        job = tessera.Job(["sort", "--n", "1000,2000", "--repetitions", 10**6, "--results", "r.h5"],
                          folder=self.folder)
        result = job.stop(lambda: self.catches(job.process.pid, signal.SIGUSR1))
        self.assert_failed(result, tessera.STOPPED, words="after 0 of 2 points")
        self.assertFalse(os.path.exists(self.path("r.h5")))

    def test_without_anything_to_go_on_from_a_signal_ends_it(self):
        job = tessera.Job(["matmul", "--n", 256, "--repetitions", 10**6, "--out", "c.h5:/C"],
                          folder=self.folder)
        while not os.listdir(self.folder) and job.process.poll() is None:
            time.sleep(0.01)
        job.process.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait().code, -signal.SIGTERM)

    def test_an_out_of_core_transpose_goes_on_with_the_tiles_that_are_left(self):
        words = ["transpose", "--out-of-core", "always", "--memory", "64KiB", "--type", "f64",
                 "--out", "t.h5:/T", "--resume",
                 "auto"]
        stopped = ()
        for n in (3000, 6000, 12000):  # a fast machine may finish before the signal arrives
            for ranks in (0, 3):
                again = [*words, "--n", n, "--m", n // 2, "--overwrite"]
                job = tessera.Job(again, ranks=ranks, folder=self.folder)
                result = job.stop(self.has_begun_to_write(job))
                if result.code == tessera.OK:
                    os.remove(self.path("t.h5"))
                    continue
                self.assert_failed(result, tessera.STOPPED, words="after 0 of 1 points")
                self.assertEqual([name for name in os.listdir(self.folder) if "t.h5" in name],
                                 [".t.h5.stopped"])
                for next_ranks, more in ((2, ()), (0, ())):
                    last = self.succeed(*again, *more, ranks=next_ranks, timeout=300)
                    if next_ranks == 2:
                        done, total = map(int, re.search(r"resumed: (\d+) of (\d+) tiles exist",
                                                         last.out).groups())
                        self.assertGreater(done, 0)
                        self.assertLess(done, total)
                        stopped = (*stopped, (done, total))
                        found = tessera.read_matrix(self.path("t.h5"), "T")
                        self.succeed("verify", "t.h5")
                    else:
                        self.assertNotIn("resumed", last.out,
                                         "what was finished is not gone on with")
                numpy.testing.assert_array_equal(found, tessera.read_matrix(self.path("t.h5"), "T"))
                os.remove(self.path("t.h5"))
            if stopped:
                break
        self.assertTrue(stopped)
        print(f"  tiles there when stopped, of all: {stopped}", flush=True)

    def test_what_was_stopped_of_another_problem_is_begun_anew(self):
        words = ["transpose", "--out-of-core", "always", "--memory", "64KiB", "--n", 200, "--out",
                 "t.h5:/T", "--resume", "auto"]
        open(self.path(".t.h5.stopped"), "w").close()
        result = self.succeed(*words)
        self.assertNotIn("resumed", result.out)
        self.assertEqual(os.listdir(self.folder), ["t.h5"])

    def test_what_was_stopped_of_another_type_is_begun_anew(self):
        words = ["transpose", "--out-of-core", "always", "--memory", "64KiB", "--out", "t.h5:/T",
                 "--resume", "auto", "--overwrite"]
        for n in (3000, 6000, 12000):  # a fast machine may finish before the signal arrives
            job = tessera.Job([*words, "--n", n, "--m", n // 2, "--type", "f32"],
                              folder=self.folder)
            if job.stop(self.has_begun_to_write(job)).code == tessera.STOPPED:
                break
        self.assertTrue(os.path.exists(self.path(".t.h5.stopped")))
        self.assertNotIn("resumed", self.succeed(*words, "--n", n, "--m", n // 2, "--type",
                                                 "i32").out)
        self.assertEqual(tessera.read_matrix(self.path("t.h5"), "T").dtype, "i4")

    def test_what_was_stopped_of_another_part_is_begun_anew(self):
        words = ["transpose", "--out-of-core", "always", "--memory", "64KiB", "--out", "t.h5:/T",
                 "--resume", "auto", "--overwrite"]
        for n in (3000, 6000):  # a fast machine may finish before the signal arrives
            a = numpy.arange(2 * n * n // 2, dtype="f4").reshape(2, n // 2, n)
            name = tessera.write_matrix(self.path("a.h5"), a)
            job = tessera.Job([*words, "--in", f"{name}[0]"], folder=self.folder)
            if job.stop(self.has_begun_to_write(job)).code == tessera.STOPPED:
                break
        self.assertTrue(os.path.exists(self.path(".t.h5.stopped")))
        self.assertNotIn("resumed", self.succeed(*words, "--in", f"{name}[1]").out)
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), a[1].T)

    def test_part_deals_every_point_out_once(self):
        for part in (1, 2, 3):
            self.succeed("sort", "--n", "10,20,30,40", "--type", "u64,f64", *QUICK, "--part",
                         f"{part}/3", "--results", "r.h5")
            self.assertEqual(len(self.points()), (0, 3, 6, 8)[part])
        self.assertEqual(len(set(self.points())), 8)

    def test_part_deals_out_once_what_is_named_twice(self):
        for part in (1, 2):
            self.succeed("sort", "--n", "10,10,20", *QUICK, "--part", f"{part}/2", "--results",
                         f"{part}.h5")
            with h5py.File(self.path(f"{part}.h5")) as file:
                self.assertEqual([run["summary/n"][:].tolist() for run in file.values()],
                                 [[10], [20]][part - 1:part])

    def test_what_cannot_be_is_refused(self):
        for words, said in ((("--resume", "auto"), "--results"),
                            (("--resume", "ck.h5", "--results", "r.h5"), "--resume auto"),
                            (("--resume", "auto", "--again", "--results", "r.h5"), "--again"),
                            (("--part", "3/2"), "3/2"),
                            (("--part", "0/2"), "0/2"), (("--part", "x"), "2/8")):
            self.fail_with(tessera.USAGE, "sort", "--n", 10, *words, words=said)


if __name__ == "__main__":
    tessera.main()
