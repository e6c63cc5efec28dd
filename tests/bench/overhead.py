"""Prints the time of a small product through the Python package and numpy, in nanoseconds.

Calls alternate in blocks, and the fastest block of each counts.
"""

import os
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy  # noqa: E402
import tessera  # noqa: E402

BLOCKS, CALLS = 100, 200


def measure(call):
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e9


def main():
    for n in 1, 8, 64, 128:
        a, b = numpy.full((n, n), 1.0), numpy.full((n, n), 2.0)
        c = numpy.empty((n, n))
        calls = {
            "Python, tessera.matmul(a, b)": lambda: tessera.matmul(a, b),
            "Python, tessera.matmul(out=c)": lambda: tessera.matmul(a, b, out=c),
            "Python, numpy.matmul(a, b)": lambda: numpy.matmul(a, b),
            "Python, numpy.matmul(out=c)": lambda: numpy.matmul(a, b, out=c),
        }
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(BLOCKS):
            for name, call in calls.items():
                best[name] = min(best[name], measure(call))
        print(f"{n} x {n} f64")
        for name, nanoseconds in best.items():
            print(f"  {name:32} {nanoseconds:8.0f} ns")


if __name__ == "__main__":
    main()
