"""Equal bits of C for every number of ranks and threads, with the kernel cache_oblivious."""

import concurrent.futures
import hashlib
import itertools
import os
import random
import unittest

import tessera
from tessera import numpy

KERNEL = "cache_oblivious"
RANKS = (1, 2, 3, 4, 5, 6, 7)
THREADS = (1, 2, 3)
WAYS = (("recursive", None), ("summa", None), ("row_blocks", None))
GRIDS = {1: ["1x1"], 2: ["1x2", "2x1"], 3: ["3x1"], 4: ["2x2", "4x1", "1x4"], 5: ["1x5"],
         6: ["2x3", "3x2", "6x1"],
         7: ["7x1", "1x7"]}
SHAPES = [  # m, n, k: a cube, deep k, deeper k, skinny, fewer rows than ranks
    (150, 130, 170), (24, 20, 6007), (3, 5, 20000), (611, 9, 40), (4, 300, 700), (97, 101, 1031)]
TYPES = ("f32", "f64")


def algorithms():
    listed = tessera.run("list").out
    return [name for name, _ in WAYS if f" {name} " in listed]


class SameBits(tessera.Case):
    def product(self, shape, kind, ranks, threads, algorithm, grid=None, panel=None):
        """Returns the hash of C's bytes, or the failed run."""
        m, n, k = shape
        out = self.path(f"{m}-{n}-{k}-{kind}-{ranks}-{threads}-{algorithm}-{grid}-{panel}.h5")
        words = ["matmul", "--m", m, "--n", n, "--k", k, "--type", kind, "--kernel", KERNEL,
                 "--algorithm", algorithm,
                 "--seed", 7, "--alpha", 0.7, "--repetitions", 1, "--warmups", 0, "--threads",
                 threads,
                 "--out", f"{out}:/C"]
        words += ["--grid", grid] if grid else []
        words += ["--panel", panel] if panel else []
        result = self.run_tessera(*words, ranks=ranks, threads=threads, timeout=120)
        if result.code != 0:
            return str(result)
        c = tessera.read_matrix(out)
        os.unlink(out)
        self.assertEqual(c.shape, (m, n))
        return hashlib.sha256(c.tobytes()).hexdigest() if numpy.isfinite(c).all() else "not finite"

    def check(self, cases):
        cases = list(cases)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            kinds = sorted({case[:2] for case in cases})
            alone = dict(zip(kinds, pool.map(lambda kind: self.product(*kind, 1, 1, "recursive"),
                                             kinds)))
            got = list(pool.map(lambda case: self.product(*case), cases))
        wrong = [f"{case}: {bits}" for case, bits in zip(cases, got) if bits != alone[case[:2]]]
        self.assertEqual(wrong, [],
                         f"{len(wrong)} of {len(cases)} differ from one rank with one thread: "
                         f"{alone}")
        print(f"  {len(cases)} runs, {len(kinds)} products", flush=True)

    @staticmethod
    def grids(algorithm, ranks):
        return GRIDS[ranks] if algorithm == "summa" else [None]

    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_every_rank_and_thread_count(self):
        """Every (ranks, threads) and every grid; shapes and types in rotation."""
        rng = random.Random(tessera.SEED)
        kinds = list(itertools.product(SHAPES, TYPES))
        rng.shuffle(kinds)
        kind = itertools.cycle(kinds)
        cases = [(*next(kind), ranks, threads, algorithm)
                 for algorithm in algorithms() for ranks in RANKS
                 for threads in THREADS if (ranks, threads) != (1, 1)]
        cases += [(*next(kind), ranks, 1, "summa", grid, rng.choice([None, 100, 333]))
                  for ranks in RANKS[1:] for grid in GRIDS[ranks]]
        self.check(cases)

    @unittest.skipUnless(tessera.SLOW, "the complete set takes some minutes; TESSERA_TEST_SLOW=1")
    def test_every_combination(self):
        self.check((shape, kind, ranks, threads, algorithm, grid)
                   for shape, kind, ranks, threads, algorithm in
                   itertools.product(SHAPES, TYPES, RANKS, THREADS, algorithms())
                   for grid in self.grids(algorithm, ranks))

    def test_beta_and_inputs_from_files(self):
        """beta * C enters the sum at a fixed node of the tree, on any rank."""
        rng = numpy.random.default_rng(tessera.SEED)
        names = {x: tessera.write_matrix(self.path(f"{x}.h5"), rng.normal(size=shape), "gzip", x)
                 for x, shape in {"a": (2500, 33), "b": (41, 2500), "c": (33, 41)}.items()}
        bits = set()
        for ranks, threads, algorithm in ((1, 1, "recursive"), (3, 2, "recursive"),
                                          (7, 1, "recursive"), (6, 1, "summa"),
                                          (4, 2, "summa")):
            out = self.path(f"{ranks}{threads}{algorithm}.h5")
            self.succeed("matmul", *[w for x in names for w in (f"--{x}", names[x])], "--trans-a",
                         "T", "--trans-b",
                         "T", "--beta", -1.25, "--kernel", KERNEL, "--algorithm", algorithm,
                         "--out", f"{out}:/C",
                         "--repetitions", 2, "--threads", threads, ranks=ranks, threads=threads)
            bits.add(tessera.read_matrix(out).tobytes())
        self.assertEqual(len(bits), 1)


if __name__ == "__main__":
    tessera.main()
