"""Shares by measured speed, and ranks of which some drive GPUs: results equal those of equal
shares, bit for bit on the CPU."""

import os
import random
import re
import shutil
import subprocess

import tessera
from tessera import OK, USAGE, numpy


def gpus():
    if not shutil.which("nvidia-smi"):
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


class Measured(tessera.Case):
    def both(self, *words, dataset, ranks):
        results = []
        for shares in ("measured", "equal"):
            self.succeed(*words, "--shares", shares, "--out", f"{shares}.h5:/{dataset}",
                         "--overwrite", ranks=ranks)
            results.append(tessera.read_matrix(self.path(f"{shares}.h5"), dataset))
        self.assertEqual(results[0].tobytes(), results[1].tobytes(), words)

    def test_products_have_the_same_bits(self):
        rng = random.Random(tessera.SEED)
        for ranks in (2, 3, 5):
            shape = [rng.randrange(1, 900) for _ in range(3)]
            for op in ("N", "T"):
                self.both("matmul", "--m", shape[0], "--n", shape[1], "--k", shape[2], "--trans-a",
                          op, "--type",
                          rng.choice(["f32", "f64", "c64"]), "--repetitions", 1, dataset="C",
                          ranks=ranks)

    def test_keys_have_the_same_bytes(self):
        rng = random.Random(tessera.SEED)
        for ranks in (2, 3, 5):
            for more in ([], ["--descending"], ["--unique"]):
                self.both("sort", "--n", rng.randrange(1, 300000), "--type",
                          rng.choice(["u32", "f64", "i64"]), "--input",
                          rng.choice(["uniform", "zipf", "all_equal"]), "--repetitions", 2, *more,
                          *rng.choice([[], ["--algorithm", "samplesort"],
                                       ["--algorithm", "rounds"]]), dataset="k", ranks=ranks)

    def test_transposes_have_the_same_bytes(self):
        rng = random.Random(tessera.SEED)
        for ranks in (2, 4, 6, 7):
            for algorithm in ("pairwise", "alltoall", "shared"):
                self.both("transpose", "--m", rng.randrange(1, 900), "--n", rng.randrange(1, 900),
                          "--op", rng.choice("TN"), "--type",
                          rng.choice(["f32", "f64", "u8", "c128"]), "--algorithm", algorithm,
                          "--repetitions", 1, dataset="T", ranks=ranks)
        self.both("transpose", "--m", 301, "--n", 222, "--alpha", 1.5, "--repetitions", 1,
                  dataset="T", ranks=4)
        # these keep equal shares
        for more in (("--in-place",), ("--shape", "9,20,30", "--axes", "2,0,1")):
            size = () if "--shape" in more else ("--n", 333)
            self.both("transpose", *size, *more, "--repetitions", 1, dataset="T", ranks=4)

    def test_fields_have_the_same_bits(self):
        rng = random.Random(tessera.SEED)
        for ranks in (2, 4, 6, 7):
            for stencil, shape in (("heat", "150x131"), ("wave", "40x36x35"), ("box5x5", "70x283"),
                                   ("advection", "4001"), ("life", "90x80")):
                self.both("stencil", "--stencil", stencil, "--shape", shape, "--steps",
                          rng.choice([1, 9, 20]), "--boundary",
                          rng.choice(["periodic", "mirror", "constant:0.5"]), "--type",
                          rng.choice(["f16", "f32", "f64"]), "--halo-steps",
                          rng.choice([0, 1, 3]), "--overlap", rng.choice(["no", "yes"]),
                          "--exchange", rng.choice(["auto", "messages"]),
                          dataset="u", ranks=ranks)

    def test_few_items_leave_no_rank_behind(self):
        for ranks in (3, 4):
            self.both("sort", "--n", 2, "--repetitions", 1, dataset="k", ranks=ranks)
            self.both("matmul", "--n", 1, "--repetitions", 1, dataset="C", ranks=ranks)
            self.both("transpose", "--m", 1, "--n", 3, "--repetitions", 1, dataset="T", ranks=ranks)
            self.both("stencil", "--shape", "2x2", "--steps", 3, dataset="u", ranks=ranks)
            self.succeed("transpose", "--n", 0, "--shares", "measured", "--repetitions", 1,
                         ranks=ranks)
            self.succeed("stencil", "--shape", "0x4", "--shares", "measured", "--steps", 2,
                         ranks=ranks)
            self.succeed("sort", "--n", 0, "--shares", "measured", "--repetitions", 1, ranks=ranks)
            self.succeed("matmul", "--n", 5, "--k", 0, "--shares", "measured", "--repetitions", 1,
                         ranks=ranks)

    def test_the_plan_shows_the_speeds(self):
        for workload, words in (("matmul", r"shares by measured speed, GFLOP/s a rank: [\d.e+]+"),
                                ("sort", r"by measured speed, Mkeys/s a rank: [\d.e+]+"),
                                ("transpose", r"rows by measured speed, GB/s a rank: [\d.e+]+"),
                                ("stencil",
                                 r"boxes by measured speed, Mpoints/s a rank: [\d.e+]+")):
            size = ("--shape", "3000x500") if workload == "stencil" else ("--n", 3000)
            plan = self.succeed(workload, *size, "--shares", "measured", "--plan", ranks=3).out
            self.assertRegex(plan, words)
            plan = self.succeed(workload, *size, "--plan", ranks=3).out
            self.assertNotIn("measured speed", plan)
            plan = self.succeed(workload, *size, "--shares", "measured", "--plan", "--ranks", 7).out
            self.assertNotIn("measured speed", plan)

    def test_a_grid_has_no_shares_by_speed(self):
        self.fail_with(USAGE, "matmul", "--n", 100, "--shares", "measured", "--algorithm", "summa",
                       ranks=2,
                       words="--algorithm recursive")
        self.fail_with(USAGE, "stencil", "--shape", "100x100", "--shares", "measured", "--grid",
                       "1x2", ranks=2, words="--shares equal")


class PlansForSomeGpus(tessera.Case):
    def test_a_plan_ends_as_the_run_does(self):
        """Only some ranks have a device kernel: they alone looked for a GPU, by messages that the
        others did not send."""
        for words in (("matmul", "--n", 300), ("transpose", "--n", 300), ("sort", "--n", 20000),
                      ("stencil", "--shape", "200x200")):
            words = (*words, "--device", "gpu", "--gpu-ranks", 1, "--repetitions", 1)
            run = self.run_tessera(*words, ranks=3)
            plan = self.run_tessera(*words, "--plan", ranks=3)
            self.assertIn(run.code, (OK, USAGE), str(run))
            self.assertEqual(plan.code, run.code, str(plan))


class GpusAndCpus(tessera.Case):
    """Ranks that drive a GPU together with ranks that compute on the CPU."""

    def setUp(self):
        super().setUp()
        if gpus() == 0 or "cuda_tensor" not in self.run_tessera("list").out:
            self.skipTest("no GPU is here, or none that this build can use")

    def mixed(self, *words, ranks=4):
        return self.succeed(*words, "--device", "gpu", "--gpu-ranks", 1, ranks=ranks, timeout=300)

    def test_the_plan_gives_the_gpu_the_most(self):
        plan = self.mixed("matmul", "--n", 8192, "--type", "f64", "--plan").out
        self.assertIn("kernel cuda_tensor+cache_oblivious", plan)
        speeds = re.search(r"GFLOP/s a rank: ([\d.e+]+),", plan)
        self.assertTrue(speeds, plan)
        flops = [float(line.split()[1]) for line in plan.splitlines()
                 if re.match(r"\s*[0-3]\s+\d", line)]
        self.assertEqual(len(flops), 4, plan)
        self.assertEqual(max(flops), flops[0], plan)
        self.assertIn("kernel cuda_hybrid+auto", self.mixed("sort", "--n", 1000000, "--plan").out)

    def test_products_are_right(self):
        for element, tolerance in (("f32", 1e-4), ("f64", 1e-12)):
            words = ("matmul", "--m", 1500, "--n", 1300, "--k", 1700, "--type", element,
                     "--repetitions", 2)
            self.mixed(*words, "--out", "mixed.h5:/C")
            self.succeed(*words, "--device", "cpu", "--out", "cpu.h5:/C", "--overwrite")
            mixed, cpu = (tessera.read_matrix(self.path(f"{name}.h5")) for name in ("mixed", "cpu"))
            self.assertLess(numpy.abs(mixed - cpu).max() / numpy.abs(cpu).max(), tolerance)
            os.unlink(self.path("mixed.h5"))

    def test_sorts_have_the_bytes_of_the_cpu(self):
        for element in ("u32", "u64", "f64"):
            words = ("sort", "--n", 3000001, "--type", element, "--repetitions", 2)
            self.mixed(*words, "--device-memory", "16MiB", "--out", "mixed.h5:/k", "--overwrite")
            self.succeed(*words, "--device", "cpu", "--out", "cpu.h5:/k", "--overwrite")
            mixed, cpu = (tessera.read_matrix(self.path(f"{name}.h5"), "k")
                          for name in ("mixed", "cpu"))
            self.assertEqual(mixed.tobytes(), cpu.tobytes())

    def test_transposes_have_the_bytes_of_the_cpu(self):
        for element in ("f32", "c128"):
            words = ("transpose", "--m", 2900, "--n", 1700, "--type", element, "--repetitions", 2)
            result = self.mixed(*words, "--out", "mixed.h5:/T", "--overwrite")
            self.assertIn("+auto", result.out)
            self.succeed(*words, "--device", "cpu", "--out", "cpu.h5:/T", "--overwrite")
            mixed, cpu = (tessera.read_matrix(self.path(f"{name}.h5"), "T")
                          for name in ("mixed", "cpu"))
            self.assertEqual(mixed.tobytes(), cpu.tobytes())

    def test_fields_have_the_bits_of_the_cpu(self):
        for stencil, shape, element in (("heat", "1500x900", "f32"), ("heat", "1500x900", "f16"),
                                        ("wave", "100x90x80", "f64"),
                                        ("box5x5", "800x700", "f32")):
            for memory in ("0", "2MiB"):
                words = ("stencil", "--stencil", stencil, "--shape", shape, "--type", element,
                         "--steps", 40, "--boundary", "x=periodic")
                result = self.mixed(*words, "--device-memory", memory, "--out", "mixed.h5:/u",
                                    "--overwrite")
                self.assertIn("+auto", result.out)
                self.succeed(*words, "--device", "cpu", "--out", "cpu.h5:/u", "--overwrite")
                mixed, cpu = (tessera.read_matrix(self.path(f"{name}.h5"), "u")
                              for name in ("mixed", "cpu"))
                self.assertEqual(mixed.tobytes(), cpu.tobytes(), words)

    def test_the_gpu_gets_the_largest_box(self):
        plan = self.mixed("stencil", "--shape", "8192x8192", "--type", "f32", "--steps", 1000,
                          "--plan").out
        self.assertIn("cuda_temporal+auto", plan)
        rows = [int(line.split()[1]) for line in plan.splitlines()
                if re.match(r"\s*[0-3]\s+\d+ x", line)]
        self.assertEqual(len(rows), 4, plan)
        self.assertEqual(max(rows), rows[0], plan)

    def test_permutations_have_those_of_the_cpu(self):
        keys = numpy.random.default_rng(tessera.SEED).integers(0, 1000, 700001)
        file = tessera.write_matrix(self.path("in.h5"), keys, name="k")
        self.mixed("sort", "--in", file, "--argsort", "mixed.h5:/p", "--device-memory", "16MiB")
        self.assertTrue((tessera.read_matrix(self.path("mixed.h5"), "p")
                         == numpy.argsort(keys, kind="stable")).all())


if __name__ == "__main__":
    tessera.main()
