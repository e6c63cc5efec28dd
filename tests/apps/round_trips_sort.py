"""Round trips of tables: files of pandas, AnnData, netCDF, h5py and MATLAB sorted here, opened by
these packages again. Each test is skipped where its package is missing."""

import os
import unittest

import tessera
from round_trips import needs, package
from tessera import h5py, numpy

pandas, xarray, netcdf, anndata = (package(name)
                                   for name in ("pandas", "xarray", "netCDF4", "anndata"))
OUT_OF_CORE = ("--out-of-core", "always", "--memory", "64KiB")


@needs("pandas", "tables", debian="python3-pandas python3-tables")
class Pandas(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        n = self.n = 2000
        self.frame = pandas.DataFrame(
            {"energy": rng.normal(size=n), "count": rng.integers(0, 50, n),
             "when": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 9999, n),
                                                                          "s"),
             "name": rng.integers(0, 99, n).astype(str), "flag": rng.integers(0, 2, n) == 1},
            index=pandas.Index(rng.permutation(n), name="event"))

    def test_format_table(self):
        self.frame.to_hdf(self.path("t.h5"), "df", format="table", data_columns=True)
        for way in ((), OUT_OF_CORE):
            for by, keys in (("count,energy", ["count", "energy"]),
                             ("name,index", ["name", "event"])):
                self.succeed("sort", "--in", "t.h5:/df/table", "--by", by, "--out",
                             "s.h5:/df/table", "--overwrite", *way, ranks=2)
                want = self.frame.reset_index().sort_values(keys, kind="stable").set_index("event")
                pandas.testing.assert_frame_equal(pandas.read_hdf(self.path("s.h5"), "df"), want)
                got = pandas.read_hdf(self.path("s.h5"), "df", where="count < 10")
                pandas.testing.assert_frame_equal(got, want[want["count"] < 10])
        self.succeed("sort", "--in", "t.h5:/df/table", "--by", "energy", "--top", 10, "--out",
                     "s.h5:/df/table", "--overwrite")
        pandas.testing.assert_frame_equal(
            pandas.read_hdf(self.path("s.h5"), "df"),
            self.frame.sort_values("energy", kind="stable").head(10))
        self.succeed("verify", "s.h5")

    def test_format_fixed(self):
        frame = self.frame.drop(columns="name")
        frame.to_hdf(self.path("t.h5"), "df", format="fixed")
        order = numpy.argsort(frame.index.to_numpy(), kind="stable")
        for way in ((), OUT_OF_CORE):
            result = self.succeed("sort", "--in", "t.h5:/df", "--by", "axis1", "--out", "s.h5:/df",
                                  "--overwrite", *way, ranks=2)
            self.assertIn("note: t.h5:/df has 2000 rows; copied unchanged: axis0 (4 rows), ",
                          result.err)
            pandas.testing.assert_frame_equal(pandas.read_hdf(self.path("s.h5"), "df"),
                                              frame.iloc[order])
        self.succeed("verify", "s.h5")
        self.frame.to_hdf(self.path("o.h5"), "df", format="fixed")
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "o.h5:/df", "--by", "axis1", "--out",
                       "s.h5:/df", "--overwrite", words=("pickled Python objects", "--drop"))


class AnnData(tessera.Case):
    """The layout of AnnData's files, and the package if it is installed."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        n = self.n = 300
        self.names = numpy.array([f"cell {i}" for i in range(n)], dtype=object)
        self.counts, self.codes = rng.integers(0, 20, n), rng.integers(-1, 3, n).astype("i1")
        with h5py.File(self.path("a.h5ad"), "w") as file:
            file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
            self.write_frame(file.create_group("obs"), ["n_counts", "type"], self.names)
            self.write_frame(file.create_group("var"), [], numpy.array(["g1", "g2"], dtype=object))
            obs = file["obs"]
            obs["n_counts"] = self.counts
            obs["n_counts"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            kind = obs.create_group("type")
            kind.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0",
                               "ordered": numpy.bool_(False)})
            kind["codes"] = self.codes
            kind["codes"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            self.write_words(kind, "categories", numpy.array(["B", "NK", "T"], dtype=object))
            file["X"] = rng.normal(size=(n, 2)).astype("f4")
            file["X"].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})

    @staticmethod
    def write_words(group, name, words):
        group.create_dataset(name, data=words, dtype=h5py.string_dtype())
        group[name].attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})

    def write_frame(self, group, columns, index):
        group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0",
                            "_index": "_index"})
        group.attrs["column-order"] = numpy.array(columns, dtype=h5py.string_dtype())
        self.write_words(group, "_index", index)

    def test_observations_are_sorted(self):
        order = numpy.argsort(self.counts, kind="stable")
        for ranks in (1, 3):
            self.succeed("sort", "--in", "a.h5ad:/obs", "--by", "n_counts", "--out", "s.h5ad:/obs",
                         "--argsort", "p.h5:/p", "--overwrite", ranks=ranks)
            with h5py.File(self.path("s.h5ad")) as got, h5py.File(self.path("a.h5ad")) as file:
                for group in ("obs", "obs/type"):
                    self.assertEqual({k: numpy.asarray(v).tolist()
                                      for k, v in got[group].attrs.items()},
                                     {k: numpy.asarray(v).tolist()
                                      for k, v in file[group].attrs.items()})
                self.assertEqual(list(got["obs/_index"].asstr()), list(self.names[order]))
                self.assertEqual(got["obs/_index"].dtype, file["obs/_index"].dtype)
                numpy.testing.assert_array_equal(got["obs/type/codes"], self.codes[order])
                self.assertEqual(list(got["obs/type/categories"].asstr()), ["B", "NK", "T"])
        self.succeed("verify", "s.h5ad")

    @unittest.skipIf(anndata is None, "no anndata; pip install anndata")
    def test_the_package_reads_it(self):
        want = anndata.read_h5ad(self.path("a.h5ad"))
        order = numpy.argsort(self.counts, kind="stable")
        with h5py.File(self.path("a.h5ad")) as file, h5py.File(self.path("s.h5ad"), "w") as to:
            to.attrs.update(file.attrs)
            file.copy("var", to)
        self.succeed("sort", "--in", "a.h5ad:/obs", "--by", "n_counts", "--out", "s.h5ad:/obs",
                     "--argsort", "p.h5:/p")
        self.succeed("sort", "--in", "a.h5ad:/X", "--apply", "p.h5:/p", "--out", "s.h5ad:/X")
        with h5py.File(self.path("s.h5ad"), "r+") as file:
            del file["_tessera"]  # the package refuses groups that it does not know
        got, want = anndata.read_h5ad(self.path("s.h5ad")), want[order].copy()
        pandas.testing.assert_frame_equal(got.obs, want.obs)
        numpy.testing.assert_array_equal(got.X, want.X)


@needs("netCDF4", "xarray", debian="python3-netcdf4 python3-xarray")
class NetCDF(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        n = 500
        self.data = xarray.Dataset(
            {"speed": ("obs", rng.normal(size=n), {"units": "m/s"}),
             "depth": (("obs", "level"), rng.normal(size=(n, 3))),
             "rank": ("obs", rng.integers(0, 9, n).astype("i4"))},
            coords={"obs": rng.permutation(n), "level": [10.0, 20.0, 30.0],
                    "station": ("obs", rng.integers(0, 9, n).astype(str).astype(object))},
            attrs={"title": "stations"})
        self.data.to_netcdf(self.path("t.nc"), engine="netcdf4")

    def opened(self, name):
        with xarray.open_dataset(self.path(name), engine="netcdf4") as data:
            data.load()
        for variable in data.variables.values():
            variable.attrs.pop("tessera_checksum", None)
        return data

    def test_rows_are_sorted_with_their_coordinates(self):
        for ranks in (1, 3):
            self.succeed("sort", "--in", "t.nc:/", "--by", "rank,speed", "--out", "s.nc:/",
                         "--overwrite", ranks=ranks)
            xarray.testing.assert_identical(self.opened("s.nc"),
                                            self.opened("t.nc").sortby(["rank", "speed"]))
            self.succeed("verify", "s.nc")

    def test_one_variable_is_sorted_with_its_coordinates(self):
        want = self.opened("t.nc").drop_vars(["depth", "rank", "level"]).sortby("speed")
        self.succeed("sort", "--in", "t.nc:/speed", "--out", "s.nc:/speed", ranks=2)
        xarray.testing.assert_identical(self.opened("s.nc"), want)
        self.data.drop_vars("station").to_netcdf(self.path("n.nc"), engine="netcdf4")
        self.succeed("sort", "--in", "n.nc:/speed", "--out", "s.nc:/speed", "--overwrite",
                     *OUT_OF_CORE, ranks=2)
        xarray.testing.assert_identical(self.opened("s.nc"), want.drop_vars("station"))
        self.succeed("sort", "--in", "t.nc:/obs", "--out", "o.nc:/obs")
        numpy.testing.assert_array_equal(self.opened("o.nc").obs, numpy.arange(500))
        self.assertEqual(self.opened("o.nc").obs.dims, ("obs",))

    def test_only_what_is_along_the_rows_is_sorted(self):
        """Not other dimensions of equal length; what has rows along another axis is left out."""
        rng = numpy.random.default_rng(tessera.SEED)
        for n in (40, 41):
            data = xarray.Dataset(
                {"c": ("x", rng.normal(size=40)), "w": (("x", "y"), rng.normal(size=(40, n))),
                 "d": ("y", rng.normal(size=n)), "s": ("y", numpy.array(["a"] * n, dtype=object)),
                 "u": (("y", "z"), rng.normal(size=(n, 40))), "one": ((), 1.5),
                 "v": (("y", "x"), rng.normal(size=(n, 40))), "cov": (("x", "xx"), numpy.eye(40))},
                coords={"x": rng.permutation(40), "y": rng.permutation(n)})
            data.to_netcdf(self.path("in.nc"), engine="netcdf4")
            with h5py.File(self.path("in.nc"), "r+") as file:  # as netCDF's (x, x)
                file["cov"].dims[1].detach_scale(file["xx"])
                file["cov"].dims[1].attach_scale(file["x"])
                del file["xx"]
            want = data.drop_vars(["v", "cov"]).sortby("x")
            for by, ranks in (("x", 1), ("-x", 3)):
                result = self.succeed("sort", "--in", "in.nc:/", f"--by={by}", "--out", "s.nc:/",
                                      "--overwrite", ranks=ranks)
                self.assertIn("left out, because the rows are along another dimension of them: "
                              "v, cov", result.err)
                self.assertIn("another dimension)" if n == 40 else "41 rows)", result.err)
                step = -1 if by[0] == "-" else 1
                xarray.testing.assert_identical(self.opened("s.nc"), want.isel(x=slice(None, None,
                                                                                       step)))
                self.succeed("verify", "s.nc")

    def test_dimensions_alone(self):
        with netcdf.Dataset(self.path("d.nc"), "w") as file:
            file.createDimension("obs", 50)
            file.createVariable("v", "f8", ("obs",))[:] = numpy.arange(50)[::-1]
            file.createVariable("w", "i4", ("obs",))[:] = numpy.arange(50)
        for arguments in (("--in", "d.nc:/v"), ("--in", "d.nc:/", "--by", "v")):
            out = "s.nc:" + arguments[1].split(":")[1]
            for part, rows in ((), 50), (("--top", 7), 7):
                self.succeed("sort", *arguments, *part, "--out", out, "--overwrite", ranks=2)
                with netcdf.Dataset(self.path("s.nc")) as file:
                    self.assertEqual({k: len(d) for k, d in file.dimensions.items()}, {"obs": rows})
                    self.assertEqual(set(file.variables) - {"w"}, {"v"})
                    numpy.testing.assert_array_equal(file["v"][:], numpy.arange(rows))


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
        with h5py.File(self.path("m.h5"), "w") as file:
            file["t/key"] = numpy.arange(20000)[::-1]
            file["t/words"] = numpy.array(["w" * 100 + str(i) for i in range(20000)], dtype=object)
        arguments = ("sort", "--in", "m.h5:/t", "--out", "o.h5:/t", "--memory", "1MiB")
        self.fail_with(tessera.MEMORY, *arguments, "--by", "key", ranks=2,
                       words=("column words", "carried in memory", "--drop words"))
        self.fail_with(tessera.MEMORY, *arguments, "--by", "words", "--columns", "key", ranks=2,
                       words=("column words", "compared in memory", "--memory"))
        self.assertFalse(os.path.exists(self.path("o.h5")))
        self.succeed(*arguments, "--by", "key", "--drop", "words", ranks=2)
        with h5py.File(self.path("o.h5")) as file:
            numpy.testing.assert_array_equal(file["t/key"], numpy.arange(20000))

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
        self.sort(*OUT_OF_CORE, code=tessera.USAGE, words=("ragged", "--drop"))
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


class Matlab(tessera.Case):
    """The layout of MATLAB's files v7.3: a block of 512 bytes, and the attribute MATLAB_class."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.a = rng.normal(size=(30, 20))
        with h5py.File(self.path("m.mat"), "w", userblock_size=512) as file:
            file["A"], file["keys"] = self.a, rng.normal(size=500)
            cells = file.create_dataset("c", (2, 1), dtype=h5py.ref_dtype)
            for i, name in enumerate("ab"):
                file[f"#refs#/{name}"] = rng.normal(size=(1, 3))
                file[f"#refs#/{name}"].attrs["MATLAB_class"] = numpy.bytes_("double")
                cells[i, 0] = file[f"#refs#/{name}"].ref
            for name in ("A", "keys", "c"):
                file[name].attrs["MATLAB_class"] = numpy.bytes_("cell" if name == "c" else "double")
        with open(self.path("m.mat"), "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")

    def test_matrices_and_keys_keep_their_class(self):
        self.succeed("transpose", "--in", "m.mat:/A", "--out", "t.mat:/A", ranks=2)
        self.succeed("sort", "--in", "m.mat:/keys", "--out", "s.mat:/keys")
        with h5py.File(self.path("t.mat")) as file, h5py.File(self.path("s.mat")) as keys:
            numpy.testing.assert_array_equal(file["A"], self.a.T)
            for one in (file["A"], keys["keys"]):
                self.assertEqual(one.attrs["MATLAB_class"], b"double")

    def test_cells_are_carried(self):
        with h5py.File(self.path("p.h5"), "w") as file:
            file["p"] = [1, 0]
        self.succeed("sort", "--in", "m.mat:/c", "--apply", "p.h5:/p", "--out", "s.mat:/c")
        with h5py.File(self.path("s.mat")) as got, h5py.File(self.path("m.mat")) as file:
            self.assertEqual(got["c"].attrs["MATLAB_class"], b"cell")
            for mine, want in zip(got["c"][:, 0], file["c"][:, 0][::-1]):
                numpy.testing.assert_array_equal(got[mine], file[want])
                self.assertEqual(got[mine].attrs["MATLAB_class"], b"double")


if __name__ == "__main__":
    tessera.main()
