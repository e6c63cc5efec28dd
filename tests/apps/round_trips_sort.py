"""Round trips of tables: files of pandas, AnnData, netCDF, h5py and MATLAB sorted here, opened by
these packages again. Each test is skipped where its package is missing."""

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
