"""Files of tessera stencil: readable by every tool, snapshots in time."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import tessera
from tessera import h5py, numpy


def has(module):
    return importlib.util.find_spec(module) is not None


def python(*words):
    """Runs a reader in another process: its own HDF5 library may conflict with h5py's."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True)


READ_WITH_VTK = """
import sys, numpy
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.util.numpy_support import vtk_to_numpy
reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
assert reader.CanReadFile(sys.argv[1])
reader.Update()
image = reader.GetOutput()
assert image.GetPointData().GetArray(0).GetName() == "u"
values = vtk_to_numpy(image.GetPointData().GetArray(0))
numpy.save(sys.argv[2], values.reshape(image.GetDimensions()[::-1]))
"""


class Readers(tessera.Case):
    def setUp(self):
        super().setUp()
        self.succeed("stencil", "--shape", "7x12x9", "--init", "gaussian", "--steps", 23, "--out",
                     "u.h5:/u",
                     "--snapshots", "s.h5:/u", "--every", 10, "--xdmf", ranks=3)
        self.u = tessera.read_matrix(self.path("u.h5"), "u")
        self.s = tessera.read_matrix(self.path("s.h5"), "u")

    def test_snapshots_are_the_field_after_so_many_steps(self):
        self.assertEqual(self.s.shape, (4, 7, 12, 9))
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["time"][:].tolist(), [0, 10, 20, 23])
        self.assertEqual(self.s[3].tobytes(), self.u.tobytes())
        for frame, steps in enumerate((0, 10, 20)):
            self.succeed("stencil", "--shape", "7x12x9", "--init", "gaussian", "--steps", steps,
                         "--out", "v.h5:/u",
                         "--overwrite")
            self.assertEqual(tessera.read_matrix(self.path("v.h5"), "u").tobytes(),
                             self.s[frame].tobytes())
        self.succeed("verify", "s.h5")

    def test_the_results_tell_what_was_written_beside_the_steps(self):
        for ranks in (0, 3):
            self.succeed("stencil", "--shape", "7x12x9", "--steps", 23, "--snapshots", "t.h5:/u",
                         "--every", 10, "--overwrite", "--repetitions", 2, "--results", "r.h5",
                         ranks=ranks)
            found = tessera.traffic(self.path("r.h5"))
            self.assertEqual(set(found), {-1})
            self.assertEqual(found[-1][:2], (0, self.s.nbytes))

    def test_both_may_be_one_file_of_one_or_two_dimensions(self):
        for shape, frame in (("41", (41,)), ("10x11", (10, 11))):
            self.succeed("stencil", "--shape", shape, "--steps", 5, "--every", 5, "--out",
                         "b.h5:/u", "--snapshots",
                         "b.h5:/series", "--overwrite", ranks=2)
            with h5py.File(self.path("b.h5")) as file:
                self.assertEqual(file["series"].shape, (2, *frame))
                self.assertEqual(file["series"][1].tobytes(), file["u"][:].tobytes())
            self.succeed("verify", "b.h5")

    @unittest.skipUnless(has("vtkmodules"), "no python3-vtk9")
    def test_vtk_hdf_reader(self):
        result = python("-c", READ_WITH_VTK, self.path("u.h5"), self.path("vtk.npy"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(numpy.load(self.path("vtk.npy")).tobytes(), self.u.tobytes())

    def test_the_image_is_the_dataset_itself(self):
        for name, version in (("u.h5", [1, 0]), ("s.h5", [2, 0])):
            with h5py.File(self.path(name)) as file:
                group = file["VTKHDF"]
                self.assertEqual(group.attrs["Version"].tolist(), version)
                self.assertEqual(group.attrs["Type"], b"ImageData")
                self.assertEqual(group.attrs["WholeExtent"].tolist(), [0, 8, 0, 11, 0, 6])
                self.assertEqual(file["u"].id.get_offset(), group["PointData/u"].id.get_offset())
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["VTKHDF/Steps"].attrs["NSteps"], 4)
            self.assertEqual(file["VTKHDF/Steps/Values"][:].tolist(), [0, 10, 20, 23])
            self.assertEqual(file["VTKHDF/Steps/PointDataOffsets/u"][:].tolist(), [0, 1, 2, 3])

    @unittest.skipUnless(has("xarray"), "no python3-xarray")
    def test_xarray(self):
        engines = [e for e, m in (("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")) if has(m)]
        if not engines:
            self.skipTest("xarray here reads no HDF5: neither h5netcdf nor netCDF4")
        for engine in engines:
            for name in ("u.h5", "s.h5"):
                result = python("-c", "import sys, xarray\n"
                                "d = xarray.open_dataset(sys.argv[1], engine=sys.argv[2])\n"
                                "print(d.u.dims, sorted(d.coords), float(d.u[-1].sum()), "
                                "d.u.x.values[-1])",
                                self.path(name), engine)
                dims = "('time', 'z', 'y', 'x')" if name == "s.h5" else "('z', 'y', 'x')"
                total = (self.s if name == "s.h5" else self.u)[-1].sum()
                self.assertIn(dims, result.stdout, result.stderr)
                self.assertAlmostEqual(float(result.stdout.split("] ")[1].split()[0]), total,
                                       places=10)

    @unittest.skipUnless(shutil.which("ncdump"), "no netcdf-bin")
    def test_ncdump(self):
        text = subprocess.run(["ncdump", "-h", self.path("s.h5")], capture_output=True, text=True,
                              check=True).stdout
        self.assertIn("double u(time, z, y, x)", text)

    def test_xdmf_points_at_every_frame(self):
        for name, values in (("s", self.s), ("u", self.u[None])):
            grids = xml.etree.ElementTree.parse(
                self.path(f"{name}.xdmf")).getroot().findall("Domain/Grid/Grid")
            self.assertEqual(len(grids), len(values))
            for frame, grid in enumerate(grids):
                self.assertEqual(grid.find("Topology").get("Dimensions"), "7 12 9")
                item = grid.find("Attribute/DataItem")
                whole = item.find("DataItem[@Format='HDF']") if item.get("ItemType") else item
                file, path = whole.text.split(":")
                data = tessera.read_matrix(self.path(file), path)
                if item.get("ItemType"):
                    words = [int(w) for w in item.find("DataItem[@Format='XML']").text.split()]
                    start, _, count = words[:4], words[4:8], words[8:]
                    data = data[tuple(slice(s, s + c) for s, c in zip(start, count))]
                self.assertEqual(data.tobytes(), values[frame].tobytes())


class Pictures(tessera.Case):
    @unittest.skipUnless(has("vtkmodules"), "no python3-vtk9")
    def test_vtk_reads_every_image_of_three_dimensions_that_there_is(self):
        """The reader supports an extent of 1 in the last dimension only; otherwise no image is
        written, and the program reports it."""
        for shape in ((5, 6, 7), (5, 6, 1), (1, 5, 6), (4, 1, 6), (1, 1, 6), (5, 1, 1)):
            name = "x".join(map(str, shape))
            result = self.succeed("stencil", "--shape", name, "--steps", 3, "--out", "u.h5:/u",
                                  "--overwrite", ranks=len(shape) % 2 + 1)
            u, there = tessera.read_matrix(self.path("u.h5"), "u"), 1 not in shape[:-1]
            with h5py.File(self.path("u.h5")) as file:
                self.assertEqual("VTKHDF" in file, there, shape)
            self.assertEqual(result.out.count("no VTKHDF in u.h5"), 0 if there else 1, result.out)
            if there:
                read = python("-c", READ_WITH_VTK, self.path("u.h5"), self.path("vtk.npy"))
                self.assertEqual(read.returncode, 0, read.stderr)
                self.assertEqual(numpy.load(self.path("vtk.npy")).tobytes(), u.tobytes())

    def test_images_of_two_dimensions_and_series_have_no_dimension_of_one_but_the_last(self):
        for shape, there in (("1x8", False), ("8x1", True), ("3x8", True), ("8", False)):
            words = ("stencil", "--shape", shape, "--steps", 2, "--out", "u.h5:/u", "--snapshots",
                     "s.h5:/u", "--every", 1, "--overwrite")
            out = self.succeed(*words).out
            for name in ("u.h5", "s.h5"):
                with h5py.File(self.path(name)) as file:
                    self.assertEqual("VTKHDF" in file, there, shape)
                self.assertEqual(out.count(f"no VTKHDF in {name}"), 1 if shape == "1x8" else 0, out)

    def test_no_xdmf_that_no_reader_would_understand(self):
        for out, there in (("ü.h5:/u", False), ("a:b.h5:/u", False), ("c.h5:/a:b", False),
                           ("c.h5:/g/ü", False), ("d e.h5:/it's <u>&", True)):
            file = out[:out.rfind(":/")]
            result = self.succeed("stencil", "--shape", "4x5", "--steps", 2, "--xdmf", "--out", out,
                                  "--overwrite")
            xdmf = file.replace(".h5", ".xdmf")
            self.assertEqual(os.path.exists(self.path(xdmf)), there, out)
            self.assertEqual(result.out.count(f"not written: {xdmf}: XDMF"), 0 if there else 1,
                             result.out)
            if there:
                item = xml.etree.ElementTree.parse(
                    self.path(xdmf)).getroot().find("Domain/Grid/Grid/Attribute/DataItem")
                self.assertEqual(item.text, out)


if __name__ == "__main__":
    tessera.main()
