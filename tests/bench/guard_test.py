"""The regression guard finds planted losses of 5 % and no others, in made-up times."""

import os
import random
import subprocess
import sys
import tempfile
import unittest

import guard

GUARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard.py")

# A program that prints ratios with noise: of each process 1 %, of each round 5 %, a few of them
# disturbed by a factor of 2. SLOW is the planted loss of its row "b".
PROGRAM = """#!{python}
import json, os, random, sys
with open(os.environ["COUNTER"], "a+") as file:
    file.write("x")
    file.flush()
    draw = random.Random(f"{{os.environ['SEED']}} {{file.tell()}}")
rows = sorted({{sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--row"}})
slow = 1 + float(os.environ.get("SLOW", 0))
for row in rows:
    own = draw.gauss(0, 0.01)
    rounds = [2 * (1 + own + draw.gauss(0, 0.05)) * draw.choice([1] * 9 + [0.5]) for _ in range(41)]
    print(json.dumps({{"row": row, "ratios": [x / (slow if row == "b" else 1) for x in rounds]}}))
"""


def processes(draw, count, ratio, noise):
    return [ratio + draw.gauss(0, noise) for _ in range(count)]


class Verdicts(unittest.TestCase):
    def test_losses_are_found_and_nothing_else(self):
        draw = random.Random(1)
        found = {"equal": 0, "loss": 0}
        for _ in range(1000):
            base, same = processes(draw, 12, 0.7, 0.012), processes(draw, 12, 0.7, 0.012)
            lost = processes(draw, 12, 0.7 - 0.0513, 0.012)
            found["equal"] += guard.verdict(same, base)[0] != "loss"
            found["loss"] += guard.verdict(lost, base)[0] == "loss"
        self.assertEqual(found["equal"], 1000)
        self.assertGreater(found["loss"], 985)

    def test_a_machine_too_noisy_is_not_called_equal(self):
        draw = random.Random(2)
        base = processes(draw, 20, 0.0, 0.2)
        self.assertEqual(guard.verdict(base[:10], base[10:])[0], "undecided")

    def test_half_widths_are_those_of_student(self):
        _, half = guard.change([0, 0, 2, 2], [0, 0, 2, 2])  # variances 4/3, of the means 1/3
        self.assertAlmostEqual(half, 5.841 * (2 / 3)**0.5)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, "bench_guard")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM.format(python=sys.executable))
        os.chmod(self.program, 0o755)

    def guard(self, seed, *arguments, slow=0.0):
        counter = os.path.join(self.folder.name, str(seed))
        return subprocess.run(
            [sys.executable, GUARD, self.program, "--baseline",
             os.path.join(self.folder.name, "base.json"), *arguments, "--", "--row", "a", "--row",
             "b"],
            env={**os.environ, "SEED": str(seed), "SLOW": str(slow), "COUNTER": counter},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def test_a_planted_loss_fails_and_names_its_row(self):
        self.assertEqual(self.guard(1).returncode, 78)
        self.assertEqual(self.guard(1, "--store").returncode, 0)
        again = self.guard(2)
        self.assertEqual(again.returncode, 0, again.stdout)
        planted = self.guard(3, slow=0.055)
        self.assertEqual(planted.returncode, 1, planted.stdout)
        rows = [line.split() for line in planted.stdout.splitlines()[1:]]
        self.assertEqual([(row[0], row[-1]) for row in rows], [("a", "equal"), ("b", "loss")])
        self.assertEqual(self.guard(4, slow=-0.055).stdout.split()[-1], "gain")


if __name__ == "__main__":
    unittest.main()
