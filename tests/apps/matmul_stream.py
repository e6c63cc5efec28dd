"""tessera matmul out of core: products of matrices that exceed memory, against numpy and against
runs in memory."""

import os
import random
import re
import signal
import time
import unittest

import tessera
from tessera import h5py, numpy

TURN = {"N": lambda x: x, "T": lambda x: x.T, "H": lambda x: x.conj().T}


def draw(rng, shape, kind):
    values = rng.uniform(-1, 1, shape)
    return (values + 1j * rng.uniform(-1, 1, shape) if kind[0] == "c" else values).astype(kind)


class Streams(tessera.Case):
    def write(self, **operands):
        return [w for x, values in operands.items()
                for w in (f"--{x}", tessera.write_matrix(self.path(f"{x}.h5"), values,
                                                         name=x.upper()))]

    def test_against_numpy(self):
        """Types, transposed and chunked operands, factors, ranks and kernels, with a fraction of
        the memory."""
        rng, choose = numpy.random.default_rng(tessera.SEED), random.Random(tessera.SEED)
        for number in range(16):
            kind, op = choose.choice(["f4", "f8", "c8",
                                      "c16"]), choose.choice(["NN", "TN", "NT", "TT", "HN", "NH"])
            m, n, k = choose.choice([(520, 430, 610), (300, 900, 1100), (1000, 1, 700),
                                     (1, 800, 2100), (350, 360, 0), (0, 7, 5)])
            alpha, beta = choose.choice([1, -2.5]), choose.choice([0, 0, 1, 0.5])
            a, b, c = draw(rng, (m, k), kind), draw(rng, (k, n), kind), draw(rng, (m, n), kind)
            words = ["--trans-a", op[0], "--trans-b", op[1], "--alpha", alpha, "--beta", beta,
                     "--kernel", choose.choice(["auto", "auto", "tiled", "blas"]
                                               if "blas" in tessera.kernels("matmul")
                                               else ["auto"])]
            for x, values in {"a": TURN[op[0]](a), "b": TURN[op[1]](b),
                              **({"c": c} if beta else {})}.items():
                words += [f"--{x}", tessera.write_matrix(self.path(f"{x}.h5"), values,
                                                         choose.choice(tessera.STORAGES), x)]
            result = self.succeed("matmul", *words, "--out", "out.h5:/C", "--overwrite",
                                  "--out-of-core", "always", "--memory",
                                  choose.choice(["2500KiB", "4MiB", "100MiB"]) if kind != "c16"
                                  else "4MiB",
                                  ranks=choose.choice([0, 0, 2, 3]))
            self.assertIn("passed", result.out)
            self.assertIn("out_of_core", result.out)
            got, wide = tessera.read_matrix(self.path("out.h5")), "c16" if kind[0] == "c" else "f8"
            self.assertEqual(got.dtype, numpy.dtype(kind))
            want = alpha * (a.astype(wide) @ b.astype(wide)) + beta * c
            size = abs(alpha) * (abs(a).astype("f8") @ abs(b)) + abs(beta) * abs(c)
            unit = 2.0**-24 if kind in ("f4", "c8") else 2.0**-53
            self.assertLessEqual(numpy.max(abs(got - want) - 4 * (k + 3) * unit * size, initial=0),
                                 0, f"{words}\n{result}")

    def test_bits_are_those_in_memory(self):
        """On any number of ranks, with any memory; k has a tree of several leaves."""
        rng = numpy.random.default_rng(tessera.SEED)
        words = ["matmul", *self.write(a=draw(rng, (230, 5000), "f8"),
                                       b=draw(rng, (5000, 310), "f8")), "--overwrite",
                 "--out", "out.h5:/C"]
        self.succeed(*words)
        want = tessera.read_matrix(self.path("out.h5"))
        for memory, ranks in (("4MiB", 0), ("8MiB", 0), ("4MiB", 3)):
            result = self.succeed(*words, "--memory", memory, "--out-of-core", "always",
                                  ranks=ranks)
            self.assertIn("out_of_core", result.out)
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("out.h5")), want)

    def test_operands_behind_external_links(self):
        """Their data is in another file than the one named."""
        rng = numpy.random.default_rng(tessera.SEED)
        a = draw(rng, (90, 110), "f8")
        self.write(a=a)
        with h5py.File(self.path("linked.h5"), "w") as file:
            file["pad"] = numpy.zeros(30000)
            file["A"] = h5py.ExternalLink("a.h5", "/A")
        self.succeed("matmul", "--a", "linked.h5:/A", "--b", "linked.h5:/A", "--trans-b", "T",
                     "--out", "out.h5:/C",
                     "--out-of-core", "always", "--memory", "4MiB")
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("out.h5")), a @ a.T, rtol=1e-12,
                                      atol=1e-12)

    def test_nonfinite_values(self):
        rng = numpy.random.default_rng(tessera.SEED)
        a, b, c = draw(rng, (400, 300), "f8"), draw(rng, (300, 500),
                                                    "f8"), draw(rng, (400, 500), "f8")
        a[7, 3], b[5, 11], c[100, 200] = numpy.nan, numpy.inf, -numpy.inf
        with numpy.errstate(invalid="ignore"):
            want = a @ b + c
        for ranks in (0, 2):
            result = self.succeed("matmul", *self.write(a=a, b=b, c=c), "--beta", 1, "--out",
                                  "out.h5:/C", "--overwrite", "--memory",
                                  "2MiB", ranks=ranks)
            self.assertIn("passed", result.out)
            numpy.testing.assert_allclose(tessera.read_matrix(self.path("out.h5")), want,
                                          rtol=1e-12, atol=1e-12)

    @unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
    def test_memory_is_what_the_plan_says(self):
        """Operands and result four times the limit: the peak is within 5 % of the plan, plus what
        any run holds."""
        rng = numpy.random.default_rng(tessera.SEED)
        n = 2900
        words = ("matmul", *self.write(a=rng.random((n, n)), b=rng.random((n, n))), "--out",
                 "out.h5:/C", "--overwrite")
        small = tessera.write_matrix(self.path("small.h5"), rng.random((8, 8)))
        base = self.own_memory("matmul", "--a", small, "--b", small, "--out", "s.h5:/C")
        limit = 3 * 8 * n * n // 4
        plan = self.succeed(*words, "--memory", limit, "--plan").out
        amount, unit = re.search(r"holds ([\d.]+) (\w+) a rank", plan).groups()
        planned = float(amount) * {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
        self.assertLessEqual(planned, limit * 1.005)
        self.assertLessEqual(self.own_memory(*words, "--memory", limit), base + 1.05 * planned)
        self.succeed("verify", "out.h5")

    def test_the_plan_says_panels_and_bytes(self):
        result = self.succeed("matmul", "--n", 4000, "--out", "out.h5:/C", "--memory", "96MiB",
                              "--plan")
        for word in ("out of core", "tiles of", "panels of", "reads", "writes", "holds"):
            self.assertIn(word, result.out)
        self.assertFalse(os.path.exists(self.path("out.h5")))

    def test_the_results_tell_what_was_read_and_written(self):
        """Reads match the plan, plus one pass for the check, by a team's threads or the file
        threads."""
        rng = numpy.random.default_rng(tessera.SEED)
        a, b = rng.random((500, 600)), rng.random((600, 400))
        words = ("matmul", *self.write(a=a, b=b), "--out", "out.h5:/C", "--overwrite",
                 "--memory", "3MiB", "--out-of-core", "always")
        for how in (("--threads", 1), ("--threads", 2), ("--kernel", "tiled")):
            plan = self.succeed(*words, *how, "--plan", threads=2).out
            times_a, times_b = map(int, re.search(r"\(A (\d+) times?, B (\d+) times?\)",
                                                  plan).groups())
            self.succeed(*words, *how, "--results", "r.h5", threads=2)
            found = tessera.traffic(self.path("r.h5"))
            self.assertEqual(set(found), {-1, 0})
            self.assertEqual(found[0][:2], (times_a * a.nbytes + times_b * b.nbytes, 8 * 500 * 400))
            self.assertEqual(found[-1][:2], (a.nbytes + b.nbytes + 8 * 500 * 400, 0))
            self.assertGreater(found[0][2], 0)
        self.succeed("matmul", "--n", 300, "--results", "r.h5")
        self.assertEqual(tessera.traffic(self.path("r.h5")), {}, "nothing goes from file to file")

    def test_what_cannot_stream_says_so(self):
        self.fail_with(tessera.USAGE, "matmul", "--n", 500, "--out-of-core", "always",
                       words="--out")
        self.fail_with(tessera.MEMORY, "matmul", "--n", 2000, "--memory", "8MiB", words="allows")
        self.fail_with(tessera.MEMORY, "matmul", "--n", 2000, "--memory", "8MiB", "--out",
                       "out.h5:/C", "--out-of-core", "never")
        self.fail_with(tessera.MEMORY, "matmul", "--n", 2000, "--memory", "100KiB", "--out",
                       "out.h5:/C", words="at least")
        self.assertFalse(os.path.exists(self.path("out.h5")))

    def test_a_killed_run_leaves_nothing_under_the_name(self):
        words = ["matmul", "--n", 3000, "--memory", "24MiB", "--out", "out.h5:/C"]
        whole = self.succeed(*words, "--overwrite").seconds
        os.unlink(self.path("out.h5"))
        choose = random.Random(tessera.SEED)
        for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            job = tessera.Job(words, folder=self.folder)
            self.addCleanup(job.end)
            time.sleep(choose.uniform(0.1, 0.7) * whole)
            ended = job.process.poll() is not None
            if not ended:
                os.kill(job.process.pid, number)
            job.wait()
            if os.path.exists(self.path("out.h5")):
                self.succeed("verify", "out.h5")
                os.unlink(self.path("out.h5"))

    @unittest.skipIf(tessera.SANITIZED, "sanitizers have a handler of their own")
    def test_an_operand_that_is_cut_short_is_an_io_error(self):
        """Truncates an input while it is used or read; a slow kernel leaves time to do so."""
        numbers = numpy.random.default_rng(tessera.SEED).random((2500, 2500))
        job = tessera.Job(["matmul", *self.write(a=numbers, b=numbers), "--out", "out.h5:/C",
                           "--out-of-core", "always",
                           "--kernel", "tiled"], folder=self.folder)
        self.addCleanup(job.end)
        # the plan has opened and closed both before there is a result
        while job.process.poll() is None:
            with open(f"/proc/{job.process.pid}/maps", encoding="utf-8") as maps:
                begun = any(".out.h5.partial" in name for name in os.listdir(self.folder))
                if begun and self.path("b.h5") in maps.read():
                    break
        for name in ("a.h5", "b.h5"):
            os.truncate(self.path(name), 10000)
        result = self.assert_failed(job.wait(), tessera.IO)
        self.assertIn("cut short" if "bus error" in result.err else "cannot be read", result.err)


if __name__ == "__main__":
    tessera.main()
