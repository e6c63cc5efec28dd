"""Columns of tables: strings, sequences and references that are carried, strings that are keys, and
the choice of columns, against h5py and numpy."""

import os

import tessera
from tessera import h5py, numpy

OUT_OF_CORE = ("--out-of-core", "always", "--memory", "64KiB")


class Columns(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        n = self.n = 400
        self.key = rng.integers(0, 50, n)
        self.order = numpy.argsort(self.key, kind="stable")
        self.words = numpy.array(["x" * (i % 7) + str(i) for i in range(n)], dtype=object)
        self.ragged = numpy.array([numpy.arange(i % 5) for i in range(n)] + [None],
                                  dtype=object)[:n]
        with h5py.File(self.path("t.h5"), "w") as file:
            file["targets/a"], file["targets/b"] = [1.5], [2, 3]
            table = file.create_group("table")
            table["key"], table["value"] = self.key, numpy.arange(n)
            table.create_dataset("words", data=self.words, dtype=h5py.string_dtype())
            table.create_dataset("ragged", data=self.ragged, dtype=h5py.vlen_dtype("i4"))
            refs = table.create_dataset("refs", (n,), dtype=h5py.ref_dtype)
            for i in range(n):
                refs[i] = file[("targets/a", "targets/b", "table/key")[i % 3]].ref
            table["short"], table["title"] = [1, 2, 3], "of the table"
            table["words"].attrs["units"] = "1"

    def sort(self, *more, code=tessera.OK, **how):
        arguments = ("sort", "--in", "t.h5:/table", "--by", "key", "--out", "s.h5:/t",
                     "--overwrite", *more)
        return (self.succeed(*arguments, **how) if code == tessera.OK
                else self.fail_with(code, *arguments, **how))

    def test_strings_sequences_and_references_are_carried(self):
        for ranks in (1, 3):
            result = self.sort(ranks=ranks)
            self.assertIn("note: t.h5:/table has 400 rows; copied unchanged: short (3 rows), "
                          "title (a scalar)", result.err)
            with h5py.File(self.path("s.h5")) as file, h5py.File(self.path("t.h5")) as source:
                got = file["t"]
                self.assertEqual(list(got["words"].asstr()), list(self.words[self.order]))
                self.assertEqual(got["words"].attrs["units"], "1")
                for mine, want in zip(got["ragged"], self.ragged[self.order]):
                    numpy.testing.assert_array_equal(mine, want)
                for mine, want in zip(got["refs"], source["table/refs"][()][self.order]):
                    name = source[want].name.replace("/table", "/t")
                    self.assertEqual(file[mine].name, name)
                numpy.testing.assert_array_equal(file["targets/b"], [2, 3])
                numpy.testing.assert_array_equal(got["short"], [1, 2, 3])
                self.assertEqual(got["title"].asstr()[()], "of the table")
            self.succeed("verify", "s.h5")
        self.sort("--unique")
        with h5py.File(self.path("s.h5")) as file:
            first = numpy.unique(self.key, return_index=True)[1]
            self.assertEqual(list(file["t/words"].asstr()), list(self.words[first]))

    def test_damaged_strings_are_found(self):
        self.sort()
        with h5py.File(self.path("s.h5"), "r+") as file:
            file["t/words"][7] = "other"
        self.assertEqual(self.run_tessera("verify", "s.h5").code, tessera.VERIFICATION)

    def test_strings_are_keys(self):
        texts = numpy.array([w.encode() for w in self.words])
        for ranks in (1, 3, 4):
            for by, order in (("words", numpy.argsort(texts, kind="stable")),
                              ("key,words", numpy.lexsort((texts, self.key))),
                              ("words[0:2],-value",
                               numpy.lexsort((-numpy.arange(self.n), texts.astype("S2"))))):
                self.succeed("sort", "--in", "t.h5:/table", "--by", by, "--out", "s.h5:/t",
                             "--overwrite", ranks=ranks)
                with h5py.File(self.path("s.h5")) as file:
                    numpy.testing.assert_array_equal(file["t/value"], order, f"{by}, {ranks}")
                    self.assertEqual(list(file["t/words"].asstr()), list(self.words[order]))

    def test_strings_of_all_kinds_are_ordered_by_bytes(self):
        words = ["b", "", "a", "aa", "\u00e9", "z", "\u20ac", "a" * 300, "a", "\U0001f600", "B"]
        with h5py.File(self.path("w.h5"), "w") as file:
            data = file.create_dataset("w", (len(words) + 2,), dtype=h5py.string_dtype(),
                                       chunks=(4,), maxshape=(None,))
            data[:len(words)] = words  # the last two are null
            rows = numpy.zeros(len(words), [("w", h5py.string_dtype()), ("i", "i4")])
            rows["w"], rows["i"] = words, numpy.arange(len(words))
            file["rows"] = rows
            file.create_dataset("none", (0,), dtype=h5py.string_dtype())
            file["pairs"] = numpy.array([["a", "b"]], dtype=object)
        want = sorted([w.encode() for w in words] + [b"", b""])
        for ranks in (1, 3):
            self.succeed("sort", "--in", "w.h5:/w", "--out", "s.h5:/w", "--argsort", "s.h5:/p",
                         "--overwrite", ranks=ranks)
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual(list(file["w"][()]), want)
                self.assertEqual(list(file["p"][:3]), [1, 11, 12])
            self.succeed("sort", "--in", "w.h5:/w", "--descending", "--unique", "--out", "s.h5:/w",
                         "--overwrite", ranks=ranks)
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual(list(file["w"][()]), sorted(set(want), reverse=True))
            self.succeed("sort", "--in", "w.h5:/rows", "--by", "w", "--out", "s.h5:/r",
                         "--overwrite", ranks=ranks)
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual([w for w in file["r"]["w"]], want[2:])
            self.succeed("sort", "--in", "w.h5:/w", "--top", 5, "--out", "s.h5:/w", "--overwrite",
                         ranks=ranks)
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual(list(file["w"][()]), want[:5])
        self.succeed("sort", "--in", "w.h5:/none", "--out", "s.h5:/w", "--overwrite", ranks=2)
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["w"].shape, (0,))
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "w.h5:/pairs", "--out", "s.h5:/x",
                       words="cannot be compared")

    def test_columns_held_in_memory_need_it(self):
        n = 40000
        with h5py.File(self.path("m.h5"), "w") as file:
            file["t/key"] = numpy.arange(n)[::-1]
            file["t/words"] = numpy.array(["w" * 100 + str(i) for i in range(n)], dtype=object)
            file.create_dataset("t/refs", data=numpy.array([file["t/key"].ref] * n, dtype=object),
                                dtype=h5py.ref_dtype)
        arguments = ("sort", "--in", "m.h5:/t", "--out", "o.h5:/t", "--memory", "1MiB")
        self.fail_with(tessera.MEMORY, *arguments, "--by", "key", ranks=2,
                       words=("column refs", "carried in memory", "--drop refs"))
        self.fail_with(tessera.MEMORY, *arguments, "--by", "words", "--columns", "key", ranks=2,
                       words=("column words", "compared in memory", "--memory"))
        self.assertFalse(os.path.exists(self.path("o.h5")))
        self.succeed(*arguments, "--by", "key", "--drop", "refs", ranks=2)
        with h5py.File(self.path("o.h5")) as file, h5py.File(self.path("m.h5")) as source:
            numpy.testing.assert_array_equal(file["t/key"], numpy.arange(n))
            numpy.testing.assert_array_equal(file["t/words"][()], source["t/words"][()][::-1])

    def test_rows_with_strings(self):
        rows = numpy.zeros(self.n, [("key", "i4"), ("word", h5py.string_dtype())])
        rows["key"], rows["word"] = self.key, self.words
        with h5py.File(self.path("r.h5"), "w") as file:
            file["rows"] = rows
        self.succeed("sort", "--in", "r.h5:/rows", "--by", "key", "--out", "s.h5:/rows", ranks=2)
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual([w.decode() for w in file["rows"]["word"]],
                             list(self.words[self.order]))

    def test_chosen_columns(self):
        for way in ((), OUT_OF_CORE):
            for words, names in ((("--columns", "value"), {"value"}),
                                 (("--columns", "value,key,short"), {"value", "key", "short"}),
                                 (("--drop", "words,ragged,refs,key"),
                                  {"value", "short", "title"})):
                self.sort(*words, *way, ranks=2)
                with h5py.File(self.path("s.h5")) as file:
                    self.assertEqual(set(file["t"]), names)
                    numpy.testing.assert_array_equal(file["t/value"], self.order)
        self.sort("--columns", "valu", code=tessera.USAGE,
                  words="--columns: the table has no column 'valu'; did you mean 'value'?")
        self.sort("--drop", "none", code=tessera.USAGE, words="--drop: the table has no column")
        self.sort(*OUT_OF_CORE, code=tessera.USAGE, words=("refs", "--drop"))
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "t.h5:/table", "--by", "ragged", "--out",
                       "o.h5:/t", words=("t.h5:/table/ragged", "cannot be compared"))
        self.fail_with(tessera.USAGE, "sort", "--in", "t.h5:/table/key", "--columns", "a", "--out",
                       "o.h5:/t", words="--columns and --drop choose datasets of a group")
        self.fail_with(tessera.USAGE, "sort", "--in", "t.h5:/table", "--by", "key", "--drop", "a",
                       words="--in and --out")

    def test_the_first_key_tells_the_rows(self):
        with h5py.File(self.path("u.h5"), "w") as file:
            file["t/a"], file["t/b"], file["t/c"] = [3, 1, 2], numpy.arange(9), [1, 2, 3]
        self.succeed("sort", "--in", "u.h5:/t", "--by=-a", "--out", "s.h5:/t")
        with h5py.File(self.path("s.h5")) as file:
            numpy.testing.assert_array_equal(file["t/c"], [1, 3, 2])
            numpy.testing.assert_array_equal(file["t/b"], numpy.arange(9))
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "u.h5:/t", "--by", "a,b", "--out",
                       "o.h5:/t", words="the table has 3 rows, b has 9")


if __name__ == "__main__":
    tessera.main()
