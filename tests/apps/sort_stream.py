"""tessera sort with too little memory, against numpy."""

import fcntl
import os

import tessera
from sort_order import codes_among_equal
from tessera import h5py, numpy

PASSIVE = {"OMP_WAIT_POLICY": "passive"}  # threads beyond the cores must not spin


def in_turn(choices, number):
    """Returns every other choice, alternating with the number; all in the complete set."""
    return choices if tessera.SLOW else choices[number % 2::2]


class OutOfCore(tessera.Case):
    def setUp(self):
        super().setUp()
        self.values = numpy.random.default_rng(tessera.SEED).normal(size=30000)
        self.write(self.values)
        self.request = ("sort", "--in", "in.h5:/K", "--out", "out.h5:/K", "--memory", "64KiB",
                        "--scratch", "runs")

    def write(self, values):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["K"] = values

    def stop_at(self, name, *more):
        """Makes an attempt end at that run, as if killed, by a folder in its place."""
        os.makedirs(self.path(f"runs/out.h5.runs/{name}.h5/x"))
        self.fail_with(tessera.CANNOT_CREATE, *self.request, *more, words=name)
        os.rmdir(self.path(f"runs/out.h5.runs/{name}.h5/x"))
        os.rmdir(self.path(f"runs/out.h5.runs/{name}.h5"))
        self.assertFalse(os.path.exists(self.path("out.h5")))

    def check(self, values):
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                         numpy.sort(values).tobytes())
        self.assertEqual(os.listdir(self.path("runs")), [])  # the runs are gone
        self.succeed("verify", "out.h5")

    def test_an_ended_attempt_goes_on_with_its_runs(self):
        self.stop_at("000003")
        self.assertIn("resumed: 3 of", self.succeed(*self.request, ranks=1).out)
        self.check(self.values)

    def test_runs_that_a_finished_sort_left_are_told_and_go_away(self):
        """Killed after its result was renamed, with the runs still there."""
        self.stop_at("000003")
        self.succeed("sort", "--in", "in.h5:/K", "--out", "out.h5:/K")
        said = self.fail_with(tessera.CANNOT_CREATE, *self.request, words="'out.h5' exists").err
        self.assertIn("'runs/out.h5.runs' holds runs of an earlier attempt; rerun with --overwrite",
                      said)
        self.assertIn("resumed: 3 of", self.succeed(*self.request, "--overwrite").out)
        self.check(self.values)

    def test_runs_of_other_data_are_not_used(self):
        self.stop_at("000003")
        self.write(self.values[::-1] + 1)
        self.assertNotIn("resumed", self.succeed(*self.request).out)
        self.check(self.values + 1)

    def test_what_is_damaged_is_made_again(self):
        self.stop_at("000003")
        with open(self.path("runs/out.h5.runs/000001.h5"), "r+b") as file:
            file.truncate(1000)
        self.assertIn("resumed: 2 of", self.succeed(*self.request).out)
        self.check(self.values)

    def test_a_run_with_another_byte_is_made_again(self):
        self.stop_at("000003")
        with h5py.File(self.path("runs/out.h5.runs/000001.h5"), "r+") as file:
            file["tessera_keys"][10] += 1e-9
        self.assertIn("resumed: 2 of", self.succeed(*self.request).out)
        self.check(self.values)

    def test_what_somebody_keeps_in_the_folder_of_the_runs_stays(self):
        self.stop_at("000003")
        for kept in ("notes.txt", "000002.h5.bak", "x/000001.h5"):
            os.makedirs(self.path("runs/out.h5.runs/x"), exist_ok=True)
            with open(self.path(f"runs/out.h5.runs/{kept}"), "w") as file:
                file.write("precious")
        with open(self.path("runs/out.h5.runs/.000003.h5.partial-host-1-0"), "w") as file:
            file.write("of a run that was killed")
        self.succeed(*self.request)
        self.assertEqual(sorted(os.listdir(self.path("runs/out.h5.runs"))),
                         ["000002.h5.bak", "notes.txt", "x"])
        self.assertEqual(os.listdir(self.path("runs/out.h5.runs/x")), ["000001.h5"])

    def test_a_file_of_others_with_the_name_of_a_run_stays(self):
        os.makedirs(self.path("runs/out.h5.runs"))
        with h5py.File(self.path("runs/out.h5.runs/000001.h5"), "w") as file:
            file["mine"] = [1.0]
        before = tessera.digest(self.path("runs/out.h5.runs/000001.h5"))
        for ranks in (0, 3):
            self.fail_with(tessera.CANNOT_CREATE, *self.request, ranks=ranks,
                           words=("000001.h5", "not a sorted run", "--scratch"))
            self.assertEqual(tessera.digest(self.path("runs/out.h5.runs/000001.h5")), before)

    def test_two_sorts_at_once_do_not_share_their_runs(self):
        """Two attempts share the runs' folder, as with one --scratch for outputs of the same name
        in different folders."""
        self.stop_at("000003")
        folder = os.open(self.path("runs/out.h5.runs"), os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        for ranks in (0, 2):
            self.fail_with(tessera.CANNOT_CREATE, *self.request, ranks=ranks,
                           words=("another sort", "out.h5.runs", "--scratch"))
        os.close(folder)
        self.assertIn("resumed: 3 of", self.succeed(*self.request).out)
        self.check(self.values)

    def divided(self, values, *more, memory="1MiB", **how):
        """Sorts enough keys for their runs to be divided by value, if the sample permits."""
        self.write(values)
        return self.succeed(*self.request[:5], "--memory", memory, "--scratch", "runs",
                            "--overwrite", *more, environment=PASSIVE, **how)

    def test_runs_divided_by_value(self):
        rng, n = numpy.random.default_rng(tessera.SEED), 200003
        special = numpy.array([numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0])
        cases = {"normal": rng.normal(size=n), "sorted": numpy.sort(rng.normal(size=n)),
                 "exponential": rng.exponential(1e30, n).astype("<f4"),
                 "u64": rng.integers(0, 2**64, n, dtype="u8"),
                 "i32 narrow": rng.integers(-50, 50, n, dtype="i4"),
                 "all equal": numpy.full(n, 7, "i8"),
                 "half equal": numpy.where(rng.random(n) < 0.5, 0, rng.integers(0, 2**62, n)),
                 "special": numpy.where(rng.random(n) < 0.1, rng.choice(special, n),
                                        rng.normal(size=n))}
        for number, (name, values) in enumerate(cases.items()):
            self.write(values)
            for order in ((), ("--descending",)):
                self.succeed("sort", "--in", "in.h5:/K", "--out", "whole.h5:/K", "--overwrite",
                             *order)
                want = tessera.read_matrix(self.path("whole.h5"), "K")
                for ranks in in_turn((1, 2, 3), number + len(order)):
                    out = self.divided(values, *order, ranks=ranks).out
                    self.assertNotEqual("out_of_core" in out, "--scratch without effect" in out,
                                        out)
                    got = tessera.read_matrix(self.path("out.h5"), "K")
                    self.assertEqual(got.tobytes(), want.tobytes(), (name, ranks, order))
                    self.assertEqual(os.listdir(self.path("runs")), [])
        self.succeed("verify", "out.h5")

    def test_what_no_sample_sees_is_sorted_all_the_same(self):
        values = numpy.arange(2**17, dtype="i8") << 32
        values.reshape(256, 512)[:, 32:] = 5  # each part's first 32 keys are sampled
        for ranks in (1, 3):
            self.assertIn("sample does not represent the input",
                          self.divided(values, memory="512KiB", ranks=ranks).out)
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                         numpy.sort(values).tobytes())
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_divided_runs_are_found_again(self):
        values = numpy.random.default_rng(tessera.SEED).normal(size=200003)
        self.write(values)
        self.request = (*self.request[:5], "--memory", "1MiB", "--scratch", "runs")
        self.stop_at("000003")
        with h5py.File(self.path("runs/out.h5.runs/000001.h5")) as file:
            keys, begin = file["tessera_keys"][()], file["tessera_samples"][()]
        self.assertTrue((keys[1:] < keys[:-1]).any())
        self.assertEqual(begin[-1], len(keys))
        for bucket in range(len(begin) - 2):
            if begin[bucket] < begin[bucket + 1] < begin[-1]:
                self.assertLessEqual(keys[begin[bucket]:begin[bucket + 1]].max(),
                                     keys[begin[bucket + 1]:].min())
        self.assertIn("resumed: 3 of", self.succeed(*self.request, ranks=1).out)
        self.check(values)

    def columns(self, n):
        """Returns the columns of a table: numbers of all storage types and frequencies, and the row
        number."""
        rng = numpy.random.default_rng(tessera.SEED)
        special = numpy.array([numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, -0.0, 0.0])
        return {"real": numpy.where(rng.random(n) < 0.2, rng.choice(special, n),
                                    rng.normal(size=n)), "kind": rng.integers(0, 5,
                                                                              n).astype("<i2"),
                "big": rng.integers(0, 120, n).astype(">i4"),
                "name": rng.integers(0, 10**6, n).astype("S9"), "equal": numpy.full(n, 7.5, "<f4"),
                "place": rng.normal(size=(n, 3)), "row": numpy.arange(n)}

    def order(self, columns, by):
        """Returns the stable order; NaN last in either, zeros of both signs equal except in the
        last column."""
        codes = [codes_among_equal(columns[by.split(",")[-1].lstrip("-")],
                                   by.split(",")[-1].startswith("-"))]
        for word in by.split(",")[::-1]:
            values = columns[word.lstrip("-")]
            code = numpy.unique(values, return_inverse=True)[1]
            codes.append(numpy.where(values != values, len(values),
                                     -code if word.startswith("-") else code))
        return numpy.lexsort(codes)

    def test_tables_divided_by_value(self):
        n = 30011
        columns = self.columns(n)
        with h5py.File(self.path("t.h5"), "w") as file:
            for name, values in columns.items():
                file[f"group/{name}"] = values
            rows = numpy.zeros(n, [(name, values.dtype, values.shape[1:])
                                   for name, values in columns.items()])
            for name, values in columns.items():
                rows[name] = values
            file["compound"] = rows
            file.create_dataset("chunks", data=rows, chunks=(1000,), compression="gzip",
                                compression_opts=1)
        for path, by, ranks in (("group", "real", 1), ("group", "-real,kind", 3),
                                ("compound", "kind,-big,real", 2), ("chunks", "name,real", 1),
                                ("group", "equal,-name", 2), ("group", "-kind", 1),
                                ("compound", "equal", 3), ("compound", "-name[2:5],big", 1)):
            self.succeed("sort", "--in", f"t.h5:/{path}", f"--by={by}", "--out", f"o.h5:/{path}",
                         "--argsort", "p.h5:/P", "--memory", "1MiB",
                         "--scratch", "runs", "--out-of-core", "always", "--overwrite", ranks=ranks,
                         environment=PASSIVE)
            keys = {**columns, "name[2:5]": numpy.array([name[2:5] for name in columns["name"]])}
            want = self.order(keys, by)
            self.assertTrue(numpy.array_equal(tessera.read_matrix(self.path("p.h5"), "P"), want),
                            (path, by, ranks))
            with h5py.File(self.path("o.h5")) as file:
                for name, values in columns.items():
                    got = file[f"group/{name}"][()] if path == "group" else file[path][()][name]
                    self.assertEqual(got.tobytes(), values[want].tobytes(), (path, by, ranks, name))
            self.assertEqual(os.listdir(self.path("runs")), [])
        self.succeed("verify", "o.h5")

    def test_divided_runs_of_a_table_are_found_again(self):
        n = 30011
        columns = self.columns(n)
        with h5py.File(self.path("in.h5"), "w") as file:
            for name, values in columns.items():
                file[f"K/{name}"] = values
        self.request = (*self.request[:5], "--by", "real,name", "--memory", "1MiB", "--scratch",
                        "runs", "--out-of-core", "always")
        self.stop_at("000003")
        with h5py.File(self.path("runs/out.h5.runs/000001.h5")) as file:
            rows, begin = file["K/row"][()], file["tessera_samples"][()]
        self.assertEqual(begin[-1], len(rows))
        self.assertTrue(len(begin) > 100 and (numpy.diff(rows) < 0).any())
        for bucket in range(len(begin) - 1):  # in input order
            self.assertTrue((numpy.diff(rows[begin[bucket]:begin[bucket + 1]]) > 0).all())
        with h5py.File(self.path("runs/out.h5.runs/000002.h5"), "r+") as file:
            file["K/place"][7, 1] += 1e-9
        self.assertIn("resumed: 2 of", self.succeed(*self.request, ranks=1).out)
        want = self.order(columns, "real,name")
        for name, values in columns.items():
            self.assertEqual(tessera.read_matrix(self.path("out.h5"), f"K/{name}").tobytes(),
                             values[want].tobytes(), name)
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_a_table_that_no_sample_sees_is_sorted_all_the_same(self):
        n = 2**15
        keys = numpy.arange(n, dtype="i8") << 32
        keys.reshape(256, 128)[:, 32:] = 5  # each part's first 32 rows are sampled
        with h5py.File(self.path("in.h5"), "w") as file:
            file["K/key"], file["K/row"] = keys, numpy.arange(n)
        request = (*self.request[:5], "--by", "key", "--memory", "512KiB", "--scratch", "runs",
                   "--overwrite", "--out-of-core", "always")
        for ranks in (1, 3):
            self.assertIn("sample does not represent the input",
                          self.succeed(*request, ranks=ranks, environment=PASSIVE).out)
            self.assertTrue(numpy.array_equal(tessera.read_matrix(self.path("out.h5"), "K/row"),
                                              numpy.argsort(keys, kind="stable")))
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_the_first_rows_of_data_larger_than_memory(self):
        for top in (0, 1, 700, 20000, 40000):
            for ranks in (1, 3):
                self.succeed(*self.request, "--top", top, "--descending", "--overwrite",
                             ranks=ranks, environment=PASSIVE)
                want = numpy.sort(self.values)[::-1][:top]
                self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                                 want.tobytes(), (top, ranks))
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_the_order_alone_by_a_member_that_is_narrower_than_its_row(self):
        n, rng = 20011, numpy.random.default_rng(tessera.SEED)
        table = numpy.zeros(n, dtype=[("a", "<i4"), ("b", "<f8"), ("text", "S30")])
        table["a"] = rng.integers(0, 50, n)
        with h5py.File(self.path("t.h5"), "w") as file:
            file["table"] = table
        for ranks in (1, 3):
            self.succeed("sort", "--in", "t.h5:/table", "--by", "a", "--argsort", "p.h5:/P",
                         "--memory", "512KiB",
                         "--out-of-core", "always", "--overwrite", ranks=ranks, environment=PASSIVE)
            want = numpy.argsort(table["a"], kind="stable")
            self.assertEqual(tessera.read_matrix(self.path("p.h5"), "P").tobytes(), want.tobytes())

    def distinct(self, values):
        """Returns the distinct numbers of a sort, the first of each."""
        ordered = numpy.sort(values)  # NaN last; all of one kind here
        same = (ordered[1:]
                == ordered[:-1]) | (numpy.isnan(ordered[1:]) & numpy.isnan(ordered[:-1]))
        return ordered[numpy.append(numpy.ones(min(1, len(ordered)), bool), ~same)]

    def test_each_key_once_of_data_larger_than_memory(self):
        rng, n = numpy.random.default_rng(tessera.SEED), 30000
        border = numpy.repeat(numpy.arange(7.0), 5000)[:n]  # few keys, each in every run
        cases = {"none equal": rng.permutation(n) - 7.0, "all equal": numpy.full(n, 3.5),
                 "border": border,
                 "hundreds": rng.integers(0, 300, n) / 4, "twice": rng.permutation(n) // 2 * 1.0,
                 "nan": numpy.where(rng.random(n) < 0.3, numpy.nan, rng.integers(0, 9000, n) * 1.0),
                 "empty": numpy.zeros(0), "one": numpy.ones(1)}
        for number, (name, values) in enumerate(cases.items()):
            self.write(values)
            want = self.distinct(values)
            for more, memory in enumerate(("64KiB", "12KiB")):
                for ranks in in_turn((1, 2, 3, 5), number + more):
                    out = self.succeed(*self.request[:5], "--memory", memory, "--scratch", "runs",
                                       "--out-of-core", "always",
                                       "--unique", "--overwrite", ranks=ranks, environment=PASSIVE)
                    got = tessera.read_matrix(self.path("out.h5"), "K")
                    self.assertEqual(got.tobytes(), want.tobytes(),
                                     (name, ranks, memory, got, want, str(out)))
                    self.assertEqual(os.listdir(self.path("runs")), [])
        self.succeed("verify", "out.h5")

    def test_zeros_of_both_signs_are_one_key_and_the_negative_one_comes_first(self):
        rng = numpy.random.default_rng(tessera.SEED)
        self.write(rng.choice([0.0, -0.0, 1.0], 30000)
                   * numpy.append(numpy.zeros(15000), numpy.ones(15000)))
        for ranks in (1, 3):
            self.succeed(*self.request, "--unique", "--overwrite", ranks=ranks, environment=PASSIVE)
            self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                             numpy.array([-0.0, 1.0]).tobytes())

    def test_the_first_row_of_each_key_of_a_table_larger_than_memory(self):
        n, rng = 20011, numpy.random.default_rng(tessera.SEED)
        for distinct in (1, 13, 4000, 10**6):
            columns = {"a": rng.integers(0, distinct, n), "b": rng.integers(0, 2, n).astype("<i2"),
                       "name": rng.integers(0, 10**5, n).astype("S5"), "m": rng.normal(size=(n, 3))}
            with h5py.File(self.path("t.h5"), "w") as file:
                for name, values in columns.items():
                    file[f"table/{name}"] = values
            order = numpy.lexsort([-columns["b"], columns["a"]])
            keys = numpy.stack([columns["a"][order], columns["b"][order]])
            want = order[numpy.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))]
            for ranks in (1, 2, 3, 5):
                self.succeed("sort", "--in", "t.h5:/table", "--by", "a,-b", "--unique", "--out",
                             "o.h5:/table", "--argsort",
                             "o.h5:/P", "--memory", "512KiB", "--out-of-core", "always",
                             "--overwrite", ranks=ranks,
                             environment=PASSIVE)
                self.assertTrue(numpy.array_equal(tessera.read_matrix(self.path("o.h5"), "P"),
                                                  want), (distinct, ranks))
                for name, values in columns.items():
                    got = tessera.read_matrix(self.path("o.h5"), f"table/{name}")
                    self.assertEqual(got.tobytes(), values[want].tobytes(), (distinct, ranks, name))

    def test_each_key_once_goes_on_with_its_runs_and_parts(self):
        values = numpy.round(self.values, 3) + 0.0  # no -0
        self.write(values)
        self.stop_at("000003", "--unique")
        self.stop_at("part_000002", "--unique")
        self.assertNotIn("resumed", self.succeed(*self.request, "--plan").out)
        result = self.succeed(*self.request, "--unique", ranks=1)
        self.assertIn("runs exist", result.out)
        self.assertIn("resumed: 2 of", result.out)
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                         numpy.unique(values).tobytes())
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_a_damaged_part_is_made_again(self):
        values = numpy.round(self.values, 4) + 0.0
        self.write(values)
        self.stop_at("part_000002", "--unique")
        with h5py.File(self.path("runs/out.h5.runs/part_000000.h5"), "r+") as file:
            file["tessera_keys"][10] += 1e-9
        self.assertIn("resumed: 1 of", self.succeed(*self.request, "--unique").out)
        self.assertEqual(tessera.read_matrix(self.path("out.h5"), "K").tobytes(),
                         numpy.unique(values).tobytes())

    def test_a_permutation_of_rows_larger_than_memory(self):
        n, rng = 20011, numpy.random.default_rng(tessera.SEED)
        columns = {"a": rng.normal(size=n), "name": rng.integers(0, 10**5, n).astype("S5"),
                   "m": rng.normal(size=(n, 3))}
        order = rng.permutation(n)
        with h5py.File(self.path("t.h5"), "w") as file:
            for name, values in columns.items():
                file[f"table/{name}"] = values
            file["perm"], file["twice"], file["outside"] = order, numpy.append(
                order[1:], order[5]), numpy.append(order[1:], n)
        request = ("sort", "--in", "t.h5:/table", "--out", "o.h5:/table", "--memory", "64KiB",
                   "--overwrite", "--apply")
        self.assertIn("in blocks", self.succeed(*request, "t.h5:/perm", "--plan").out)
        for ranks in (1, 3):
            self.assertIn("out_of_core", self.succeed(*request, "t.h5:/perm", ranks=ranks,
                                                      environment=PASSIVE).out)
            for name, values in columns.items():
                self.assertEqual(tessera.read_matrix(self.path("o.h5"), f"table/{name}").tobytes(),
                                 values[order].tobytes())
        for wrong in ("twice", "outside"):
            self.fail_with(tessera.BAD_DATA, *request, f"t.h5:/{wrong}", ranks=2, words=wrong)
        self.fail_with(tessera.MEMORY, *request[:5], "--memory", "32B", "--overwrite", "--apply",
                       "t.h5:/perm", words="insufficient")

    def test_the_results_tell_what_was_read_and_written(self):
        """Input and runs are read, runs and result written; runs contain samples in addition to the
        rows."""
        with h5py.File(self.path("t.h5"), "w") as file:
            for name in ("t/k", "t/row"):
                file[name] = self.values
        table = ("sort", "--in", "t.h5:/t", "--by", "k", "--out", "o.h5:/t", "--memory", "256KiB",
                 "--out-of-core", "always")
        for words, size in ((self.request, self.values.nbytes), (table, 2 * self.values.nbytes)):
            for ranks in (0, 3):
                self.succeed(*words, "--overwrite", "--results", "r.h5", ranks=ranks,
                             environment=PASSIVE)
                found = tessera.traffic(self.path("r.h5"))
                self.assertEqual(set(found), {0})
                read, written = found[0][:2]
                self.assertEqual(read, 2 * size)
                self.assertGreater(written, 2 * size)
                self.assertLess(written, 2.5 * size)

    def test_bytes_and_memory(self):
        self.succeed("sort", "--in", "in.h5:/K", "--out", "whole.h5:/K")
        for ranks in (1, 3):
            self.succeed(*self.request, "--overwrite", ranks=ranks, environment=PASSIVE)
            self.check(self.values)
        self.assertIn("out of core", self.succeed(*self.request, "--overwrite", "--plan").out)
        self.fail_with(tessera.MEMORY, "sort", "--in", "in.h5:/K", "--out", "o.h5:/K", "--memory",
                       "1KiB", words="insufficient")
        self.fail_with(tessera.MEMORY, *self.request[:5], "--memory", "64KiB", "--out-of-core",
                       "never", "--overwrite")
        self.fail_with(tessera.USAGE, "sort", "--in", "in.h5:/K", "--out-of-core", "always",
                       words="--out")
        self.fail_with(tessera.CANNOT_CREATE, *self.request[:7], "--scratch", "in.h5",
                       "--overwrite", words="--scratch")


if __name__ == "__main__":
    tessera.main()
