"""--memory and the plan give a rank's peak resident memory, including the program; in control
groups with small memory, with a cold and a warm file cache, no run is killed.

TESSERA_TEST_SLOW=1: also groups of 500 MiB, 1 and 2 GiB, and products, transposes, sorts and
stencils that fill each group in steps."""

import os
import re
import subprocess
import time
import unittest

import h5py
import numpy

import tessera
from tessera import MEMORY, OK

MEASURED = {"TESSERA_PROGRAM_MEMORY": ""}  # the program counts, as for users
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
MIB, GIB = 1 << 20, 1 << 30
ONCE = ("--repetitions", 1, "--warmups", 0)


def write_inputs(path, scale):
    """Writes A: a matrix, K: keys, T: a table, of about `scale` bytes each."""
    rng, n = numpy.random.default_rng(tessera.SEED), int((scale / 8) ** 0.5)
    with h5py.File(path, "w") as file:
        file["A"] = rng.random((n, n))
        file["K"] = rng.integers(0, 1 << 62, scale // 8)
        file["T/key"] = rng.integers(0, 1 << 62, scale // 20)
        file["T/value"] = rng.random(scale // 20)
        file["T/small"] = rng.random(scale // 20, dtype="f4")


def write_names(path, scale):
    """Adds S: a table with names, of about `scale` bytes."""
    rng, rows = numpy.random.default_rng(tessera.SEED), scale // 32
    with h5py.File(path, "a") as file:
        names = rng.integers(10 ** 8, 10 ** 9, rows).astype("S9")
        file["S/name"] = numpy.char.add(b"k", names).astype("S24")
        file["S/value"] = rng.random(rows)


def write_texts(path, rows):
    """Writes V: a table with texts of variable length, about 64 bytes each."""
    rng = numpy.random.default_rng(tessera.SEED)
    with h5py.File(path, "w") as file:
        file["V/key"] = rng.integers(0, 1 << 62, rows)
        file["V/text"] = numpy.array([b"x" * (48 + i % 32) for i in range(rows)], dtype=object)


@unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
class Peak(tessera.Case):
    """Peak resident set of every rank, according to the kernel, against the plan."""

    def planned(self, words, ranks):
        """Returns the bytes of the largest rank according to --plan, and those of the program
        itself, which depend on the MPI."""
        out = self.succeed(*words, "--plan", ranks=ranks, environment=MEASURED).out
        size = r"([\d.]+) (B|KiB|MiB|GiB)"
        found = re.findall(rf"holds (?:at most )?{size}(?: a rank)?, of which\s+{size} the program",
                           out)
        self.assertEqual(len(found), 1, out)
        number, unit, own, own_unit = found[0]
        return float(number) * UNITS[unit], float(own) * UNITS[own_unit]

    def check(self, what, words, ranks=0, least=0.9, most=1.0, limit=None, apart=0.1):
        """Compares plan and peak. limit: --memory, which every rank must respect. Messages account
        for 5 % of the smallest of these plans; how much of that MPI uses depends on the machine, so
        that only the upper bound is strict. apart: by which part the plans of two processes may
        differ, whose own memory differs by some pages."""
        words = [*words, *(("--memory", limit) if limit else ())]
        told, _ = self.planned(words, ranks)
        results = self.path("results.h5")
        if os.path.exists(results):
            os.unlink(results)
        self.succeed(*words, "--results", results, ranks=ranks, environment=MEASURED)
        with h5py.File(results, "r") as file:
            run = next(iter(file.values()))
            planned, peak = run["ranks/planned_resident"][()], run["ranks/peak_resident"][()]
        self.assertEqual(len(planned), max(1, ranks))
        print(f"{what}, {max(1, ranks)} ranks: planned {planned.max() / MIB:.1f} MiB, peak "
              f"{peak.max() / MIB:.1f} MiB, "
              f"{peak.max() / planned.max():.3f}" + (f" of --memory {limit / MIB:.0f} MiB" if limit
                                                     else ""), flush=True)
        with self.subTest(what, ranks=ranks):
            self.assertLess(abs(told - planned.max()), apart * max(told, planned.max()))
            self.assertTrue((peak <= most * planned).all(), f"{peak} {planned}")
            self.assertGreaterEqual(peak.max(), least * planned.max())
            if limit:
                self.assertTrue((planned <= 1.01 * limit).all(), f"{planned} {limit}")
                self.assertTrue((peak <= limit).all(), f"{peak} {limit}")

    def test_in_memory(self):
        """Sorts plan scratch as large as the keys: mergesort uses all of it, other kernels
        depending on the keys."""
        write_inputs(self.path("in.h5"), 80 * MIB)
        for ranks, more in ((0, 1), (3, 1.6)):
            n, out = int(2900 * more), ("--out", "out.h5:/X", "--overwrite")
            self.check("product", ("matmul", "--n", n, *ONCE), ranks)
            self.check("transpose", ("transpose", "--n", int(3600 * more), *ONCE, *out), ranks)
            words = ("transpose", "--in", "in.h5:/A", *ONCE, *out)
            self.check("transpose of a file", (*words, "--out-of-core", "never"), ranks)
            self.check("streamed transpose of a file", words, ranks)
            self.check("sort", ("sort", "--n", int(9e6 * more ** 2), "--kernel", "mergesort",
                                *ONCE), ranks)
            self.check("sort of a file", ("sort", "--in", "in.h5:/K", "--kernel", "mergesort",
                                          *out), ranks)
            # with few rows a rank may have to send all at once, which the plan counts
            self.check("argsort", ("sort", "--n", int(4e6 * more ** 4), "--kernel", "mergesort",
                                   "--argsort", "out.h5:/X", "--overwrite", *ONCE), ranks)
            self.check("sort of a table", ("sort", "--in", "in.h5:/T", "--by", "small,key",
                                           "--kernel", "mergesort", *out), ranks)
            self.check("stencil", ("stencil", "--shape", f"{n}x{n}", "--steps", 8, *ONCE, *out),
                       ranks)

    @unittest.skipUnless(tessera.SLOW, "the complete set takes some minutes; TESSERA_TEST_SLOW=1")
    def test_rows_in_memory(self):
        """Rows sorted by one and two words and by names."""
        write_inputs(self.path("in.h5"), 200 * MIB)
        write_names(self.path("in.h5"), 200 * MIB)
        out = ("--kernel", "mergesort", "--out", "out.h5:/X", "--overwrite")
        for ranks in (0, 3, 4):
            for what, words in (("a table", ("in.h5:/T", "--by", "key")),
                                ("a table by two columns", ("in.h5:/T", "--by", "small,key")),
                                ("names", ("in.h5:/S", "--by", "name"))):
                self.check(f"sort of {what}", ("sort", "--in", *words, *out), ranks, least=0.93)

    def test_repetitions(self):
        """Buffers of many sizes are freed and allocated again: the peak is that of one repetition.
        Neither touches all that is planned."""
        write_inputs(self.path("in.h5"), 40 * MIB)
        often = ("--repetitions", 5, "--warmups", 1)
        self.check("sort of a table", ("sort", "--in", "in.h5:/T", "--by", "small,key", *often,
                                       "--out", "out.h5:/X", "--overwrite"), least=0.7)
        for ranks in (2, 3, 4) if tessera.SLOW else (4,):
            n = int(2600 * ranks ** 0.5)
            self.check("panels", ("matmul", "--n", n, "--k", n // 4, "--algorithm", "summa",
                                  *often), ranks, least=0.85)

    def test_in_rounds(self):
        self.check("product in rounds", ("matmul", "--n", 3600, *ONCE), 3, limit=190 * MIB)
        _, own = self.planned(("sort", "--n", 30000000, *ONCE), 3)
        self.check("sort in rounds", ("sort", "--n", 30000000, *ONCE), 3, least=0.8,
                   limit=int(own) + 94 * MIB)

    def test_out_of_core(self):
        """Tiles do not fill every limit; runs and parts of sorts fill what they plan."""
        write_inputs(self.path("in.h5"), 200 * MIB)
        write_names(self.path("in.h5"), 200 * MIB)
        for ranks, limit in ((0, 200 * MIB), (3, 120 * MIB)):
            out = ("--out", "out.h5:/X", "--overwrite", "--out-of-core", "always")
            self.check("product out of core", ("matmul", "--n", 3600, *out), ranks, least=0.8,
                       limit=limit)
            self.check("product of files", ("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A", *out),
                       ranks, least=0.8, limit=limit)
            self.check("transpose of a file", ("transpose", "--in", "in.h5:/A", *out), ranks,
                       least=0.8, limit=limit)
            for what, words in (("a file", ("in.h5:/K",)), ("a table", ("in.h5:/T", "--by", "key")),
                                ("names", ("in.h5:/S", "--by", "name"))):
                # three runs or more, and one more where the program's memory leaves a little less
                self.check(f"sort of {what}", ("sort", "--in", *words, *out), ranks, limit=limit,
                           apart=0.26)
            # a tile a rank, which is not read ahead
            self.check("transpose in few tiles", ("transpose", "--n", 2000, *out), ranks, least=0.8,
                       limit=limit)
        # three ranks have two runs each, though four runs would fit the memory
        self.check("sort of a file in equal parts", ("sort", "--in", "in.h5:/K", *out), 3,
                   limit=200 * MIB)

    def test_texts_out_of_core(self):
        """Texts of variable length are carried in rounds that fill the memory."""
        write_texts(self.path("in.h5"), 800000)
        words = ("sort", "--in", "in.h5:/V", "--by", "key", "--out", "out.h5:/X", "--overwrite")
        for ranks in (0, 3):
            self.check("sort of texts", (*words, "--out-of-core", "always"), ranks, least=0.85,
                       limit=80 * MIB)

    def test_the_program_counts(self):
        """A limit below the program's own memory fails for any problem; the message states that
        memory."""
        for words in (("matmul", "--n", 100), ("transpose", "--n", 100), ("sort", "--n", 1000),
                      ("stencil", "--shape", "9x9")):
            self.fail_with(MEMORY, *words, "--memory", "2MiB",
                           words=("the program itself", "2 MiB"), environment=MEASURED)
        self.fail_with(MEMORY, "transpose", "--n", 100, "--out", "t.h5:/T", "--out-of-core",
                       "always", "--memory", "2MiB",
                       words=("the program itself", "raise --memory"), environment=MEASURED)
        # buffers only, as in tests of tiny inputs
        self.succeed("matmul", "--n", 100, "--memory", "2MiB")


# --- memory groups


class Group:
    """A memory control group of `limit` bytes, version 1 or 2; OSError if none can be created."""

    def __init__(self, limit):
        self.folder, names = self.find()
        os.mkdir(self.folder)
        try:
            self.write(names, limit)
        except OSError:
            self.remove()
            raise

    @staticmethod
    def find():
        name = f"tessera-test-{os.getpid()}-{time.monotonic_ns()}"
        with open("/proc/self/mountinfo") as mounts:
            lines = [line.split() for line in mounts]
        own = {}
        with open("/proc/self/cgroup") as groups:
            for line in groups:
                _, controllers, path = line.rstrip("\n").split(":", 2)
                own.update({word: path for word in controllers.split(",")})
        for words in lines:
            kind, options = words[words.index("-") + 1], words[-1].split(",")
            if kind == "cgroup" and "memory" in options:
                inside = words[4] + own.get("memory", "/")
                return os.path.join(inside if os.path.isdir(inside) else words[4], name), 1
            if kind == "cgroup2":
                with open(os.path.join(words[4], "cgroup.subtree_control")) as file:
                    if "memory" in file.read().split():
                        return os.path.join(words[4], name), 2
        raise OSError("no control group here has a memory controller for groups of one's own")

    def write(self, version, limit):
        with open(os.path.join(self.folder, "memory.limit_in_bytes" if version == 1
                               else "memory.max"), "w") as file:
            file.write(str(limit))

    def run(self, command, **how):
        """Runs the command in the group from its first instruction on."""
        enter = f'echo $$ > "{self.folder}/cgroup.procs" && exec "$@"'
        return tessera.Job(["-c", enter, "sh", *command], program="/bin/sh", **how).wait()

    def read(self, file, folder):
        """Reads a file into the file cache, charged to the group."""
        self.run(["sh", "-c", 'exec cat "$1" > /dev/null', "sh", file], folder=folder)

    def report(self):
        """Returns what the kernel has counted in the group, and its last report of a kill."""
        texts = []
        for name in ("memory.events", "memory.peak", "memory.max_usage_in_bytes", "memory.stat"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path) as file:
                    texts += [f"--- {name}", file.read()]
        log = subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout
        return "\n".join((*texts, log[max(0, log.rfind("invoked oom-killer")):][:8000]))

    def remove(self):
        for _ in range(200):
            try:
                return os.rmdir(self.folder)
            except OSError:
                time.sleep(0.05)  # its last process is about to end
        return None


@unittest.skipIf(tessera.SANITIZED, "sanitizers hold more memory")
class InGroups(tessera.Case):
    def in_group(self, limit):
        try:
            group = Group(limit)
        except OSError as reason:
            self.skipTest(f"no memory group can be made: {reason}")
        self.addCleanup(group.remove)
        return group

    def require_ran(self, group, result, codes=(OK, MEMORY)):
        """Fails with the kernel's report of the group unless the run ended with such a code."""
        if result.code not in codes:
            self.fail(f"{result}\n{group.report()}")

    def requests(self, limit, ranks, fill):
        """Yields all workloads with `fill` of the group's bytes for arrays, and some from file to
        file."""
        n, out = int((fill * limit / 16) ** 0.5), ("--out", "out.h5:/X", "--overwrite")
        # C and its neighbours: a second at most
        yield "product", ("matmul", "--n", n, "--k", 200, *ONCE, *out)
        yield "transpose", ("transpose", "--n", n, *ONCE, *out)
        yield "sort", ("sort", "--n", int(fill * limit / 16), *ONCE, *out)
        yield "stencil", ("stencil", "--shape", f"{n}x{n}", "--steps", 4, *ONCE, *out)
        if ranks:
            yield "sort without a file", ("sort", "--n", int(fill * limit / 9), *ONCE)

    def from_files(self):
        out = ("--out", "out.h5:/X", "--overwrite")
        yield "product of files", ("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A", "--no-verify",
                                   *out)
        yield "transpose of a file", ("transpose", "--in", "in.h5:/A", *out)
        yield "sort of a file", ("sort", "--in", "in.h5:/K", *out)
        yield "sort of a table", ("sort", "--in", "in.h5:/T", "--by", "key", *out)
        yield "stencil of a file", ("stencil", "--in", "in.h5:/A", "--steps", 2, *ONCE, *out)

    def forget(self):
        """Evicts the input from the file cache."""
        with open(self.path("in.h5"), "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def run_in(self, group, what, ranks, words, codes):
        command = [*((tessera.MPIRUN, "-n", str(ranks)) if ranks else ()), tessera.PROGRAM,
                   *map(str, words)]
        result = group.run(command, folder=self.folder, environment=MEASURED)
        with self.subTest(what, ranks=ranks):
            self.require_ran(group, result)
        codes.append(result.code)

    def look_at(self, limit, ranks, fills):
        group, codes = self.in_group(limit), []
        for fill in fills:
            for what, words in self.requests(limit, ranks, fill):
                self.run_in(group, f"{what}, {fill} of {limit / MIB:.0f} MiB", ranks, words, codes)
        write_inputs(self.path("in.h5"), int(0.45 * limit))
        for cache in ("cold", "warm"):
            for what, words in self.from_files():
                if cache == "cold":
                    self.forget()
                else:  # read twice, so that its pages are active and belong to this group
                    for _ in range(2):
                        group.read(self.path("in.h5"), self.folder)
                self.run_in(group, f"{what}, {cache}, {limit / MIB:.0f} MiB", ranks, words, codes)
        print(f"{limit / MIB:.0f} MiB, {max(1, ranks)} ranks: {codes.count(OK)} ran, "
              f"{codes.count(MEMORY)} were refused", flush=True)
        # a plan that refuses everything would respect any limit
        self.assertGreaterEqual(codes.count(OK), len(codes) // 3)

    def test_groups(self):
        limits = (300 * MIB, 500 * MIB, GIB, 2 * GIB) if tessera.SLOW else (300 * MIB,)
        fills = (0.4, 0.6, 0.8, 0.95, 1.3) if tessera.SLOW else (0.75,)
        for limit in limits:
            for ranks in (0, 3):
                self.look_at(limit, ranks, fills)

    def test_a_warm_cache_leaves_as_much_as_a_cold_one(self):
        """Pages read twice are active, and the kernel reclaims them like others."""
        group = self.in_group(400 * MIB)
        write_inputs(self.path("in.h5"), 120 * MIB)
        for _ in range(2):
            group.read(self.path("in.h5"), self.folder)
        result = group.run([tessera.PROGRAM, "transpose", "--n", "3600", *map(str, ONCE)],
                           folder=self.folder,
                           environment=MEASURED)
        self.require_ran(group, result, (OK,))

    def test_the_report_of_a_killed_sort(self):
        """A product and then a sort of 1e8 keys into one file, in 500 MiB: the sort went out of
        core and was killed."""
        group = self.in_group(500 * MIB)
        for words in (("matmul", "--n", 1500, "--out", "o.h5:/C", *ONCE),
                      ("sort", "--n", 50000000, "--out", "o2.h5:/C", *ONCE)):
            result = group.run([tessera.PROGRAM, *map(str, words)], folder=self.folder,
                               environment=MEASURED)
            self.require_ran(group, result)


if __name__ == "__main__":
    tessera.main()
