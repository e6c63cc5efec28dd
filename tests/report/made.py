"""Made-up results files of the current schema, and common parts of the report's tests."""
import contextlib
import importlib
import io
import os
import subprocess
import sys
import unittest

try:
    import h5py
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# the folder of the scripts, the program, the test's folder
os.environ["COLUMNS"] = "1000"  # tables in one piece
REPORT, TESSERA, SCRATCH = sys.argv[1:4]
sys.path.insert(0, REPORT)



def require(module):
    """Imports a module, or skips the whole test without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)


PHASES = ((0, "compute", 0.7), (0, "exchange", 0.2), (1, "compute", 0.6), (1, "exchange", 0.3),
          (-1, "verify", 0.1))
MACHINE = (("fma_f64", 1, 100.0, "GFLOP/s"), ("fma_f64", 4, 340.0, "GFLOP/s"),
           ("copy", 1, 10.0, "GB/s"),
           ("copy", 4, 25.0, "GB/s"), ("triad", 1, 12.0, "GB/s"), ("triad", 4, 20.0, "GB/s"),
           ("read_l1", 1, 300.0, "GB/s"), ("read_l1", 4, 1200.0, "GB/s"),
           ("read_l2", 1, 150.0, "GB/s"), ("read_l2", 4, 600.0, "GB/s"))


def row(kernel="naive", n=64, ranks=2, threads=1, seconds=None, work=None, **more):
    """Returns a point: its configuration, and its samples (seconds) or their median."""
    samples = np.atleast_1d(np.asarray([1e-3 * n] * 3 if seconds is None else seconds, dtype=float))
    return {"kernel": kernel, "n": n, "ranks": ranks, "threads": threads, "samples": samples,
            "work": 2.0 * n ** 3 if work is None else work, "verified": 1, "options": {}, **more}


def key_of(workload, point):
    options = {"n": point["n"], "kernel": point["kernel"], **point["options"]}
    asked = "".join(f" {name}={value}" for name, value in options.items())
    return f"{workload}{asked} ranks={point['ranks']} threads={point['threads']}"


def write(path, points, run="matmul_0001", cpus="", phases=PHASES, files=(), **attributes):
    """Appends a run of these points to a file."""
    workload = run.split("_")[0]
    keys = [key_of(workload, p) for p in points]
    ordered = [np.sort(p["samples"]) for p in points]
    median = np.array([np.median(s) for s in ordered])
    low = np.array([p.get("low", s[0]) for p, s in zip(points, ordered)])
    high = np.array([p.get("high", s[-1]) for p, s in zip(points, ordered)])
    work = np.array([p["work"] for p in points])
    rates = [p.get("rate", w / m / 1e9 if m > 0 else 0.0) for p, w, m in zip(points, work, median)]
    summary = {"point": keys, "kernel": [p["kernel"] for p in points],
               "type": ["f64"] * len(points)}
    summary |= {d: [p["n"] for p in points] for d in "mnk"}
    summary |= {"ranks": [p["ranks"] for p in points], "threads": [p["threads"] for p in points],
                "repetitions": [p.get("repetitions", len(p["samples"])) for p in points],
                "median": median, "ci_low": low,
                "ci_high": high, "min": low, "max": high, "mean": median, "work": work,
                "rate": rates,
                "ceiling_share": [float("nan")] * len(points),
                "verification_method": ["freivalds"] * len(points),
                "verification_ratio": [0.5] * len(points),
                "verification_tolerance": [16.0] * len(points),
                "verified": [p["verified"] for p in points]}
    samples = [(k, p["kernel"], p["n"], p["ranks"], p["threads"], r, s,
                p["work"] / s / 1e9 if s > 0 else 0.0) for k, p in zip(keys, points)
               for r, s in enumerate(p["samples"])]
    phase_rows = [(k, repetition, rank, phase, m * part * (1 + 0.1 * rank))
                  for k, p, m in zip(keys, points, median)
                  for repetition, phase, part in phases for rank in range(p["ranks"])]
    with h5py.File(path, "a", track_order=True) as file:
        group = file.create_group(run, track_order=True)
        group.attrs.update({"workload": workload, "hosts": "nowhere", "processor": "made up",
                            "ranks": points[0]["ranks"],
                            **attributes})
        put(group, "summary", summary, rate="GFLOP/s", median="s")
        put(group, "samples", turned(samples, ("point", "kernel", "n", "ranks", "threads",
                                               "repetition", "seconds", "rate")),
            seconds="s", rate="GFLOP/s")
        put(group, "phases", turned(phase_rows, ("point", "repetition", "rank", "phase",
                                                 "seconds")), seconds="s")
        if files:  # (repetition, rank, bytes read and written, seconds waited), of the first point
            names = ("point", "repetition", "rank", "bytes_read", "bytes_written", "waited")
            put(group, "files", turned([(keys[0], *one) for one in files], names), waited="s")
        put(group, "machine", turned(MACHINE, ("name", "threads", "value", "units")))
        if cpus:
            put(group, "ranks", {"rank": [0], "host": ["nowhere"], "cpus": [cpus]})
    return path


def turned(rows, names):
    return {name: [r[c] for r in rows] for c, name in enumerate(names)}


def put(run, table, columns, **units):
    group = run.create_group(table, track_order=True)
    for name, values in columns.items():
        group[name] = list(values)
    for name, unit in units.items():
        group[name].attrs["units"] = unit


class Case(unittest.TestCase):
    def path(self, name):
        """Returns a path without an existing file."""
        os.makedirs(SCRATCH, exist_ok=True)
        path = os.path.join(SCRATCH, name)
        if os.path.exists(path):
            os.remove(path)
        return path

    def run_script(self, module, *words, code=0):
        """Runs the module's main; returns its output, or its one-line error."""
        out, err, ended = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                ended = module.main([str(w) for w in words]) or 0
            except SystemExit as end:
                ended = end.code or 0
        self.assertEqual(ended, code, out.getvalue() + err.getvalue())
        self.warnings = err.getvalue()
        return err.getvalue() if err.getvalue().startswith("tessera: error") else out.getvalue()

    def run_program(self, *words, stdout=subprocess.PIPE):
        return subprocess.run([TESSERA, *words], env=dict(os.environ,
                                                          TESSERA_PYTHON=sys.executable),
                              stdout=stdout,
                              stderr=subprocess.PIPE, text=True, check=False)

    def assert_refused(self, words, *expected):
        self.assertTrue(words.startswith("tessera: error: ") and words.count("\n") == 1, words)
        for one in expected:
            self.assertIn(one, words)


def main():
    unittest.main(module="__main__", argv=sys.argv[:1])
