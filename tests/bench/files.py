"""files.py TESSERA [--quick]: whole commands from file to file against what their users have.

Wall time of the whole process, imports included, on all cores: every row runs Tessera and each peer
that is importable in turn, three times, with the file cache warm and then cold (files evicted, and
as root the whole cache dropped). Prints versions, medians and the ratio of the fastest peer to
Tessera. Files are in the file system of the current folder (TMPDIR names another)."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from file_rates import drop

PRELUDE = """
import h5py, numpy as np, sys
def load(name, path): return h5py.File(name, "r")[path][...]
def save(name, path, x): h5py.File(name, "w").create_dataset(path, data=x)
def table(): return {k: v[...] for k, v in h5py.File("t.h5", "r")["T"].items()}
def save_table(columns):
    with h5py.File("o.h5", "w") as f:
        for k, v in columns.items(): f["T/" + k] = v
def lazy(name, path):
    import dask.array as da
    d = h5py.File(name, "r")[path]
    return da.from_array(d, chunks=d.chunks or "auto")
"""
STEPS = 50
HEAT = """u = load("u.h5", "A")
for _ in range(%d):
    v = u.copy()
    v[1:-1, 1:-1] = u[1:-1, 1:-1] + .1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
                                          - 4 * u[1:-1, 1:-1])
    u = v
save("o.h5", "A", u)""" % STEPS
HEAT_SCIPY = """from scipy.ndimage import convolve
u, k = load("u.h5", "A"), np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])
for _ in range(%d): u = convolve(u, k, mode="nearest")
save("o.h5", "A", u)""" % STEPS
PRODUCT = {"numpy": 'save("o.h5", "A", load("{a}.h5", "A") @ load("{b}.h5", "A"))',
           "dask": '(lazy("{a}.h5", "A") @ lazy("{b}.h5", "A")).to_hdf5("o.h5", "/A")'}
POLARS = 'import polars as pl; save("o.h5", "A", pl.Series(load("k.h5", "A")).sort().to_numpy())'


def product(a, b):
    return {peer: code.format(a=a, b=b) for peer, code in PRODUCT.items()}


def permutation(name, axes):
    return {"numpy": f'save("o.h5", "A", np.ascontiguousarray(load("{name}.h5", "A")'
                     f'.transpose({axes})))',
            "dask": f'lazy("{name}.h5", "A").transpose({axes}).to_hdf5("o.h5", "/A")'}


TABLE = {
    "pandas": 'import pandas as pd; d = pd.DataFrame(table()).sort_values(["a", "b"], kind='
              '"stable"); save_table({k: d[k].to_numpy(d[k].dtype if k != "name" else "S8") '
              'for k in d})',
    "polars": 'import polars as pl; t = table(); d = pl.DataFrame({**t, "name": '
              't["name"].astype("U8")}).sort(["a", "b"], maintain_order=True); save_table({k: '
              'd[k].to_numpy() if k != "name" else d[k].to_numpy().astype("S8") '
              'for k in d.columns})',
    "duckdb": 'import duckdb, pandas as pd; t = table(); p = pd.DataFrame({**t, "name": '
              't["name"].astype("U8")}); r = duckdb.sql("select * from p order by a, b")'
              '.fetchnumpy(); save_table({k: v if k != "name" else v.astype("S8") '
              'for k, v in r.items()})',
    "numpy": 't = table(); i = np.lexsort((t["b"], t["a"])); '
             'save_table({k: v[i] for k, v in t.items()})'}


def rows(small):
    """Yields name, input files, words of Tessera, peers."""
    yield ("product 3000^2 f64", ("a", "b"), ["matmul", "--a", "a.h5:/A", "--b", "b.h5:/A"],
           product("a", "b"))
    yield ("product 8000x2000x8000 f64", ("c", "d"),
           ["matmul", "--a", "c.h5:/A", "--b", "d.h5:/A"], product("c", "d"))
    yield ("transpose 8000x5000 f64", ("m",), ["transpose", "--in", "m.h5:/A"],
           {**permutation("m", "1, 0"), "ncpdq": ["ncpdq", "-O", "-a", "y,x", "m.h5", "o.h5"]})
    yield ("axes 2,0,1 of chunked gzip f32", ("g",),
           ["transpose", "--in", "g.h5:/A", "--axes", "2,0,1"],
           {**permutation("g", "2, 0, 1"), "ncpdq": ["ncpdq", "-O", "-a", "z,x,y", "g.h5", "o.h5"]})
    yield ("table by 2 keys, 3 M rows", ("t",),
           ["sort", "--in", "t.h5:/T", "--by", "a,b"], TABLE)
    yield (f"heat 2048^2, {STEPS} steps", ("u",),
           ["stencil", "--in", "u.h5:/A", "--steps", str(STEPS)],
           {"numpy": HEAT, "scipy": HEAT_SCIPY})
    yield (f"sort {'1e7' if small else '1e8'} u64", ("k",), ["sort", "--in", "k.h5:/A"],
           {"numpy": 'x = load("k.h5", "A"); x.sort(); save("o.h5", "A", x)', "polars": POLARS})


def make_inputs(small):
    rng, part = np.random.default_rng(1), 4 if small else 1
    shapes = {"a": (3000, 3000), "b": (3000, 3000), "c": (8000, 2000), "d": (2000, 8000),
              "m": (8000, 5000), "u": (2048, 2048), "g": (120, 480, 960)}
    for name, shape in shapes.items():
        shape = tuple(n // part for n in shape)
        values = rng.standard_normal(shape)
        how = {}
        if name == "g":
            values = np.round(values, 2).astype("f4")
            how = {"chunks": (1, *shape[1:]), "compression": "gzip"}
        with h5py.File(name + ".h5", "w", track_order=True) as file:
            made = file.create_dataset("A", data=values, **how)
            for d, extent in enumerate(shape):
                file["xyz"[d]] = np.arange(extent)
                file["xyz"[d]].make_scale("xyz"[d])
                made.dims[d].attach_scale(file["xyz"[d]])
    n = 3_000_000 // part
    with h5py.File("t.h5", "w") as file:
        file["T/a"] = rng.integers(0, 1000, n)
        file["T/b"] = rng.standard_normal(n)
        file["T/name"] = rng.integers(10**6, 10**7, n).astype("S8")
    with h5py.File("k.h5", "w") as file:
        file["A"] = rng.integers(0, 2**63, 10**7 if small else 10**8, "u8")


def version(peer):
    """Returns the version of a peer; none if it is not installed."""
    if peer == "ncpdq":
        return shutil.which("ncpdq") and "installed"
    result = subprocess.run([sys.executable, "-c", f"import {peer}; print({peer}.__version__)"],
                            capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else None


def wall(command):
    """Returns the seconds of a whole command; none if it failed."""
    if os.path.exists("o.h5"):
        os.unlink("o.h5")
    began = time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    seconds = time.monotonic() - began
    if result.returncode == 0:
        return seconds
    print(f"failed: {' '.join(command[:2])}: {result.stderr.strip().splitlines()[-1:]}",
          file=sys.stderr)
    return None


def cool(names):
    drop(*(name + ".h5" for name in names))
    if os.geteuid() == 0 and os.access("/proc/sys/vm/drop_caches", os.W_OK):
        os.sync()
        try:
            with open("/proc/sys/vm/drop_caches", "w") as file:
                file.write("1")
        except OSError:
            pass  # a container that must not: the inputs are evicted


def compare(row, program, known, cold):
    """Prints a row of the table."""
    name, inputs, words, peers = row
    target = "o.h5:/T" if inputs == ("t",) else "o.h5:/A"
    commands = {"tessera": [program, *words, "--out", target]}
    for peer, code in peers.items():
        if known[peer]:
            commands[peer] = code if isinstance(code, list) else [sys.executable, "-c",
                                                                  PRELUDE + code]
    times = {who: [] for who in commands}
    for _ in range(3):
        for who in [who for who in times if None not in times[who]]:
            if cold:
                cool(inputs)
            times[who].append(wall(commands[who]))
    medians = {who: float(np.median(t)) for who, t in times.items() if None not in t}
    best = min((who for who in medians if who != "tessera"), key=medians.get)
    others = ", ".join(f"{who} {t:.2f}" for who, t in medians.items() if who != "tessera")
    print(f"{name:30} {'cold' if cold else 'warm'}  {medians['tessera']:6.2f} s  "
          f"{medians[best] / medians['tessera']:5.2f}  ({others})", flush=True)


def main():
    program, quick = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        os.chdir(folder)
        make_inputs(quick)
        table = list(rows(quick))
        known = {peer: version(peer) for *_, peers in table for peer in peers}
        print(", ".join(f"{peer} {v or 'missing'}" for peer, v in sorted(known.items()))
              + f"; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
              + ("; sizes / 4" if quick else ""))
        print(f"{'job':30} cache  tessera  ratio  (peers, s)")
        for row in table:
            for cold in (False, True):
                compare(row, program, known, cold)
        os.chdir("/")


if __name__ == "__main__":
    main()
