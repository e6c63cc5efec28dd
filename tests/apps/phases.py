"""Time accounting: every second of a process and of a repetition belongs to a phase."""

import itertools
import re

import tessera
from tessera import h5py, numpy

# Heat on a periodic field conserves its sum, which the check computes over the whole field: a pass
# as long as a step.
CASES = {"matmul": ("--n", 600),
         "transpose": ("--n", 2000),
         "stencil": ("--shape", "1500x1500", "--steps", 2, "--boundary", "periodic"),
         "sort": ("--n", 2000000, "--type", "f64")}
# parts of other phases, excluded from sums
BESIDE = {"to device", "device kernels", "from device", "interior", "edges"}
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
RUNS = 6  # a core used by others may cause a gap anywhere, but not in every run


def table(group):
    return {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
            for name, column in group.items()}


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def told(out):
    """Returns (total, {phase: seconds}) of the line that a run prints last."""
    line = re.search(r"^time: ([^:]+): (.*)$", out, re.MULTILINE)
    parts = [re.fullmatch(r"(.*) ([0-9.e+-]+ [a-z]+)", part) for part in line[2].split(", ")]
    return seconds(line[1]), {part[1]: seconds(part[2]) for part in parts}


class Phases(tessera.Case):
    count = itertools.count()

    def run_workload(self, workload, ranks, *words):
        path = self.path(f"{workload}_{next(self.count)}.h5")
        result = self.succeed(workload, *CASES[workload], "--repetitions", 2, "--results", path,
                              *words, ranks=ranks)
        with h5py.File(path, "r") as file:
            run = file[sorted(file)[-1]]
            return result, {name: table(run[name]) for name in ("samples", "phases", "wall")
                            if name in run}

    def test_a_process_is_in_a_phase_at_every_moment(self):
        for workload in CASES:
            for ranks in (0, 3):
                with self.subTest(workload=workload, ranks=ranks):
                    out = self.path(f"out_{workload}_{ranks}.h5") + ":/x"
                    result, found = self.run_workload(workload, ranks, "--out", out)
                    wall, parts = told(result.out)
                    self.assertLess(abs(sum(parts.values()) - wall), 0.05 * wall)
                    # the system's clock of process starts has ticks of 10 ms
                    self.assertLess(wall, result.seconds + 0.1)
                    if ranks == 0:
                        self.assertGreater(wall, 0.5 * result.seconds - 0.5)
                    rows = found["wall"]
                    self.assertEqual(set(rows["rank"]), set(range(max(1, ranks))))
                    self.assertLessEqual({"start", "plan", "write", "publish", "verify", "results"},
                                         set(rows["phase"]))
                    for rank in set(rows["rank"]):
                        of_rank = rows["seconds"][rows["rank"] == rank]
                        self.assertTrue((of_rank >= 0).all())
                        self.assertLess(of_rank.sum(), result.seconds + 0.1)
                    # The file lacks the time to write itself, and of the end.
                    first = rows["seconds"][rows["rank"] == 0].sum()
                    self.assertLess(abs(first - sum(parts.values())),
                                    0.05 * wall + parts.get("close", 0)
                                    + parts.get("results", 0))

    def test_phases_of_a_repetition_add_up_to_it(self):
        for workload in CASES:
            for ranks in (0, 3):
                with self.subTest(workload=workload, ranks=ranks):
                    gaps = []
                    for _ in range(RUNS):
                        _, found = self.run_workload(workload, ranks)
                        samples, phases = found["samples"], found["phases"]
                        gap = 0
                        for repetition, length in zip(samples["repetition"], samples["seconds"]):
                            mine = (phases["repetition"]
                                    == repetition) & ~numpy.isin(phases["phase"], list(BESIDE))
                            sums = [phases["seconds"][mine & (phases["rank"] == rank)].sum()
                                    for rank in range(max(1, ranks))]
                            gap = max(gap, abs(length - max(sums)) / length)
                        gaps.append(gap)
                        if gap < 0.05:
                            break
                    self.assertLess(min(gaps), 0.05, gaps)

    def test_the_check_is_in_no_repetition(self):
        for workload in CASES:
            for ranks in (0, 3):
                with self.subTest(workload=workload, ranks=ranks):
                    _, found = self.run_workload(workload, ranks)
                    phases = found["phases"]
                    of_check = phases["phase"] == "verify"
                    self.assertEqual(set(phases["repetition"][of_check]), {-1})
                    self.assertGreater(phases["seconds"][of_check].sum(), 0)


if __name__ == "__main__":
    tessera.main()
