"""Round trips: files of other packages transposed, swept and sorted here, opened by these packages
again. Each test is skipped where its package is missing."""

import importlib
import unittest

import tessera
from tessera import h5py, numpy


def package(name):
    """Returns the module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def needs(*names, debian):
    missing = [name for name in names if package(name) is None]
    return unittest.skipIf(missing, f"no {', '.join(missing)}; apt-get install {debian}")


xarray, pandas, netcdf = (package(name) for name in ("xarray", "pandas", "netCDF4"))
WAYS = ((), ("--out-of-core", "always", "--memory", "64KiB"))


@needs("xarray", "netCDF4", debian="python3-xarray python3-netcdf4")
class Xarray(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        shape = (4, 5, 6)
        time = numpy.datetime64("2020-01-01", "ns") + numpy.arange(4) * numpy.timedelta64(1, "D")
        self.data = xarray.Dataset(
            {"t2m": (("time", "lat", "lon"), rng.normal(280, 9, shape),
                     {"units": "K", "grid_mapping": "crs"})},
            coords={"time": time,
                    "lat": ("lat", numpy.linspace(-60, 60, 5), {"units": "degrees_north"}),
                    "lon": numpy.linspace(0, 300, 6), "crs": ((), 0, {"grid_mapping_name": "x"}),
                    "height": (("lat", "lon"), rng.normal(size=(5, 6))),
                    "name": ("lat", numpy.array(["a", "bc", "", "d", "e"], dtype=object))},
            attrs={"title": "two metres", "source": "drawn"})
        self.data.to_netcdf(self.path("era.nc"), engine="netcdf4")

    def opened(self, name, **how):
        with xarray.open_dataset(self.path(name), engine="netcdf4", **how) as data:
            data.load()
        return data

    def check(self, name, want, **how):
        got = self.opened(name, **how)
        for variable in got.variables.values():
            variable.attrs.pop("tessera_checksum", None)
        xarray.testing.assert_identical(got, want)
        self.succeed("verify", name)

    def test_transposed_equals_transpose(self):
        for axes in ("2,0,1", "1,0,2", "0,1,2", "2,1,0"):
            names = [("time", "lat", "lon")[int(axis)] for axis in axes.split(",")]
            self.succeed("transpose", "--in", "era.nc:/t2m", "--axes", axes, "--out", "t.nc:/t2m",
                         "--overwrite", ranks=2)
            self.check("t.nc", self.opened("era.nc").transpose(*names))

    def test_slices(self):
        for part, index in (("[3]", {"time": 3}), ("[1:3,:,2]", {"time": slice(1, 3), "lon": 2}),
                            ("[:,2:5]", {"lat": slice(2, 5)})):
            want = self.opened("era.nc").isel(index)
            axes = ",".join(str(d) for d in reversed(range(want.t2m.ndim)))
            for way in WAYS[:1] if want.t2m.ndim == 3 else WAYS:
                self.succeed("transpose", "--in", f"era.nc:/t2m{part}", "--axes", axes, "--out",
                             "t.nc:/t2m", "--overwrite", *way, ranks=2)
                self.check("t.nc", want.transpose())

    def test_scales_of_more_dimensions(self):
        with h5py.File(self.path("m.h5"), "w") as file:
            file["v"] = numpy.arange(12.0).reshape(3, 4)
            file["station"] = numpy.arange(15).reshape(3, 5)
            file["station"].make_scale("station")
            file["v"].dims[0].attach_scale(file["station"])
        self.succeed("transpose", "--in", "m.h5:/v", "--out", "t.h5:/v")
        self.succeed("stencil", "--in", "m.h5:/v[1]", "--steps", 0, "--out", "u.h5:/v")
        with h5py.File(self.path("t.h5")) as file, h5py.File(self.path("u.h5")) as line:
            numpy.testing.assert_array_equal(file["v"], numpy.arange(12.0).reshape(3, 4).T)
            numpy.testing.assert_array_equal(file["station"], numpy.arange(15).reshape(3, 5))
            numpy.testing.assert_array_equal(line["station"], numpy.arange(5, 10))

    def test_fields_keep_their_coordinates(self):
        self.succeed("stencil", "--in", "era.nc:/t2m[1]", "--steps", 0, "--out", "u.nc:/t2m",
                     "--snapshots", "s.nc:/t2m", "--every", 1, ranks=2)
        want = self.opened("era.nc").isel(time=1)
        self.check("u.nc", want, drop_variables=["VTKHDF"])
        snapshots = self.opened("s.nc")
        self.assertEqual(snapshots.t2m.dims, ("step", "lat", "lon"))
        self.assertEqual(snapshots.step.values.tolist(), [0])
        self.assertEqual(set(snapshots.t2m.coords), set(want.t2m.coords) | {"step"})
        for name in ("time", "lat", "lon", "height", "name"):
            xarray.testing.assert_equal(snapshots[name].variable, want[name].variable)
        self.succeed("verify", "s.nc")

    def test_snapshots_of_a_field_with_a_dimension_time(self):
        """Of which each step in time of the input is a row of the field."""
        for steps in range(2):
            self.succeed("stencil", "--in", "era.nc:/t2m[:,2]", "--steps", 2, "--snapshots",
                         "s.nc:/t2m", "--every", 1, *("--overwrite",) * steps)
        snapshots = self.opened("s.nc")
        self.assertEqual(snapshots.t2m.dims, ("step", "time", "lon"))
        xarray.testing.assert_equal(snapshots.time.variable, self.opened("era.nc").time.variable)

    def test_in_groups(self):
        self.data.to_netcdf(self.path("g.nc"), group="a/b", engine="netcdf4")
        self.succeed("transpose", "--in", "g.nc:/a/b/t2m", "--axes", "2,1,0", "--out",
                     "t.nc:/c/d/t2m")
        self.check("t.nc", self.opened("g.nc", group="a/b").transpose(), group="c/d")

    def test_a_second_variable_shares_the_coordinates(self):
        self.succeed("transpose", "--in", "era.nc:/t2m", "--axes", "2,1,0", "--out", "own.nc:/t2m")
        with h5py.File(self.path("own.nc"), "r+") as file:
            file["mine"] = 1
        self.succeed("transpose", "--in", "era.nc:/t2m", "--axes", "0,2,1", "--out", "own.nc:/u")
        got = self.opened("own.nc")
        self.assertEqual(got.u.dims, ("time", "lon", "lat"))
        self.assertEqual(got.t2m.dims, ("lon", "lat", "time"))
        self.assertEqual(set(got.variables),
                         {"t2m", "u", "mine", "time", "lat", "lon", "name", "height", "crs"})

    def test_an_output_with_coordinates_is_replaced_whole(self):
        for steps in range(2):
            self.succeed("transpose", "--in", "era.nc:/t2m[:,:,0]", "--out", "t.nc:/t2m",
                         *("--overwrite",) * steps)
        self.assertNotIn("time_2", self.opened("t.nc").variables)
        self.fail_with(tessera.CANNOT_CREATE, "transpose", "--in", "era.nc:/t2m[:,:,0]", "--out",
                       "t.nc:/t2m", words="--overwrite to replace the whole file")


@needs("netCDF4", debian="python3-netcdf4")
class NetCDF(tessera.Case):
    def test_dimensions_without_variables_and_bounds(self):
        with netcdf.Dataset(self.path("in.nc"), "w") as file:
            for name, extent in (("y", 5), ("x", 7), ("nv", 2)):
                file.createDimension(name, extent)
            file.createVariable("x", "f8", ("x",))[:] = numpy.arange(7) * 0.5
            file["x"].bounds = "x_bnds"
            file.createVariable("x_bnds", "f8", ("x", "nv"))[:] = numpy.arange(14).reshape(7, 2)
            file.createVariable("v", "f4", ("y", "x"))[:] = numpy.arange(35).reshape(5, 7)
        self.succeed("transpose", "--in", "in.nc:/v[1:4]", "--out", "out.nc:/v", ranks=3)
        with netcdf.Dataset(self.path("out.nc")) as file:
            self.assertEqual(file["v"].dimensions, ("x", "y"))
            self.assertEqual({name: len(one) for name, one in file.dimensions.items()},
                             {"y": 3, "x": 7, "nv": 2})
            self.assertEqual(set(file.variables), {"v", "x", "x_bnds"})
            self.assertEqual(file["x_bnds"].dimensions, ("x", "nv"))
            numpy.testing.assert_array_equal(file["x_bnds"][:], numpy.arange(14).reshape(7, 2))
            numpy.testing.assert_array_equal(file["v"][:], numpy.arange(35).reshape(5, 7)[1:4].T)

    def test_coordinates_that_end_before_the_data(self):
        """Variables along an unlimited dimension have their own lengths in the file. netCDF reads
        fill values beyond them."""
        with netcdf.Dataset(self.path("in.nc"), "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", 3)
            file.createVariable("time", "f8", ("time",), fill_value=-1)[:2] = [10, 20]
            file.createVariable("never", "i4", ("time",))
            file.createVariable("v", "f4", ("time", "x"))[:] = numpy.arange(15).reshape(5, 3)
            file["v"].coordinates = "never"
        with netcdf.Dataset(self.path("in.nc")) as file:
            file.set_auto_mask(False)
            time, never = file["time"][:], file["never"][:]
        self.assertEqual(time.tolist(), [10, 20, -1, -1, -1])
        for part, begin, end in (("", 0, 5), ("[1:4]", 1, 4), ("[3:]", 3, 5)):
            self.succeed("transpose", "--in", f"in.nc:/v{part}", "--out", "t.nc:/v", "--overwrite",
                         ranks=2)
            self.succeed("stencil", "--in", f"in.nc:/v{part}", "--steps", 1, "--out", "u.nc:/v",
                         "--overwrite")
            for name in ("t.nc", "u.nc"):
                with netcdf.Dataset(self.path(name)) as file:
                    file.set_auto_mask(False)
                    numpy.testing.assert_array_equal(file["time"][:], time[begin:end])
                    numpy.testing.assert_array_equal(file["never"][:], never[begin:end])
                self.succeed("verify", name)
        self.succeed("transpose", "--in", "in.nc:/v[4:,:]", "--out", "t.nc:/v", "--overwrite")
        self.succeed("stencil", "--in", "in.nc:/v[4]", "--steps", 1, "--out", "u.nc:/v",
                     "--overwrite")
        with h5py.File(self.path("u.nc")) as file:
            self.assertEqual(file["time"][()], -1)

    def test_scales_of_fixed_length_that_end_before_the_data(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["v"], file["x"] = numpy.arange(12.0).reshape(3, 4), numpy.arange(1.0, 3)
            file["x"].make_scale("x")
            file["v"].dims[1].attach_scale(file["x"])
        for part, want in (("", [1, 2]), ("[:,1:]", [2]), ("[:,2:]", []), ("[:,3]", None)):
            axes = () if want is not None else ("--axes", "0")
            self.succeed("transpose", "--in", f"in.h5:/v{part}", *axes, "--out", "t.h5:/v",
                         "--overwrite")
            with h5py.File(self.path("t.h5")) as file:
                self.assertEqual(file["x"][:].tolist() if "x" in file else None, want)


class Nexus(tessera.Case):
    def test_plots_follow_their_axes(self):
        counts = numpy.arange(60.0).reshape(3, 4, 5)
        with h5py.File(self.path("in.nxs"), "w") as file:
            file.attrs["default"] = "entry"
            entry = file.create_group("entry")
            entry.attrs["NX_class"] = "NXentry"
            data = entry.create_group("data")
            data.attrs.update({"NX_class": "NXdata", "signal": "counts", "axes": ["t", "y", "."],
                               "t_indices": 0, "y_indices": [1], "angle_indices": [0, 2]})
            data["counts"] = counts
            data["counts"].attrs["axes"] = "t:y:x"
            data["t"], data["y"] = numpy.arange(3) * 0.1, numpy.arange(4) * 2
            data["x"] = numpy.arange(5)
            data["t"].attrs["units"] = "s"
            data["angle"] = numpy.arange(15).reshape(3, 5)
        self.succeed("transpose", "--in", "in.nxs:/entry/data/counts[:,:,1:4]", "--axes", "2,0,1",
                     "--out", "out.nxs:/entry/data/turned")
        with h5py.File(self.path("out.nxs")) as file, h5py.File(self.path("in.nxs")) as source:
            self.assertEqual(file.attrs["default"], "entry")
            self.assertEqual(file["entry"].attrs["NX_class"], "NXentry")
            data = file["entry/data"]
            self.assertEqual(data.attrs["NX_class"], "NXdata")
            self.assertEqual(data.attrs["signal"], "turned")
            self.assertEqual(list(data.attrs["axes"]), [".", "t", "y"])
            self.assertEqual(data.attrs["t_indices"], [1])
            self.assertEqual(data.attrs["y_indices"], [2])
            self.assertEqual(list(data.attrs["angle_indices"]), [0, 1])
            self.assertEqual(data["turned"].attrs["axes"], "x:t:y")
            numpy.testing.assert_array_equal(data["turned"], counts[:, :, 1:4].transpose(2, 0, 1))
            numpy.testing.assert_array_equal(data["angle"], source["entry/data/angle"][:, 1:4].T)
            numpy.testing.assert_array_equal(data["x"], [1, 2, 3])
            self.assertEqual(data["t"].attrs["units"], "s")
        self.succeed("verify", "out.nxs")


if __name__ == "__main__":
    tessera.main()
