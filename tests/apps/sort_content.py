"""tessera sort out of core carries columns of variable length, against h5py."""

import os

import tessera
from tessera import h5py, numpy

N = 4000
SMALL = ("--memory", "1MiB", "--out-of-core", "always")


class Content(tessera.Case):
    """A table with strings, lists, pairs of strings and records with a string, by repeated keys."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        lengths = rng.integers(0, 40, N)
        lengths[rng.integers(0, N, 5)] = 20000  # some fill a round alone
        self.columns = {
            "key": rng.integers(0, N // 3, N).astype("i4"),
            "id": numpy.arange(N, dtype="i8"),
            "name": numpy.array(["\u00e9" + "x" * (n - 1) if n else "" for n in lengths], object),
            "list": numpy.empty(N, object),
            "pair": numpy.array([[f"a{i}", "b" * (i % 50)] for i in range(N)], object),
        }
        for i, n in enumerate(lengths):
            self.columns["list"][i] = numpy.arange(i, i + n % 97, dtype="i4")
        self.types = {"name": h5py.string_dtype(), "pair": h5py.string_dtype(),
                      "list": h5py.vlen_dtype("i4")}
        self.write("in.h5")

    def write(self, name, **how):
        with h5py.File(self.path(name), "w") as file:
            for column, values in self.columns.items():
                file.create_dataset(f"t/{column}", data=values, dtype=self.types.get(column), **how)
            records = numpy.zeros(N, [("k", "i4"), ("text", h5py.string_dtype())])
            records["k"], records["text"] = range(N), [f"r{i}" for i in range(N)]
            file.create_dataset("t/record", data=records, **how)
            file["t/name"].attrs["long_name"] = "a name"

    def sort(self, *more, source="in.h5", ranks=0):
        result = self.succeed("sort", "--in", f"{source}:/t", "--by", "key", "--out", "o.h5:/t",
                              "--overwrite", *SMALL, *more, ranks=ranks)
        self.assertIn("out_of_core", result.out)
        self.assertEqual([n for n in os.listdir(self.folder) if "runs" in n or "partial" in n], [])
        self.succeed("verify", "o.h5")

    def check(self, order):
        with h5py.File(self.path("o.h5")) as file:
            for column, values in self.columns.items():
                got = file[f"t/{column}"]
                if column in ("name", "pair"):
                    numpy.testing.assert_array_equal(got.asstr()[()], values[order])
                elif column == "list":
                    for one, want in zip(got[()], values[order], strict=True):
                        numpy.testing.assert_array_equal(one, want)
                else:
                    numpy.testing.assert_array_equal(got[()], values[order])
            self.assertEqual(file["t/name"].attrs["long_name"], "a name")
            self.assertEqual(file["t/record"]["text"].tolist(), [b"r%d" % i for i in order])

    def test_all_rows(self):
        order = numpy.argsort(self.columns["key"], kind="stable")
        for ranks in (0, 3):
            with self.subTest(ranks=ranks):
                self.sort(ranks=ranks)
                self.check(order)

    def test_of_chunked_inputs(self):
        self.write("chunked.h5", chunks=True, compression="gzip")
        self.sort(source="chunked.h5", ranks=2)
        self.check(numpy.argsort(self.columns["key"], kind="stable"))

    def test_some_rows(self):
        key = self.columns["key"]
        order = numpy.argsort(key, kind="stable")
        first = numpy.sort(numpy.unique(key, return_index=True)[1])
        for ranks in (0, 3):
            with self.subTest(ranks=ranks):
                self.sort("--top", 700, ranks=ranks)
                self.check(order[:700])
                self.sort("--unique", ranks=ranks)
                self.check(first[numpy.argsort(key[first], kind="stable")])

    def test_with_the_permutation(self):
        self.sort("--argsort", "p.h5:/order", ranks=3)
        order = numpy.argsort(self.columns["key"], kind="stable")
        self.check(order)
        with h5py.File(self.path("p.h5")) as file:
            numpy.testing.assert_array_equal(file["order"][()], order)

    def test_only_columns_of_variable_length(self):
        self.succeed("sort", "--in", "in.h5:/t", "--by", "key", "--columns", "name", "--out",
                     "o.h5:/t", *SMALL, ranks=2)
        with h5py.File(self.path("o.h5")) as file:
            order = numpy.argsort(self.columns["key"], kind="stable")
            numpy.testing.assert_array_equal(file["t/name"].asstr()[()],
                                             self.columns["name"][order])

    def test_memory_decides(self):
        """Without --out-of-core: in memory if that suffices, otherwise out of core."""
        words = ("sort", "--in", "in.h5:/t", "--by", "key", "--out", "o.h5:/t", "--overwrite")
        self.assertNotIn("out_of_core", self.succeed(*words).out)
        self.assertIn("out_of_core", self.succeed(*words, "--memory", "128KiB").out)
        self.check(numpy.argsort(self.columns["key"], kind="stable"))
        self.fail_with(tessera.MEMORY, *words, "--memory", "128KiB", "--out-of-core", "never")

    def test_a_row_beyond_the_memory(self):
        with h5py.File(self.path("in.h5"), "r+") as file:
            file["t/name"][7] = "y" * 3000000
        self.fail_with(tessera.MEMORY, "sort", "--in", "in.h5:/t", "--by", "key", "--out",
                       "o.h5:/t", *SMALL, words="a row of /t/name needs more than")
        self.assertFalse(os.path.exists(self.path("o.h5")))


if __name__ == "__main__":
    tessera.main()
