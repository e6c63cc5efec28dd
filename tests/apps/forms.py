"""Inputs in other forms than HDF5, with the commands that convert them, and the names by which
datasets, groups and axes are found."""

import re
import shutil
import subprocess
import unittest

import tessera
from round_trips import needs, package
from tessera import h5py, numpy

zarr, netcdf = package("zarr"), package("netCDF4")


class OtherForms(tessera.Case):
    def convert(self, name, code=tessera.BAD_DATA, form=""):
        """Runs the command of the message in the place of a user."""
        result = self.fail_with(code, "transpose", "--in", name, words=form)
        command = re.search(r"convert it: (.*)", result.errors[0])[1]
        done = subprocess.run(command.replace("python3 ", f"{tessera.sys.executable} "), shell=True,
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
        return command

    @needs("netCDF4", debian="python3-netcdf4")
    @unittest.skipIf(shutil.which("nccopy") is None, "no nccopy; apt-get install netcdf-bin")
    def test_netcdf3(self):
        values = numpy.arange(12.0).reshape(3, 4)
        for number, form in enumerate(("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET",
                                       "NETCDF3_64BIT_DATA")):
            with netcdf.Dataset(self.path(f"c{number}.nc"), "w", format=form) as file:
                file.createDimension("y", 3)
                file.createDimension("x", 4)
                file.createVariable("v", "f8", ("y", "x"))[:] = values
            self.convert(f"c{number}.nc:/v", form=f"'c{number}.nc' is a netCDF-3 file, not HDF5")
            self.succeed("transpose", "--in", f"c{number}.nc4:/v", "--out", f"t{number}.nc:/v")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path(f"t{number}.nc"), "v"),
                                             values.T)

    @needs("zarr", debian="python3-zarr")
    def test_zarr(self):
        values = numpy.arange(12.0).reshape(3, 4)
        group = zarr.open(self.path("z.zarr"), mode="w")
        group["g/v"] = values
        zarr.save(self.path("a.zarr"), values)
        self.convert("z.zarr:/g/v", form="'z.zarr' is a zarr store, not HDF5")
        self.convert("a.zarr:/v", form="'a.zarr' is a zarr array, not HDF5")
        for name in ("z.h5:/g/v", "a.h5:/data"):
            self.succeed("transpose", "--in", name, "--out", "t.h5:/v", "--overwrite")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "v"), values.T)

    def test_csv(self):
        with open(self.path("t.csv"), "w", encoding="utf8") as file:
            file.write("time,energy,name\n3,1.5,c\n1,2.5,abc\n2,-1,b\n")
        command = self.convert("t.csv:/table", form="'t.csv' is a text file, not HDF5")
        again = subprocess.run(command.replace("python3 ", f"{tessera.sys.executable} "),
                               shell=True, cwd=self.folder, capture_output=True, text=True)
        self.assertNotEqual(again.returncode, 0, "an existing file would be lost")
        self.succeed("sort", "--in", "t.h5:/table", "--by", "name", "--out", "s.h5:/table")
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(list(file["table"]["time"]), [1, 2, 3])
            self.assertEqual(list(file["table"]["energy"]), [2.5, -1, 1.5])

    def test_others(self):
        with open(self.path("noise"), "wb") as file:
            file.write(bytes(range(256)))
        self.fail_with(tessera.BAD_DATA, "transpose", "--in", "noise:/x",
                       words=("'noise' is not an HDF5 file", "h5py or similar"))
        self.fail_with(tessera.MISSING, "transpose", "--in", ".:/x", words="it is a directory")


class Names(tessera.Case):
    def setUp(self):
        super().setUp()
        self.values = numpy.arange(24.0).reshape(2, 3, 4)
        with h5py.File(self.path("a.h5"), "w") as file:
            file["group/deep/A"], file["group/deep/B"] = self.values, self.values
            file["M"], file["k"] = self.values[0], [3, 1, 2]
            for d, name in enumerate(("time", "lat", "lon")):
                file[f"group/deep/{name}"] = numpy.arange(self.values.shape[d])
                file[f"group/deep/{name}"].make_scale(name)
                file["group/deep/A"].dims[d].attach_scale(file[f"group/deep/{name}"])
                file["group/deep/B"].dims[d].label = name

    def test_a_path_needs_no_slash(self):
        self.succeed("transpose", "--in", "a.h5:M", "--out", "t.h5:T")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                         self.values[0].T)
        self.succeed("transpose", "--in", "a.h5:M[0:2,1:]", "--out", "t.h5:g/T", "--overwrite")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "g/T"),
                                         self.values[0, 0:2, 1:].T)
        self.succeed("sort", "--in", "a.h5:k", "--out", "s.h5:k")
        self.succeed("matmul", "--a", "a.h5:M", "--trans-a", "T", "--b", "a.h5:M", "--out",
                     "c.h5:C")
        self.succeed("stencil", "--in", "a.h5:M,a.h5:M", "--steps", 1, "--out", "u.h5:u,/v")
        with h5py.File(self.path("u.h5")) as file:
            self.assertLessEqual({"u", "v"}, set(file))
        for wrong in ("a.h5", "a.h5:", ":M", "a.h5:/"):
            self.fail_with(tessera.USAGE, "transpose", "--in", wrong, words="write file.h5:/path")

    def test_a_wrong_path_lists_its_group(self):
        for path, words in (("/group/deep/C", "choose from its group: /group/deep/A, "),
                            ("/group/dep/A", "choose from its group: /group/deep"),
                            ("/x/A", "choose from its root: /M, /group, /k"),
                            ("/M/x", "choose from its root: /M, /group, /k")):
            self.fail_with(tessera.MISSING, "transpose", "--in", f"a.h5:{path}", words=words)

    def test_axes_by_name(self):
        for name in ("A", "B"):
            for axes, order in (("lat,lon,time", (1, 2, 0)), ("lon, time,lat", (2, 0, 1))):
                self.succeed("transpose", "--in", f"a.h5:/group/deep/{name}", "--axes", axes,
                             "--out", "t.h5:/T", "--overwrite", ranks=2)
                numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                                 self.values.transpose(order))
        self.succeed("transpose", "--in", "a.h5:/group/deep/A[:,1]", "--axes", "lon,time", "--out",
                     "t.h5:/T", "--overwrite")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                         self.values[:, 1].T)
        for axes, words in (("lat,lon,tim", "no dimension 'tim'; did you mean 'time'?"),
                            ("lat,lat,lon", "not a permutation"), ("lat,2,0", "list of numbers")):
            self.fail_with(tessera.USAGE, "transpose", "--in", "a.h5:/group/deep/A", "--axes", axes,
                           words=words)


if __name__ == "__main__":
    tessera.main()
