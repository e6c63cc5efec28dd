#!/usr/bin/env python3
"""python.py [--quick]: the Python package against numpy, scipy and polars on arrays of one process,
interleaved, medians. Under several ranks: distributed arrays against the whole array in numpy on
one rank, Heat and dask. Peers that cannot be imported are left out, and named. The package is found
through PYTHONPATH; bash tests/bench.sh python sets it."""
import importlib
import os
import random
import statistics
import sys
import time

import numpy
import tessera


def peer(name):
    """Returns a module, or None where it cannot be imported."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def median_times(candidates, rounds, step=lambda: None):
    """Returns the median seconds of each candidate, all run in every round in a random order; step
    is called before and after each run, and brings ranks together."""
    times = {name: [] for name in candidates}
    order = list(candidates)
    shuffled = random.Random(1)
    for turn in range(-1, rounds):
        shuffled.shuffle(order)
        for name in order:
            step()
            began = time.perf_counter()
            candidates[name]()
            step()
            if turn >= 0:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(one) for name, one in times.items()}


def print_row(what, times):
    ours = times["tessera"]
    cells = [f"{what:34} tessera {ours * 1e3:10.2f} ms"]
    cells += [f"{name} {one * 1e3:.2f} ms ({one / ours:.2f})" for name, one in times.items()
              if name != "tessera"]
    print("   ".join(cells), flush=True)


def one_process(quick):
    scipy_filters, polars = peer("scipy.ndimage"), peer("polars")
    rng = numpy.random.default_rng(1)
    rounds = 3 if quick else 7
    print(f"one process, {tessera.threads()} threads; times of peers over ours in brackets; "
          f"numpy {numpy.__version__}, "
          + ", ".join(f"{name} {module.__version__}" if module else f"no {name}"
                      for name, module in (("scipy", peer("scipy")), ("polars", polars))))
    for n in (1000, 3000):
        a, b = (rng.standard_normal((n, n)) for _ in range(2))
        assert numpy.allclose(tessera.matmul(a, b), a @ b)
        print_row(f"a @ b, {n} x {n} f64", median_times(
            {"tessera": lambda: tessera.matmul(a, b), "numpy": lambda: a @ b}, rounds))
    for count in (10**6, 10**7 if quick else 10**8):
        for kind in ("f8", "i8"):
            keys = (rng.standard_normal(count) if kind == "f8"
                    else rng.integers(-2**63, 2**63 - 1, count))
            candidates = {"tessera": lambda: tessera.sort(keys), "numpy": lambda: numpy.sort(keys)}
            if polars:
                series = polars.Series(keys)
                candidates["polars"] = series.sort
            assert numpy.array_equal(tessera.sort(keys), numpy.sort(keys))
            print_row(f"sort, {count:.0e} {kind}",
                      median_times(candidates, rounds if count < 10**8 else 3))
    keys = rng.standard_normal(10**6 if quick else 10**7)
    print_row(f"argsort, {keys.size:.0e} f8", median_times(
        {"tessera": lambda: tessera.argsort(keys),
         "numpy": lambda: numpy.argsort(keys, kind="stable")}, 3))
    if scipy_filters:
        field, steps = rng.standard_normal((2048, 2048)), 20
        weights = numpy.array([[0, .25, 0], [.25, 0, .25], [0, .25, 0]])

        def heat_in_scipy():
            u = field
            for _ in range(steps):
                u = scipy_filters.convolve(u, weights, mode="nearest")
            return u
        ours = tessera.stencil(field, steps, weights=weights)
        assert numpy.allclose(ours, heat_in_scipy())
        print_row(f"{steps} steps of heat, 2048 x 2048 f64", median_times(
            {"tessera": lambda: tessera.stencil(field, steps, weights=weights),
             "scipy": heat_in_scipy}, 3))
    for shape, axes in (((4096, 4096), (1, 0)), ((5000, 3000), (1, 0)),
                        ((200, 300, 250), (2, 1, 0)), ((200, 300, 250), (0, 2, 1))):
        a = rng.standard_normal(shape)
        out = numpy.empty([shape[axis] for axis in axes])
        print_row(f"transpose {axes} of {shape}", median_times(
            {"tessera": lambda: tessera.transpose(a, axes, out=out),
             "numpy": lambda: numpy.copyto(out, a.transpose(axes))}, rounds))


def several_ranks(comm, quick):
    heat, dask = peer("heat"), peer("dask.array")
    rounds = 3 if quick else 5
    n, count = (1000, 10**6) if quick else (3000, 2 * 10**7)
    here = comm.rank == 0
    rng = numpy.random.default_rng(comm.rank)
    a, b = (tessera.DistArray((n, n), float, comm, "grid") for _ in range(2))
    for array in (a, b):
        array.local[...] = rng.standard_normal(array.local.shape)
    keys = tessera.DistArray(count, float, comm)
    keys.local[...] = rng.standard_normal(keys.local.size)
    whole_a, whole_b, whole_keys = (numpy.asarray(array) for array in (a, b, keys))

    def sort():
        mine = tessera.DistArray.from_local(keys.local.copy(), keys.shape, comm)
        mine.sort()
        return mine

    products = {"tessera": lambda: a @ b, "numpy on rank 0": lambda: here and whole_a @ whole_b}
    sorts = {"tessera": sort, "numpy on rank 0": lambda: here and numpy.sort(whole_keys)}
    transposes = {"tessera": a.transpose,
                  "numpy on rank 0": lambda: here and numpy.ascontiguousarray(whole_a.T)}
    if heat:
        ha, hb = (heat.array(whole, split=0) for whole in (whole_a, whole_b))
        hk = heat.array(whole_keys, split=0)
        products["Heat"] = lambda: heat.matmul(ha, hb)
        sorts["Heat"] = lambda: heat.sort(hk)
        transposes["Heat"] = lambda: heat.resplit(ha, 1)
    if dask:
        import dask as scheduler
        scheduler.config.set(scheduler="threads", num_workers=comm.size)
        chunk = -(-n // 2)
        da, db = (dask.from_array(whole, chunks=chunk) for whole in (whole_a, whole_b))
        products["dask (threads)"] = lambda: here and (da @ db).compute()
        transposes["dask (threads)"] = lambda: here and da.T.copy().compute()
    if here:
        print(f"{comm.size} ranks; " + ", ".join(
            f"{name} {module.__version__}" if module else f"no {name}"
            for name, module in (("Heat", heat), ("dask", peer("dask")))))
    for what, candidates in ((f"a @ b, {n} x {n} f64", products),
                             (f"sort, {count:.0e} f64", sorts),
                             (f"transpose of {n} x {n} f64", transposes)):
        times = median_times(candidates, rounds, comm.barrier)
        if here:
            print_row(what, times)


def main():
    quick = "--quick" in sys.argv
    if any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")):
        from mpi4py import MPI
        if MPI.COMM_WORLD.size > 1:
            several_ranks(MPI.COMM_WORLD, quick)
            return
    one_process(quick)


if __name__ == "__main__":
    main()
