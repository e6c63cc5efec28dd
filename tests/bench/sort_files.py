"""sort_files.py TESSERA [--quick] [--only NAME,...]: sorting out of core against the file system's
own rates.

Keys, tables, strings and records of four times the allowed memory are sorted from file to file,
interleaved with writing and reading as many bytes in large pieces. Device rates: written as the
product does, into reserved space with a final sync, and read with a cold cache. File cache rates:
written without sync, and read again at once. Whole commands are timed, from start to end of the
process, with the input cold and cached. Files are in the file system of the current folder (TMPDIR
names another). The last lines are the check's share of sorts in memory, from the phases of one
process."""
import os
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from file_rates import PIECE, drop, time_read, time_write


def time_ours(command, threads, result):
    if os.path.exists(result):
        os.unlink(result)
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    began = time.monotonic()
    subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True,
                   env=environment)
    return time.monotonic() - began


def keys(kind, n):
    rng = np.random.default_rng(1)
    return {"u64 uniform": lambda: rng.integers(0, 2**64, n, dtype="u8"),
            "f64 gaussian": lambda: rng.normal(size=n),
            "u64 exponential": lambda: rng.exponential(2.0**40, n).astype("u8"),
            "u32 uniform": lambda: rng.integers(0, 2**32, n, dtype="u4")}[kind]()


def columns(kind, n):
    """Returns the columns of a table; the last one is the row number."""
    rng = np.random.default_rng(1)
    if kind == "table of two":
        return {"key": rng.integers(0, 2**64, n, dtype="u8"), "row": np.arange(n)}
    return {"time": rng.integers(0, n // 8, n) / 16,
            "energy": rng.exponential(2.0**10, n).astype("f4"),
            "channel": rng.integers(0, 99, n, dtype="i4"), "place": rng.random((n, 2)),
            "row": np.arange(n)}


TABLES = {"table of two": "key", "table of five": "time,-energy", "compound": "time,-energy"}
RECORDS = {"records": (100, 10), "strings": (16, 16)}  # bytes, and bytes of the key
KEYS = ("u64 uniform", "f64 gaussian", "u64 exponential")


def prepare(source, kind, n):
    """Writes the input and returns the bytes of a row."""
    with h5py.File(source, "w") as file:
        if kind in RECORDS:
            bytes_of, key = RECORDS[kind]
            rows = np.random.default_rng(1).integers(1, 256, (n, bytes_of), dtype="u1")
            # no zeros
            rows[:, bytes_of - 8:] = 1 + np.arange(n)[:,
                                                      None] // np.array([255**d
                                                                         for d in range(8)]) % 255
            file["K"] = rows if key < bytes_of else rows.view(f"S{bytes_of}").reshape(n)
            return bytes_of
        if kind not in TABLES:
            file["K"] = keys(kind, n)
            return file["K"].dtype.itemsize
        table = columns(kind, n)
        row = sum(values[:1].nbytes for values in table.values())
        if kind == "compound":
            rows = np.empty(n, [(name, values.dtype, values.shape[1:])
                                for name, values in table.items()])
            for name, values in table.items():
                rows[name] = values
            file["K"] = rows
        else:
            for name, values in table.items():
                file[f"K/{name}"] = values
        return row


def order_of(source, kind):
    """Returns the permutation that sorts the rows."""
    with h5py.File(source) as file:
        if kind in RECORDS:
            key = RECORDS[kind][1]
            rows = file["K"][()].view("u1").reshape(file["K"].shape[0], -1)
            return np.argsort(np.ascontiguousarray(rows[:, :key]).view(f"S{key}").reshape(-1),
                              kind="stable")
        table = file["K"]
        return np.argsort(table["key"][()],
                          kind="stable") if kind == "table of two" else np.lexsort(
                              (-table["energy"][()], table["time"][()]))


def require_sorted(source, result, kind):
    with h5py.File(source) as a, h5py.File(result) as b:
        if kind in KEYS:
            assert np.array_equal(np.sort(a["K"][()]), b["K"][()]), "the result is wrong"
            return
        order = order_of(source, kind)
        parts = [f"K/{name}" for name in a["K"]] if isinstance(a["K"], h5py.Group) else ["K"]
        assert all(a[part][()][order].tobytes() == b[part][()].tobytes()
                   for part in parts), "the result is wrong"


def arguments_of(kind):
    return ["--by", TABLES[kind]] if kind in TABLES else ["--by",
                                                          "0:10"] if kind == "records" else []


def measure(program, kind, n, repetitions, threads):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        source, result, plain = (os.path.join(folder, name) for name in ("a.h5", "s.h5", "plain"))
        row = prepare(source, kind, n)
        size = n * row // PIECE * PIECE
        limit = n * row // 4
        command = [program, "sort", "--in", f"{source}:/K", "--out", f"{result}:/K", "--memory",
                   str(limit),
                   "--out-of-core", "always", *arguments_of(kind)]
        samples = {}

        def note(name, seconds):
            samples.setdefault(name, []).append(seconds)

        for repetition in range(repetitions):
            note("write", time_write(plain, size, True))
            drop(plain)
            note("read", time_read(plain))
            note("cached write", time_write(plain, size, False))
            note("cached read", time_read(plain))
            os.unlink(plain)  # otherwise its write-back would disturb the following runs
            for count in threads if repetition % 2 == 0 else threads[::-1]:
                drop(source)
                note((count, "cold"), time_ours(command, count, result))
                note((count, "cached"), time_ours(command, count, result))
        require_sorted(source, result, kind)
    median = {name: float(np.median(values)) for name, values in samples.items()}
    print(f"{kind}, {n} rows ({n * row / 1e9:.2f} GB) with --memory {limit / 1e6:.0f} MB; medians "
          f"of {repetitions}")
    for prefix, state in (("", "cold"), ("cached ", "cached")):
        read, write = median[prefix + "read"], median[prefix + "write"]
        twice = 2 * (read + write) * n * row / size
        print(f"  {'device' if state == 'cold' else 'file cache'}: reads {size / 1e9 / read:.2f} "
              f"GB/s, writes "
              f"{size / 1e9 / write:.2f} GB/s; two reads and two writes {twice:.3f} s")
        for count in threads:
            ours = median[count, state]
            print(f"    tessera, {count} thread{'s' if count > 1 else ''}, input "
                  f"{'not ' if state == 'cold' else ''}in the cache: "
                  f"{ours:.3f} s, {ours / twice:.2f} times as long", flush=True)


def measure_check(program, kind, n, repetitions, threads):
    """Prints the share of all phases that checks of order and rows take in memory, from the same
    process. Keys are also hashed while they are read and sorted, which counts as those phases."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", ".")) as folder:
        source, result, results = (os.path.join(folder, name) for name in ("a.h5", "s.h5", "r.h5"))
        prepare(source, kind, n)
        command = [program, "sort", "--in", f"{source}:/K", "--out", f"{result}:/K", "--results",
                   results, *arguments_of(kind)]
        for count in threads:
            shares = []
            for _ in range(repetitions):
                time_ours(command, count, result)
                with h5py.File(results) as file:
                    phases = next(iter(file.values()))["phases"]
                    seconds, names = phases["seconds"][()], phases["phase"][()]
                    shares.append((seconds[names == b"verify"].sum(), seconds.sum()))
                os.unlink(results)  # otherwise the next run would skip its point
            verify, all_phases = np.median([share[0]
                                            for share in shares]), np.median([share[1]
                                                                              for share in shares])
            print(f"{kind}, {n} rows in memory, {count} thread{'s' if count > 1 else ''}: the "
                  f"check takes {verify:.3f} of {all_phases:.3f} s, "
                  f"{100 * np.median([a / b for a, b in shares]):.1f} %", flush=True)


def main():
    program, quick = os.path.abspath(sys.argv[1]), "--quick" in sys.argv
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    size = 1 << (28 if quick else 29)
    widths = {"table of two": 16, "table of five": 40, "compound": 40, "strings": 16,
              "records": 100}
    for kind in (*KEYS, *widths):
        if only is None or kind in only:
            measure(program, kind, size // widths.get(kind, 8), 3 if quick else 5, (1, 2))
            measure_check(program, kind, size // widths.get(kind, 8), 3 if quick else 5, (1, 2))
    if not quick and only is None:
        measure(program, "u64 uniform", size // 2, 3, (1, 2))


if __name__ == "__main__":
    main()
