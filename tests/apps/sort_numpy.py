"""tessera sort against numpy: sort and lexsort, of every type, input, order and storage form.

Compared bit by bit in the total order defined in apps/manual/sort.md, zeros and NaNs included.
Every result must also have the same bytes on one rank."""

import concurrent.futures
import os
import random
import unittest

import tessera
from sort_order import part_of, permutation
from tessera import h5py, numpy

RANKS = (1, 2, 3, 5, 8)
COUNTS = (0, 1, 2, 3, 7, 8, 100, 1009, 4096, 20011)
TASKS = ("keys", "keys", "argsort", "table", "records", "quantiles")
PASSIVE = {"OMP_WAIT_POLICY": "passive"}  # threads beyond the cores must not spin


def uniform(rng, n, kind):
    if kind.kind == "f":
        return rng.normal(size=n)
    limits = numpy.iinfo(kind)
    return rng.integers(limits.min, limits.max, n, dtype=kind.newbyteorder("="), endpoint=True)


def few(rng, n, kind):
    return rng.integers(0, 5, n)


def special(rng, n, kind):
    if kind.kind != "f":
        limits = numpy.iinfo(kind)
        return rng.choice(numpy.array([limits.min, 0, 1, limits.max], dtype=kind.newbyteorder("=")),
                          n)
    return rng.choice([0.0, -0.0, numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 1.5, -1.5], n)


def zipf(rng, n, kind):
    return numpy.minimum(rng.zipf(1.6, n), 120)


INPUTS = {"uniform": uniform, "few": few, "special": special, "zipf": zipf,
          "equal": lambda rng, n, kind: numpy.full(n, 3),
          "sorted": lambda rng, n, kind: numpy.sort(uniform(rng, n, kind)),
          "reverse": lambda rng, n, kind: numpy.sort(uniform(rng, n, kind))[::-1],
          "runs": lambda rng, n, kind: numpy.arange(n) % 97}


class Drawn:
    """One sort with random choices."""

    def __init__(self, number):
        rng = random.Random(f"{tessera.SEED} {number}")
        self.values = numpy.random.default_rng([tessera.SEED, number])
        self.number, self.task = number, TASKS[number % len(TASKS)]
        self.n = rng.choice(COUNTS)
        self.ranks = rng.choice(RANKS)
        self.threads = rng.choice([1, 1, 2])
        self.algorithm = rng.choice(["exact", "exact", "samplesort"])
        self.kernel = rng.choice(["auto", "auto", "std", "quicksort", "mergesort", "samplesort",
                                  "radix",
                                  "cache_oblivious"])
        keys = rng.randint(1, 3) if self.task in ("table", "records") else 1
        self.stored_as = rng.choice(["compound", "strings", "rows"])
        self.width = rng.choice([1, 3, 8, 10, 17])
        self.elements = [rng.choice(list(tessera.ELEMENTS)) for _ in range(keys)]
        self.inputs = [rng.choice(list(INPUTS) if keys == 1
                                  else ["few", "special", "zipf", "equal"])
                       for _ in range(keys)]
        self.part = rng.choice([("",), ("",), ("--unique",),
                                ("--top", rng.choice([0, 1, 3, self.n // 2, self.n + 1]))])
        self.streams = rng.random() < 0.4
        self.descending = [rng.random() < 0.4 for _ in range(keys)]
        self.storages = [rng.choice([s for s in tessera.STORAGES
                                     if s not in ("userblock", "deep_path")])
                         for _ in range(keys)]

    def columns(self):
        result = []
        for element, name in zip(self.elements, self.inputs):
            kind = numpy.dtype(tessera.ELEMENTS[element])
            with numpy.errstate(over="ignore"):
                result.append(INPUTS[name](self.values, self.n, kind).astype(kind))
        return result

    def method(self, sorts):
        out_of_core = ["--out-of-core", "always", "--memory",
                       "64KiB"] if self.streams and self.task != "quantiles" else []
        method = ["--kernel", self.kernel, "--algorithm", self.algorithm] if sorts else []
        return [*method, *(self.part if self.part[0] else ()), *out_of_core]

    def __str__(self):
        return (f"case {self.number}: {self.task}, {self.n} rows, {self.elements} {self.inputs} "
                f"descending "
                f"{self.descending} stored {self.storages} on {self.ranks} ranks x {self.threads} "
                f"threads, "
                f"{self.kernel}, {self.algorithm}, "
                f"{self.part}{', out of core' if self.streams else ''}")


class AgainstNumpy(tessera.Case):
    def sort(self, case, *arguments, ranks=None):
        sorts = "--apply" not in arguments and "--quantiles" not in arguments
        return self.run_tessera("sort", *case.method(sorts), *arguments,
                                ranks=case.ranks if ranks is None else ranks,
                                threads=case.threads, environment=PASSIVE)

    def check_keys(self, case, columns, out):
        source = tessera.write_matrix(self.path(f"{case.number}in.h5"), columns[0],
                                      case.storages[0], "K")
        result = self.sort(case, "--in", source, "--out", f"{out}:/K",
                           *["--descending"] * case.descending[0])
        if result.code != 0:
            return str(result)
        got, want = tessera.read_matrix(out, "K"), columns[0][part_of(
            permutation(columns, case.descending), columns, case.part)]
        if got.dtype != columns[0].dtype:
            return f"got {got.dtype}, want {columns[0].dtype}"
        return None if got.tobytes() == want.tobytes() else f"got {got[:20]}, want {want[:20]}"

    def check_argsort(self, case, columns, out):
        source = tessera.write_matrix(self.path(f"{case.number}in.h5"), columns[0],
                                      case.storages[0], "K")
        result = self.sort(case, "--in", source, "--argsort", f"{out}:/P", "--out", f"{out}:/K",
                           *["--descending"] * case.descending[0])
        if result.code != 0:
            return str(result)
        got, want = tessera.read_matrix(out, "P"), part_of(permutation(columns, case.descending),
                                                           columns, case.part)
        if not numpy.array_equal(got, want) or got.dtype != numpy.int64:
            return f"got {got.dtype} {got[:20]}, want {want[:20]}"
        keys, sorted_keys = tessera.read_matrix(out, "K"), columns[0][want]
        same = keys.dtype == sorted_keys.dtype and keys.tobytes() == sorted_keys.tobytes()
        return None if same else f"the keys do not follow: got {keys[:20]}, want {sorted_keys[:20]}"

    def check_table(self, case, columns, out):
        source = self.path(f"{case.number}in.h5")
        names = [f"c{c}" for c in range(len(columns))]
        carried = {"text": numpy.array([b"%05d" % (i % 99991) for i in range(case.n)], dtype="S5"),
                   "flag": numpy.arange(case.n) % 3 == 0,
                   "pair": numpy.zeros(case.n, dtype=[("x", "<f4"), ("y", "<i8")]),
                   "place": numpy.arange(3.0 * case.n).reshape(case.n, 3)}
        carried["pair"]["y"] = numpy.arange(case.n)
        with h5py.File(source, "w") as file:
            group = file.create_group("deep/table")
            for name, values, storage in zip(names, columns, case.storages):
                options = {"chunks": (min(13, case.n),),
                           "compression": "gzip"} if storage != "contiguous" and case.n else {}
                group.create_dataset(name, data=values, **options)
            for name, values in carried.items():
                group.create_dataset(name, data=values)
        by = ",".join(("-" if d else "") + name for name, d in zip(names, case.descending))
        result = self.sort(case, "--in", f"{source}:/deep/table", f"--by={by}", "--out",
                           f"{out}:/T", "--argsort",
                           f"{out}:/P")
        if result.code != 0:
            return str(result)
        want = part_of(permutation(columns, case.descending), columns, case.part)
        if not numpy.array_equal(tessera.read_matrix(out, "P"), want):
            return f"got {tessera.read_matrix(out, 'P')[:20]}, want {want[:20]}"
        for name, values in list(zip(names, columns)) + list(carried.items()):
            got = tessera.read_matrix(out, f"T/{name}")
            if got.dtype != values.dtype or got.tobytes() != values[want].tobytes():
                return f"column {name}: got {got.dtype} {got[:20]}, want {values.dtype} " \
                       f"{values[want][:20]}"
        if case.part[0]:
            return None
        again = self.path(f"{case.number}again.h5")
        result = self.sort(case, "--in", f"{source}:/deep/table", "--apply", f"{out}:/P", "--out",
                           f"{again}:/T")
        if result.code != 0:
            return str(result)
        same = all(tessera.read_matrix(again, f"T/{name}").tobytes()
                   == tessera.read_matrix(out, f"T/{name}").tobytes()
                   for name in names + list(carried))
        return None if same else "the permutation applied gives another table"

    def check_records(self, case, columns, out):
        source = self.path(f"{case.number}in.h5")
        rng, n, width = case.values, case.n, case.width
        text = rng.choice([b"", b"a", b"ab", b"b" * width, b"\xff" * width,
                           b"a" * (width - 1) + b"z"], n).astype(f"S{width}")
        if case.stored_as == "compound":  # members of any type and byte order, including a string
            kinds = [(f"c{c}", values.dtype) for c, values in enumerate(columns)]
            table = numpy.zeros(n, dtype=[*kinds, ("text", f"S{width}"), ("row", "<i4", (2,))])
            for (name, _), values in zip(kinds, columns):
                table[name] = values
            table["text"], table["row"][:, 1] = text, numpy.arange(n)
            names, keys, descending = [*(name for name, _ in kinds),
                                       "text"], [*columns, text], [*case.descending, True]
            by = [
                f"--by={','.join(('-' if d else '') + name for name, d in zip(names, descending))}"
            ]
        elif case.stored_as == "strings":
            table, keys, descending = text, [text], case.descending[:1]
            by = ["--descending"] * descending[0]
        else:  # records of bytes: a key in the middle
            table = rng.integers(0, 3, (n, width + 7), dtype="u1")
            keys = [numpy.ascontiguousarray(table[:, 2:2 + width]).view(f"V{width}").reshape(n)]
            keys, descending = [numpy.array([k.tobytes().hex() for k in keys[0]],
                                            dtype=f"S{2 * width}")], case.descending[:1]
            by = [f"--by={'-' if descending[0] else ''}2:{2 + width}"]
        with h5py.File(source, "w") as file:
            file.create_dataset("records", data=table,
                                chunks=(min(29, n),) + table.shape[1:] if n else None)
        result = self.sort(case, "--in", f"{source}:/records", *by, "--out", f"{out}:/R",
                           "--argsort", f"{out}:/P")
        if result.code != 0:
            return str(result)
        got, places, want = tessera.read_matrix(out, "R"), tessera.read_matrix(out, "P"), part_of(
            permutation(keys, descending), keys, case.part)
        if not numpy.array_equal(places, want):
            return f"{case.stored_as}: got {places[:20]}, want {want[:20]}"
        same = got.dtype == table.dtype and got.tobytes() == table[want].tobytes()
        return None if same else f"{case.stored_as}: got {got.dtype} {got[:5]}, want " \
                                 f"{table.dtype} {table[want][:5]}"

    def check_quantiles(self, case, columns, out):
        case.part = ("",)
        source = tessera.write_matrix(self.path(f"{case.number}in.h5"), columns[0],
                                      case.storages[0], "K")
        places = [0, 1, 0.5, 0.01, round(case.values.random(), 3)]
        result = self.sort(case, "--in", source, "--out", f"{out}:/Q", "--quantiles",
                           ",".join(map(str, places)))
        if case.n == 0:
            return None if result.code == tessera.BAD_DATA else str(result)
        if result.code != 0:
            return str(result)
        got, want = tessera.read_matrix(out, "Q"), []
        ordered = columns[0][permutation(columns, [False])].astype("f8")
        for q in places:
            at = q * (case.n - 1)
            low, high = ordered[int(at)], ordered[min(int(at) + 1, case.n - 1)]
            want.append(low if at == int(at) or low == high
                        else low + (high - low) * (at - int(at)))
        same = numpy.allclose(got, want, rtol=1e-14, atol=0, equal_nan=True)
        return None if same or not numpy.isfinite(
            want).all() and case.inputs[0] == "special" else f"got {got}, want {want}"

    def check(self, case):
        """Runs a case; returns None, or a description of the error."""
        out = self.path(f"{case.number}out.h5")
        wrong = getattr(self, f"check_{case.task}")(case, case.columns(), out)
        for name in os.listdir(self.folder):
            if name.startswith(f"{case.number}") and name[len(str(case.number))].isalpha():
                os.unlink(self.path(name))
        return f"{case}\n{wrong}" if wrong else None

    def check_all(self, count):
        cases = [Drawn(number) for number in range(count)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(self.check, cases) if text]
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(cases)} are wrong:\n"
                         + "\n".join(wrong[:5]))

    @unittest.skipIf(tessera.SLOW, "the complete set runs instead")
    def test_fifty_sorts(self):
        self.check_all(50)

    @unittest.skipUnless(tessera.SLOW, "TESSERA_TEST_SLOW=1 runs it")
    def test_three_hundred_sorts(self):
        self.check_all(300)

    def test_bytes_do_not_depend_on_ranks_or_threads(self):
        values = numpy.random.default_rng(tessera.SEED).choice([0.0, -0.0, numpy.nan, -numpy.nan,
                                                                2.5, -1.0], 5003)
        source = tessera.write_matrix(self.path("in.h5"), values, name="K")
        seen = set()
        for ranks in RANKS:
            for algorithm in ("exact", "samplesort"):
                out = self.path(f"{ranks}{algorithm}.h5")
                self.succeed("sort", "--in", source, "--out", f"{out}:/K", "--algorithm", algorithm,
                             ranks=ranks,
                             threads=1 + ranks % 2, environment=PASSIVE)
                seen.add(tessera.read_matrix(out, "K").tobytes())
        self.assertEqual(len(seen), 1)

    def test_columns_whose_rows_have_no_bytes_are_carried(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["T/key"], file["T/none"] = numpy.arange(9)[::-1], numpy.zeros((9, 0), "f4")
        for ranks, more in ((0, ()), (3, ()), (0, ("--top", 4)),
                            (2, ("--out-of-core", "always", "--memory", "64KiB"))):
            self.succeed("sort", "--in", "in.h5:/T", "--by", "key", "--out", "out.h5:/T",
                         "--overwrite", *more, ranks=ranks)
            self.assertEqual(tessera.read_matrix(self.path("out.h5"), "T/key").tolist(),
                             list(range(9))[:4 if "--top" in more else 9])
            self.assertEqual(tessera.read_matrix(self.path("out.h5"), "T/none").shape,
                             (4 if "--top" in more else 9, 0))

    def test_keys_are_written_in_the_type_that_the_input_has(self):
        """More numbers than one conversion buffer; a given type is the result's."""
        rng, ways = numpy.random.default_rng(tessera.SEED), ((),
                                                             ("--out-of-core", "always", "--memory",
                                                              "1MiB"))
        for number, kind in enumerate(numpy.dtype(k)
                                      for k in ("u1", "i1", "<u2", ">i2", "<f2", ">f2", ">u4",
                                                ">f4", ">i8", ">f8", "<i4")):
            values = uniform(rng, 270001 if number < 3 else 3001, kind).astype(kind)
            source = tessera.write_matrix(self.path("in.h5"), values, name="K")
            for how, words in enumerate((way, *part) for way in ways
                                        for part in ((), ("--unique",),
                                                     ("--top", 1000))[:3 if number % 2 else 1]):
                way, *part = words
                order = part_of(permutation([values], [False]), [values], part or ("",))
                self.succeed("sort", "--in", source, "--out", "out.h5:/K", "--overwrite", *way,
                             *part, ranks=RANKS[(number + how) % 4],
                             environment=PASSIVE)
                got = tessera.read_matrix(self.path("out.h5"), "K")
                self.assertEqual((got.dtype, got.tobytes()), (kind, values[order].tobytes()), words)
            self.succeed("verify", "out.h5")
        with h5py.File(self.path("in.h5"), "w") as file:
            file["bool"] = rng.random(3001) < 0.5
            for base in ("i1", ">i2", "<u2", "<i4", "<i8"):
                file.create_dataset(base, data=rng.integers(0, 3, 3001),
                                    dtype=h5py.enum_dtype({"a": 0, "b": 1, "c": 2}, base))
            kinds = {name: (values.id.get_type(), numpy.sort(values[()]))
                     for name, values in file.items()}
        for name, (kind, want) in kinds.items():
            for way in ways:
                self.succeed("sort", "--in", f"in.h5:/{name}", "--out", "out.h5:/K", "--overwrite",
                             *way, ranks=2, environment=PASSIVE)
                with h5py.File(self.path("out.h5")) as file:
                    self.assertEqual((file["K"].id.get_type(), file["K"][()].tobytes()),
                                     (kind, want.tobytes()), name)
        tessera.write_matrix(self.path("in.h5"), values, name="K")
        self.succeed("sort", "--in", source, "--out", "out.h5:/K", "--overwrite", "--type", "f64")
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").dtype, numpy.dtype("f8"))

    def test_quantiles_between_an_infinity_and_a_number_are_infinite(self):
        for words, want in (("-inf -1 5 inf nan", "-inf 2 inf nan"),
                            ("5 inf -inf inf -inf", "-inf -inf inf inf"), ("-inf inf", "nan " * 4)):
            source = tessera.write_matrix(self.path("in.h5"), numpy.array(words.split(), float),
                                          name="K")
            self.succeed("sort", "--in", source, "--quantiles", "0.125,0.375,0.625,0.875", "--out",
                         "q.h5:/Q", "--overwrite")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("q.h5"), "Q"),
                                             numpy.array(want.split(), float))

    def test_generated_inputs_pass_their_check(self):
        result = self.succeed("sort", "--n", "1000,1", "--input",
                              "uniform,zipf,almost_sorted,all_equal,staggered",
                              "--type", "u32,f64", "--repetitions", 1, "--warmups", 0, ranks=3,
                              environment=PASSIVE)
        rows = [line for line in result.out.splitlines() if " passed " in line]
        self.assertEqual(len(rows), 20, str(result))


if __name__ == "__main__":
    tessera.main()
