"""Equal bits of the field for every number of ranks and threads, every halo depth and every kernel.
"""

import concurrent.futures
import itertools
import random
import re
import unittest

import tessera

RANKS = (1, 2, 3, 4, 6, 7, 8)
THREADS = (1, 2)
HALOS = tuple(range(1, 17))
KERNELS = ("naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious")
FIELDS = {  # stencil, shape, boundary, steps: every box of 8 ranks can provide the halo of 16 steps
    "heat": ("150x131", "clamp", 33),
    "box5x5": ("283x70", "y=periodic,x-=mirror,x+=constant:0.5", 20),
    "wave": ("40x36x35", "z-=reflect,z+=clamp,x=periodic", 19),
    "star2": ("69x66x67", "mirror", 17),
    "life": ("160x140", "periodic", 40),
    "advection": ("4001", "reflect", 50),
}


class SameBits(tessera.Case):
    def hash_of(self, name, kind, ranks, threads, halo, kernel, overlap="no"):
        shape, boundary, steps = FIELDS[name]
        result = self.run_tessera("stencil", "--stencil", name, "--shape", shape, "--boundary",
                                  boundary, "--steps", steps,
                                  "--type", kind, "--kernel", kernel, "--halo-steps", halo,
                                  "--threads", threads, "--overlap", overlap,
                                  ranks=ranks, threads=threads, timeout=120)
        found = re.search(r" ([0-9a-f]{16}) ", result.out)
        return found.group(1) if result.code == 0 and found else str(result)

    def check(self, cases):
        cases = list(cases)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            kinds = sorted({case[:2] for case in cases})
            alone = dict(zip(kinds, pool.map(lambda kind: self.hash_of(*kind, 0, 1, 1, "naive"),
                                             kinds)))
            got = list(pool.map(lambda case: self.hash_of(*case), cases))
        wrong = [f"{case}: {bits}" for case, bits in zip(cases, got) if bits != alone[case[:2]]]
        self.assertEqual(wrong, [],
                         f"{len(wrong)} of {len(cases)} differ from one rank with one thread: "
                         f"{alone}")
        self.assertEqual(len(set(alone.values())), len(kinds), alone)
        print(f"  {len(cases)} runs, {len(kinds)} fields", flush=True)

    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_every_rank_count_halo_and_kernel(self):
        """Every (ranks, threads), every halo and every kernel; fields and types in rotation."""
        rng = random.Random(tessera.SEED)
        kinds = list(itertools.product(FIELDS, ("f16", "f32", "f64")))
        rng.shuffle(kinds)
        kind, halo, kernel = itertools.cycle(kinds), itertools.cycle(HALOS), itertools.cycle(
            KERNELS)
        ways = list(itertools.product(RANKS, THREADS)) + [(rng.choice(RANKS[1:]), 1)
                                                          for _ in range(22)]
        self.check((*next(kind), ranks, threads, next(halo), next(kernel),
                    rng.choice(("no", "yes")))
                   for ranks, threads in ways)

    @unittest.skipUnless(tessera.SLOW, "the complete set takes some minutes; TESSERA_TEST_SLOW=1")
    def test_every_combination(self):
        rng = random.Random(tessera.SEED)
        ways = list(itertools.product(FIELDS, ("f16", "f32", "f64"), RANKS, THREADS))
        self.check((*way, halo, kernel, rng.choice(("no", "yes"))) for way in ways
                   for halo, kernel in
                   [(rng.choice(HALOS), kernel) for kernel in KERNELS] + [(0, "auto")])


class Messages(tessera.Case):
    def run_with(self, halo):
        self.succeed("stencil", "--shape", "1024x1024", "--steps", 160, "--grid", "2x2",
                     "--repetitions", 5,
                              "--warmups", 1, "--no-verify", "--halo-steps", halo, "--results",
                     f"{halo}.h5", "--again", ranks=4)
        with tessera.h5py.File(self.path(f"{halo}.h5")) as file:
            summary = file[sorted(file)[-1]]["summary"]
            return int(summary["messages"][0]), float(summary["min"][0])

    def test_eight_steps_an_exchange_send_a_seventh_of_the_messages(self):
        # interleaved, so that both see the same noise
        runs = [self.run_with(1) + self.run_with(8) for _ in range(3)]
        often, seldom = runs[0][0], runs[0][2]
        slow, fast = min(run[1] for run in runs), min(run[3] for run in runs)
        print(f"  halo of 1 step: {often} messages, {slow:.4f} s; of 8 steps: {seldom} messages, "
              f"{fast:.4f} s", flush=True)
        self.assertLessEqual(seldom * 7, often)
        self.assert_within(1.5 * slow, fast)  # the gain depends on the load


if __name__ == "__main__":
    tessera.main()
