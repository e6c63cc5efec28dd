"""Requests and data that tessera sort refuses, and plans of sorts."""

import os
import re

import tessera
from tessera import h5py, numpy


class Refusals(tessera.Case):
    def setUp(self):
        super().setUp()
        with h5py.File(self.path("t.h5"), "w") as file:
            file["keys"] = numpy.arange(10.0)
            file["matrix"] = numpy.zeros((3, 4))
            file["table/a"] = numpy.arange(6)
            file["table/name"] = numpy.array([b"x"] * 6)
            file["ragged/a"] = numpy.arange(6)
            file["ragged/b"] = numpy.arange(7)
            file.create_dataset("text/a", (2,), dtype=h5py.vlen_dtype("i4"))
            file["records"] = numpy.zeros(4, dtype=[("a", "<i4"), ("z", "<c16")])
            file["wide"] = numpy.zeros(4, numpy.longdouble)
            file["twice"] = numpy.array([0, 1, 1, 3, 4, 5])
            file["outside"] = numpy.array([0, 1, 2, 3, 4, -1])
            file.create_group("nothing")

    def test_requests_that_do_not_go_together(self):
        for arguments, words in (
                (("--by", "a"), "--in"),
                (("--in", "t.h5:/keys", "--by", "a"), "is a dataset"),
                (("--in", "t.h5:/table"), "--by"),
                (("--in", "t.h5:/table", "--by", "b"), "no column 'b'"),
                (("--in", "t.h5:/records"), "--by a"),
                (("--in", "t.h5:/records", "--by", "b"), "no column 'b'"),
                (("--in", "t.h5:/records", "--by", "a[2:5]"), "rows of 4 bytes"),
                (("--in", "t.h5:/matrix", "--by", "0:33"), "rows of 32 bytes"),
                (("--in", "t.h5:/table", "--by", "a", "--descending"), "--descending"),
                (("--in", "t.h5:/table", "--apply", "t.h5:/twice"), "--out"),
                (("--in", "t.h5:/keys", "--out", "t.h5:/sorted"), "same file"),
                (("--in", "t.h5:/keys", "--top", 3, "--unique"), "give one"),
                (("--in", "t.h5:/keys", "--quantiles", "0.5,2"), "'2'"),
                (("--in", "t.h5:/table", "--by", "a,name", "--quantiles", "0.5"), "one column"),
                (("--n", "5,6", "--out", "o.h5:/K"), "sweep"),
                (("--kernel", "counting", "--n", 10), "range")):
            self.fail_with(tessera.USAGE, "sort", *arguments, words=words)

    def test_data_that_cannot_be_sorted(self):
        for arguments, words in (
                (("--in", "t.h5:/matrix"), "2-dimensional"),
                (("--in", "t.h5:/ragged", "--by", "a,b"), "length"),
                (("--in", "t.h5:/records", "--by", "z"), ("numbers", "z[0:16]")),
                (("--in", "t.h5:/wide"), "--by 0:16"),
                (("--in", "t.h5:/text", "--by", "a"), "variable-length list of i32"),
                (("--in", "t.h5:/nothing", "--by", "a"), "no dataset"),
                (("--in", "t.h5:/outside", "--type", "u32", "--out", "o.h5:/K"),
                 "u32 cannot represent"),
                (("--in", "t.h5:/table", "--apply", "t.h5:/keys", "--out", "o.h5:/T"),
                 "permutation"),
                (("--in", "t.h5:/table", "--apply", "t.h5:/twice", "--out", "o.h5:/T"), "twice"),
                (("--in", "t.h5:/table", "--apply", "t.h5:/outside", "--out", "o.h5:/T"),
                 "outside")):
            self.fail_with(tessera.BAD_DATA, "sort", *arguments, words=words)
        self.assertEqual(os.listdir(self.folder), ["t.h5"])
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "t.h5:/outside", "--type", "u32", "--out",
                       "o.h5:/K", "--out-of-core", "always",
                       words="u32 cannot represent")
        self.assertFalse(os.path.exists(self.path("o.h5")))

    def test_inputs_that_are_not_there(self):
        self.fail_with(tessera.MISSING, "sort", "--in", "t.h5:/kyes", words="kyes")
        self.fail_with(tessera.MISSING, "sort", "--in", "u.h5:/keys", words="u.h5")

    def test_memory_and_existing_outputs(self):
        self.fail_with(tessera.MEMORY, "sort", "--n", "1e9", "--memory", "1MiB", ranks=2,
                       words="--memory allows")
        self.succeed("sort", "--in", "t.h5:/keys", "--out", "o.h5:/K")
        before = tessera.digest(self.path("o.h5"))
        self.fail_with(tessera.CANNOT_CREATE, "sort", "--in", "t.h5:/keys", "--out", "o.h5:/K",
                       words="--overwrite")
        self.assertEqual(before, tessera.digest(self.path("o.h5")))
        self.succeed("sort", "--in", "t.h5:/keys", "--out", "o.h5:/K", "--overwrite")

    def test_large_shares_are_sorted_in_rounds(self):
        shown = re.search(r"memory free: ([0-9.]+) ([KMG])iB",
                          self.succeed("machine", "--show").out)
        free = float(shown[1]) * {"K": 2**10, "M": 2**20, "G": 2**30}[shown[2]]
        few, many = (int(share * free / 8) for share in (0.3, 0.6))
        elsewhere = ("--n", "1e9", "--ranks", 4)
        for arguments, algorithm in ((("--n", few), "exact"),
                                     (("--n", many), "rounds"),
                                     (("--n", 10**7, "--memory", "250MiB"), "exact"),
                                     (("--n", 10**7, "--memory", "120MiB"), "rounds"),
                                     (elsewhere, "exact"),
                                     ((*elsewhere, "--memory", "3GiB"), "rounds"),
                                     ((*elsewhere, "--memory", "5GiB"), "exact")):
            with self.subTest(arguments=arguments):
                out = self.succeed("sort", *arguments, "--plan").out
                self.assertIn(f"algorithm {algorithm},", out)

    def test_the_plan_of_quantiles_is_not_that_of_a_sort(self):
        with h5py.File(self.path("t.h5"), "w") as file:
            file["k"] = numpy.arange(2 << 20)
        for memory, words in (("1GiB", "24 MiB a rank, keys in memory"),
                              ("20MiB", "16 MiB a rank, keys read again")):
            out = self.succeed("sort", "--in", "t.h5:/k", "--quantiles", 0.5, "--memory", memory,
                               "--plan").out
            self.assertIn(words, out)
            self.assertEqual(out.count("\n"), 1)

    def test_plan_allocates_nothing(self):
        result = self.succeed("sort", "--n", "1e12", "--plan", "--ranks", 7)
        self.assertIn("142857142858", result.out)


if __name__ == "__main__":
    tessera.main()
