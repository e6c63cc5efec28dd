"""Checkpoints of tessera stencil: killed or stopped runs resume from them, on any ranks, with the
same result."""

import os
import random
import re
import select
import signal
import sys
import time

import tessera
from tessera import h5py, numpy


class Checkpoints(tessera.Case):
    SHAPE, STEPS = "900x700", 1500

    def words(self, *more):
        return ["stencil", "--stencil", "wave", "--boundary", "x=periodic,y-=mirror", "--shape",
                self.SHAPE, "--steps",
                self.STEPS, *more]

    def hash_of(self, result):
        self.assertEqual(result.code, 0, str(result))
        return re.search(r" ([0-9a-f]{16}) ", result.out).group(1)

    def kill_when(self, job, pause):
        """Kills all processes of a job at once, `pause` seconds after its first checkpoint; returns
        whether it was running."""
        anew = not os.path.exists(self.path("ck.h5"))
        while job.process.poll() is None and not os.path.exists(self.path("ck.h5")):
            time.sleep(0.01)
        begun = time.monotonic()
        while job.process.poll() is None and time.monotonic() < begun + pause:
            time.sleep(0.01)
        killed = job.process.poll() is None
        if anew and not killed:  # the machine is faster now
            self.lasted = min(self.lasted, time.monotonic() - begun)
        for pid in job.pids() if killed else {}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()
        self.assertEqual(job.wait_gone(10), {})
        return killed

    def test_killed_at_any_time_and_resumed_on_any_ranks_it_ends_the_same(self):
        rng = random.Random(tessera.SEED)
        first = self.run_tessera(*self.words("--out", "whole.h5:/u"), threads=2)
        whole, self.lasted = self.hash_of(first), first.seconds
        resume = self.words("--checkpoint", "ck.h5", "--checkpoint-every", self.STEPS // 20,
                            "--resume", "auto")
        wanted, kills, resumed = 50 if tessera.SLOW else 2, 0, 0
        for attempt in range(3 * wanted):  # some kills come too late
            killed = 0
            for _ in range(rng.choice((1, 1, 2, 3))):
                job = tessera.Job(resume, ranks=rng.choice((0, 2, 3, 5)),
                                  threads=rng.choice((1, 2)), folder=self.folder)
                killed += self.kill_when(job, 0 if attempt == 0 else rng.uniform(0, self.lasted))
            last = self.run_tessera(*resume, "--out", "u.h5:/u", "--overwrite",
                                    ranks=rng.choice((0, 2, 4)))
            self.assertEqual(self.hash_of(last), whole, str(last))
            self.assertIn("resumed: ck.h5", last.out)
            kills += killed
            resumed += killed > 0
            for name in ("ck.h5", "ck.h5.previous"):
                if os.path.exists(self.path(name)):
                    os.unlink(self.path(name))
            if resumed == wanted:
                break
        print(f"  {kills} kills in {resumed} runs, each resumed to its end and with the bits of "
              f"the uninterrupted one", flush=True)
        self.assertEqual(resumed, wanted)

    def test_signals_that_the_parent_had_blocked(self):
        """exec passes the mask on; some container runtimes and launchers block signals."""
        blocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); "
        for sent in (signal.SIGUSR1, signal.SIGTERM):
            job = tessera.Job(["-c", blocked + "os.execv(sys.argv[1], sys.argv[1:])",
                               tessera.PROGRAM, "stencil", "--shape", "64x64", "--steps", 10**9,
                               "--checkpoint", f"{sent}.h5", "--checkpoint-every", "0.2s"],
                              folder=self.folder, program=sys.executable)
            result = job.stop(lambda: os.path.exists(self.path(f"{sent}.h5")), sent)
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")

    def test_what_a_killed_job_said_is_in_its_log(self):
        words = ["stencil", "--shape", "64x64", "--checkpoint", "ck.h5"]
        self.succeed(*words, "--steps", 5, "--checkpoint-every", 5)
        for ranks in (0, 2):
            job = tessera.Job([*words, "--steps", 10**9, "--resume", "auto"], ranks=ranks,
                              folder=self.folder)
            ready, _, _ = select.select([job.process.stdout], [], [], 60)
            self.assertTrue(ready, "nothing in the log of a job under way")
            self.assertEqual(job.process.stdout.readline(), "resumed: ck.h5 after step 5\n")
            job.end()
            job.wait()

    def test_a_signal_leaves_a_checkpoint_and_exit_code_85(self):
        for sent, ranks in ((signal.SIGUSR1, 0), (signal.SIGTERM, 0), (signal.SIGUSR1, 3)):
            steps = 10**9
            job = tessera.Job(["stencil", "--shape", "64x64", "--steps", steps, "--checkpoint",
                               "ck.h5",
                               "--checkpoint-every", "0.2s"], ranks=ranks, folder=self.folder)
            result = job.stop(lambda: os.path.exists(self.path("ck.h5")), sent)
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")
            step = int(re.search(r"after step (\d+)", result.errors[0]).group(1))
            with h5py.File(self.path("ck.h5")) as file:
                self.assertEqual(file["_tessera"].attrs["checkpoint_step"], step)
            last = self.succeed("stencil", "--shape", "64x64", "--steps", step + 3, "--checkpoint",
                                "ck.h5", "--resume",
                                "auto", "--out", "u.h5:/u", "--overwrite")
            self.assertIn(f"resumed: ck.h5 after step {step}", last.out)
            os.unlink(self.path("ck.h5"))

    def test_a_damaged_checkpoint_gives_way_to_the_one_before(self):
        words = ["stencil", "--shape", "50x60", "--steps", 40, "--checkpoint", "ck.h5",
                 "--checkpoint-every", "10"]
        whole = self.hash_of(self.succeed(*words, ranks=2))
        with h5py.File(self.path("ck.h5"), "r+") as file:
            self.assertEqual(file["_tessera"].attrs["checkpoint_step"], 40)
            file["u"][13, 17] += 1e-9
        result = self.run_tessera(*words, "--resume", "auto", ranks=3)
        self.assertEqual(self.hash_of(result), whole)
        self.assertIn("resumed: ck.h5.previous after step 30", result.out)
        self.assertIn("checkpoint not used: 'ck.h5' does not match its checksum", result.err)
        self.assertNotIn("error", result.err)  # the exit is successful
        # the damaged one did not replace the good one
        for name, step in ("ck.h5", 40), ("ck.h5.previous", 30):
            with h5py.File(self.path(name)) as file:
                self.assertEqual(file["_tessera"].attrs["checkpoint_step"], step)

    def test_nothing_to_resume_is_a_start_and_a_named_checkpoint_must_be_there(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5]
        whole = self.hash_of(self.succeed(*words))
        self.assertEqual(self.hash_of(self.succeed(*words, "--checkpoint", "no.h5", "--resume",
                                                   "auto", ranks=2)), whole)
        self.fail_with(tessera.MISSING, *words, "--resume", "missing.h5", words="missing.h5",
                       ranks=2)

    def test_a_run_from_another_field_does_not_go_on_from_it_unasked(self):
        rng = numpy.random.default_rng(tessera.SEED)
        names = [tessera.write_matrix(self.path(f"{name}.h5"), rng.random((20, 20)), name="u")
                 for name in "abp"]
        copy = tessera.write_matrix(self.path("copy.h5"),
                                    tessera.read_matrix(self.path("a.h5"), "u"), "chunked", "u")
        words = ["stencil", "--stencil", "wave", "--steps", 8, "--checkpoint", "ck.h5",
                 "--checkpoint-every", 3, "--resume", "auto"]
        whole = self.hash_of(self.succeed(*words, "--in", names[0], ranks=2))
        for more in (("--in", names[1]), ("--in", names[0], "--past", names[2]),
                     ("--shape", "20x20")):
            self.fail_with(tessera.USAGE, *words, *more, ranks=3,
                           words=("another initial field", "--resume ck.h5"))
        self.assertEqual(self.hash_of(self.succeed(*words, "--in", copy, ranks=3)), whole)
        self.assertEqual(self.hash_of(self.succeed(*words[:5], "--in", names[1], "--resume",
                                                   "ck.h5")), whole)

    def test_refusals(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5, "--checkpoint", "ck.h5"]
        self.succeed(*words, "--checkpoint-every", "2")
        for more, message in [
                (("--resume", "auto", "--stencil", "laplace"), "another problem"),
                (("--resume", "auto", "--boundary", "mirror"), "another problem"),
                (("--resume", "auto", "--type", "f32"), "another problem"),
                (("--resume", "auto", "--steps", "1"), "beyond --steps"),
                (("--checkpoint-every", "often"), "neither seconds"),
                (("--repetitions", "3"), "single run"),
                (("--out", "ck.h5:/u"), "same file"),
                (("--out", "ck.h5.previous:/u"), "same file"),
                (("--results", "./ck.h5.previous"), "same file"),
                (("--every", "3"), "--snapshots"),
                (("--kernel", "naive,tiled"), "single run")]:
            with self.subTest(words=more):
                self.fail_with(tessera.USAGE, *words, *more, words=message, ranks=2)
        self.fail_with(tessera.USAGE, "stencil", "--resume", "auto", words="--checkpoint")
        for name in ("ck.h5", "ck.h5.previous"):
            self.fail_with(tessera.USAGE, "stencil", "--in", f"{name}:/u", "--checkpoint", "ck.h5",
                           words="same file")
        self.fail_with(tessera.CANNOT_CREATE, *words[:5], "--checkpoint", "no/folder/ck.h5",
                       words="no/folder", ranks=2)

    def test_a_file_that_is_no_checkpoint_is_not_replaced_by_one(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5, "--checkpoint-every", 2,
                 "--checkpoint"]
        tessera.write_matrix(self.path("data.h5"), numpy.arange(6.0).reshape(2, 3))
        self.succeed("stencil", "--shape", "9", "--steps", 1, "--out", "field.h5:/u", "--results",
                     "results.h5")
        with open(self.path("notes.txt"), "w") as file:
            file.write("of the user's own")
        for name in ("data.h5", "field.h5", "results.h5", "notes.txt"):
            before = tessera.digest(self.path(name))
            self.fail_with(tessera.CANNOT_CREATE, *words, name, ranks=2,
                           words="is not a checkpoint")
            if name != "notes.txt":  # which may be the remains of one
                result = self.run_tessera(*words, name, "--resume", "auto")
                self.assertEqual(result.code, tessera.CANNOT_CREATE, str(result))
            self.assertEqual(tessera.digest(self.path(name)), before)
            # if the second one would replace the first
            os.rename(self.path(name), self.path("n.h5.previous"))
            self.fail_with(tessera.CANNOT_CREATE, *words, "n.h5", ranks=2,
                           words="is not a checkpoint")
            self.assertEqual(tessera.digest(self.path("n.h5.previous")), before)
            self.assertFalse(os.path.exists(self.path("n.h5")))
        self.fail_with(tessera.USAGE, *words, "c.h5", "--results", "c.h5", words="same file",
                       ranks=2)
        open(self.path("empty.h5"), "w").close()
        for _ in range(2):
            self.succeed(*words, "empty.h5")
        with open(self.path("empty.h5"), "r+") as file:
            file.truncate(100)
        self.assertEqual(self.run_tessera(*words, "empty.h5", "--resume", "auto").code, 0)

    def test_snapshots_of_a_run_that_was_stopped_go_on(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["u"] = file["v"] = numpy.random.default_rng(1).random((40, 50))
        for ranks, fields, files in ((0, "/u", "s.h5:/u"), (2, "/u,/v", "p.h5:/u,q.h5:/v")):
            for steps in (10**6, 10**7, 10**8):  # more where it ends before the signal comes
                run = ["stencil", "--in", f"in.h5:{fields}", "--steps", steps, "--every",
                       steps // 10, "--snapshots", files, "--checkpoint", f"{ranks}.h5"]
                job = tessera.Job([*run, "--checkpoint-every", 10**5 // 2, "--kernel", "naive",
                                   "--halo-steps", 1], ranks=ranks, folder=self.folder)
                result = job.stop(lambda: os.path.exists(self.path(f"{ranks}.h5")))
                if result.code != 0:
                    break
                for name in (f"{ranks}.h5", f"{ranks}.h5.previous", *files.split(",")):
                    os.unlink(self.path(name.split(":/")[0]))
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")
            self.assertIn("frames exist", self.succeed(*run, "--resume", "auto").out)
            self.succeed("stencil", "--in", "in.h5:/u", "--steps", steps, "--every", steps // 10,
                         "--snapshots", "whole.h5:/u", "--overwrite")
            for name in files.split(","):
                self.succeed("verify", name.split(":/")[0])
                with h5py.File(self.path(name.split(":/")[0])) as found, h5py.File(
                        self.path("whole.h5")) as whole:
                    self.assertEqual(found["time"][:].tolist(), whole["time"][:].tolist())
                    self.assertTrue((found[name.split(":/")[1]][:] == whole["u"][:]).all())
        self.assertFalse([name for name in os.listdir(self.folder) if "stopped" in name
                          or "partial" in name])

    def test_probes_and_norms_of_a_resumed_run_begin_with_the_first_step(self):
        words = ["stencil", "--shape", "20x30", "--probe", "1,2;29,19", "--norms"]
        whole = ["--checkpoint", "ck.h5", "--checkpoint-every", 20, "--resume", "auto"]
        self.succeed(*words, "--steps", 25, *whole, "--results", "first.h5", ranks=2)
        for name, more, first in (("whole", [], 0), ("resumed", whole, 0),
                                  ("others", [*whole, "--probe-every", 7], 42)):
            self.succeed(*words, "--steps", 50, *more, "--results", f"{name}.h5", ranks=3)
            with h5py.File(self.path(f"{name}.h5")) as file:
                series = file["stencil_0001/series"]
                rows = list(zip(series["step"][:], series["quantity"].asstr()[:],
                                series["value"][:]))
            self.assertEqual(rows[0][0], first)
            if name == "whole":
                expected = rows
            elif name == "resumed":
                self.assertEqual([row[:2] for row in rows], [row[:2] for row in expected])
                self.assertTrue(numpy.allclose([row[2] for row in rows],
                                               [row[2] for row in expected], rtol=1e-12, atol=0))
        self.succeed("verify", "ck.h5")

    def test_snapshots_of_a_resumed_run_begin_where_it_does(self):
        words = ["stencil", "--shape", "20x20", "--checkpoint", "ck.h5"]
        self.succeed(*words, "--steps", 15, "--checkpoint-every", 15)
        self.succeed(*words, "--steps", 30, "--resume", "auto", "--snapshots", "s.h5:/u", "--every",
                     10, ranks=2)
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["time"][:].tolist(), [15, 20, 30])
        self.succeed("verify", "s.h5")
        again = ("--steps", 40, "--checkpoint-every", 40, "--snapshots", "s.h5:/u", "--overwrite")
        self.succeed(*words, *again)  # contains what precedes the last checkpoint
        before = tessera.digest(self.path("s.h5"))
        self.fail_with(tessera.CANNOT_CREATE, *words, *again, "--resume", "auto", ranks=2,
                       words=("from step 0", "from step 40"))
        self.assertEqual(tessera.digest(self.path("s.h5")), before)
        self.succeed(*words, *again[:-1], "--overwrite", "--every", 10, "--resume", "auto",
                     "--snapshots", "t.h5:/u")


if __name__ == "__main__":
    tessera.main()
