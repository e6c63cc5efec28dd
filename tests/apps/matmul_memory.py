"""tessera matmul in memory: peak memory of the ranks against the plan, for random products.

TESSERA_TEST_SLOW=1: 50 products."""

import collections
import random
import re
import time
import unittest

import tessera
from tessera import OK, Job

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# summa's panels pass through the MPI library's buffers
TOLERANCE = {"recursive": 0.05, "summa": 0.15}
MESSAGES = 6e6  # bytes per rank that the MPI library and malloc retain for long messages


def draw(rng):
    """Returns a product of at most a second and at least about 30 MB per rank: below, the process's
    own memory dominates."""
    while True:
        ranks, size = rng.choice((1, 2, 3, 4)), rng.choice((4, 8))
        m, n, k = (int(200 * 60 ** rng.random()) for _ in range(3))
        matrices = size * (m * k + k * n + m * n)
        if 2 * m * n * k < 1.5e10 and 30e6 * ranks < matrices < 400e6:
            break
    words = ["--m", m, "--n", n, "--k", k, "--type", f"f{8 * size}", "--algorithm",
             rng.choice(("recursive", "recursive", "summa")),
             "--trans-a", rng.choice("NT"), "--trans-b", rng.choice("NT"), "--beta",
             rng.choice((0, 0, 1))]
    return ranks, words


def held(pid):
    """Returns the private bytes of a process, plus its share of shared memory."""
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        return sum(int(line.split()[1]) * 1024 for line in rollup
                   if line.startswith(("Pss_Anon", "Pss_Shmem")))


class MemoryOfThePlan(tessera.Case):
    def planned(self, ranks, words):
        """Returns the planned bytes of every rank: at home and additional."""
        out = self.succeed("matmul", *words, "--plan", ranks=ranks).out
        rows = [line for line in out.splitlines() if re.match(r" *\d+ ", line)]
        self.assertEqual(len(rows), ranks, out)
        amounts = [re.findall(r"([\d.]+) (B|KiB|MiB|GiB)\b", row) for row in rows]
        return [sum(float(value) * UNITS[unit] for value, unit in row[-2:])
                for row in amounts], "share" in out

    def peaks(self, ranks, words):
        """Returns the peak of every rank, and of all together. Ranks are sampled in turn, so that a
        page that one of them begins to share in between counts one and a half times: the minimum of
        three samples is correct."""
        job = Job(["matmul", *words, "--repetitions", 2, "--warmups", 0], ranks=ranks,
                  folder=self.folder)
        pids, most, together, last = {}, [0] * ranks, 0, collections.deque([0], maxlen=3)
        while job.process.poll() is None:
            if len(pids) < ranks:
                pids = job.ranks()
            try:
                now = [held(pids[r]) for r in range(ranks)]
                last.append(sum(now))
                most, together = [max(pair) for pair in zip(most, now)], max(together, min(last))
            except (KeyError, OSError):
                pass
            time.sleep(0.002)
        result = job.wait()
        self.assertEqual(result.code, OK, str(result))
        return most, together

    def base(self, ranks):
        """Returns the memory of every rank beyond the plan: its program, the MPI library, and the
        kernel's packing buffers (smaller for few columns)."""
        words = ["--n", 1300, "--algorithm", "recursive"]
        planned, _ = self.planned(ranks, words)
        return [held - plan for held, plan in zip(self.peaks(ranks, words)[0], planned)]

    @unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
    def test_random_products(self):
        rng = random.Random(tessera.SEED)
        base = {ranks: self.base(ranks) for ranks in (1, 2, 3, 4)}
        for _ in range(50 if tessera.SLOW else 4):
            ranks, words = draw(rng)
            planned, shared = self.planned(ranks, words)
            most, together = self.peaks(ranks, words)
            most = [peak - idle for peak, idle in zip(most, base[ranks])]
            together -= sum(base[ranks])
            what = f"{ranks} ranks {' '.join(map(str, words))}{' shared' if shared else ''}"
            print(f"{what}: planned {max(planned) / 1e6:.1f} MB, held {max(most) / 1e6:.1f}, "
                  f"{max(most) / max(planned):.3f}; all {together / sum(planned):.3f}", flush=True)
            with self.subTest(what):
                got, want = (together, sum(planned)) if shared else (max(most), max(planned))
                kept = MESSAGES * (ranks if shared else 1) * (ranks > 1)
                tolerance = TOLERANCE[words[words.index("--algorithm") + 1]]
                self.assertLess(got, want * (1 + tolerance) + kept)
                self.assertGreater(got / want, 0.8)  # a short peak may fall between two samples

    @unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
    def test_a_limit_is_kept_in_rounds(self):
        ranks, words = 3, ["--m", 1700, "--n", 1500, "--k", 1600, "--beta", 1]
        planned, _ = self.planned(ranks, words)
        limit = int(0.85 * max(planned))
        words += ["--memory", limit]
        self.assertIn("rounds", self.succeed("matmul", *words, "--plan", ranks=ranks).out)
        # of all: a page counts for the ranks that touched it
        _, together = self.peaks(ranks, words)
        self.assertLess(together - sum(self.base(ranks)), ranks * (1.05 * limit + MESSAGES))
        self.assertIn("passed", self.succeed("matmul", *words, ranks=ranks).out)


if __name__ == "__main__":
    tessera.main()
