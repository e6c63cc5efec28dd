"""Image data of VTK and ParaView (VTKHDF) as input and output: every value keeps its position in
space. Positions are computed here, and by VTK where it is installed."""

import importlib
import itertools
import os
import re
import unittest

import tessera
from tessera import h5py, numpy

TURNED = numpy.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 1]])


def vtk():
    """Returns vtkHDFReader and the conversion of its arrays, or None."""
    try:
        return (importlib.import_module("vtkmodules.vtkIOHDF").vtkHDFReader,
                importlib.import_module("vtkmodules.util.numpy_support").vtk_to_numpy)
    except ImportError:
        return None


def write_image(path, values, time=None, kind="PointData", first=(0, 0, 0), components=0,
                **geometry):
    """Writes an image of values[..., z, y, x], of points or cells, whose extent begins at `first`
    (x, y, z)."""
    dims = values.ndim - (time is not None) - bool(components)
    counts = (values.shape[time is not None:][:dims][::-1] + (1, 1))[:3]
    last = [f + n - (kind == "PointData" or n == 1 and axis >= dims)
            for axis, (f, n) in enumerate(zip(first, counts))]
    with h5py.File(path, "w") as file:
        group = file.create_group("VTKHDF")
        group.attrs.create("Type", numpy.bytes_("ImageData"), dtype=h5py.string_dtype("ascii", 9))
        group.attrs.update({"Version": numpy.array([1 if time is None else 2, 0], "i8"),
                            "WholeExtent": numpy.array([list(zip(first, last))], "i8").ravel()})
        group.attrs.update({"Origin": numpy.zeros(3), "Spacing": numpy.ones(3),
                            "Direction": numpy.eye(3).ravel()})
        for name, numbers in geometry.items():
            group.attrs[name] = numpy.ravel(numbers)
        group[f"{kind}/u"] = values
        if time is not None:
            group["Steps/Values"] = numpy.array(time, "f8")
            group["Steps"].attrs["NSteps"] = len(time)
            group["Steps/PointDataOffsets/u"] = numpy.arange(len(time))


def positions(attrs, shape):
    """Returns the positions of values, [..., z, y, x, 3], of an image with these attributes."""
    first = numpy.array(attrs["WholeExtent"][::2], float)
    shape = (1, 1, 1)[len(shape):] + tuple(shape)
    k, j, i = numpy.meshgrid(*map(numpy.arange, shape), indexing="ij")
    steps = numpy.stack([i, j, k], -1) + first
    return steps * attrs["Spacing"] @ numpy.reshape(attrs["Direction"], (3, 3)).T + attrs["Origin"]


class Images(tessera.Case):
    def setUp(self):
        super().setUp()
        order = numpy.random.default_rng(tessera.SEED).permutation(120)
        self.values = order.reshape(4, 5, 6).astype("f8")
        self.geometry = {"Origin": [10, -20, 3.5], "Spacing": [0.25, 0.5, 2], "Direction": TURNED}

    def places(self, name, dataset="u"):
        """Returns {value: its position} of an output's image."""
        with h5py.File(self.path(name)) as file:
            values, attrs = file[dataset][()], dict(file["VTKHDF"].attrs)
            self.assertEqual(file[f"VTKHDF/PointData/{dataset}"], file[dataset])
        self.assertEqual(attrs["WholeExtent"].tolist()[::-2],
                         [n - 1 for n in (1, 1, 1)[values.ndim:] + values.shape])
        where = positions(attrs, values.shape).reshape(-1, 3)
        if vtk() and values.ndim == 3 and 1 not in values.shape:
            read, to_numpy = vtk()
            reader = read()
            reader.SetFileName(self.path(name))
            reader.Update()
            image = reader.GetOutput()
            numpy.testing.assert_array_equal(to_numpy(image.GetPointData().GetArray(dataset)),
                                             values.ravel())
            self.check_placed(image, attrs)
        return dict(zip(values.ravel().tolist(), where))

    def check_placed(self, image, attrs):
        """Checks where VTK places an image. Its reader (9.1) ignores the direction."""
        numpy.testing.assert_array_equal(image.GetOrigin(), attrs["Origin"])
        numpy.testing.assert_array_equal(image.GetSpacing(), attrs["Spacing"])
        matrix = image.GetDirectionMatrix()
        direction = [matrix.GetElement(row, column) for row in range(3) for column in range(3)]
        self.assertIn(direction, (list(attrs["Direction"]), numpy.eye(3).ravel().tolist()))

    def check(self, got, where):
        """Checks that each value has the place that `where` (values, positions) has for it."""
        want = dict(zip(where[0].ravel().tolist(), where[1].reshape(-1, 3)))
        self.assertEqual(len(set(got) - set(want)), 0)
        self.assertGreater(len(got), 0)
        for value, place in got.items():
            numpy.testing.assert_allclose(place, want[value], atol=1e-12)

    def test_a_stencil_keeps_the_geometry_also_of_its_own_output(self):
        write_image(self.path("in.vtkhdf"), self.values, first=(3, -2, 1), **self.geometry)
        with h5py.File(self.path("in.vtkhdf")) as file:
            where = positions(file["VTKHDF"].attrs, self.values.shape)
        source = "in.vtkhdf:/VTKHDF/PointData/u"
        for ranks, select in ((0, ""), (2, "[1:]"), (3, "[:3,2:5,1:4]"), (0, "[-1]"), (2, "[:,3]"),
                              (0, "[:,:,2]")):
            self.succeed("stencil", "--in", source + select, "--steps", 0, "--out", "a.h5:/u",
                         "--overwrite", ranks=ranks)
            self.check(self.places("a.h5"), (self.values, where))
        self.succeed("stencil", "--in", source, "--steps", 3, "--out", "a.h5:/u", "--overwrite")
        self.succeed("stencil", "--in", "a.h5:/u[1:,2:]", "--steps", 0, "--out", "b.h5:/u")
        with h5py.File(self.path("a.h5")) as file:
            swept = file["u"][()]
        self.assertGreater(abs(swept - self.values).max(), 0)
        self.check(self.places("b.h5"), (swept, where))

    def test_transposes_keep_every_value_in_its_place(self):
        for geometry in (self.geometry, {"Origin": [1, 2, 3], "Spacing": [1, 2, 4]}):
            write_image(self.path("in.vtkhdf"), self.values, first=(0, 0, 7), **geometry)
            with h5py.File(self.path("in.vtkhdf")) as file:
                where = positions(file["VTKHDF"].attrs, self.values.shape)
            for axes in itertools.permutations(range(3)) if geometry is self.geometry else ():
                select = ("", "[1:3,:,2:]")[axes[0] % 2]
                self.succeed("transpose", "--in", "in.vtkhdf:/VTKHDF/PointData/u" + select,
                             "--axes", ",".join(map(str, axes)), "--out", "t.h5:/u", "--overwrite",
                             ranks=axes[0])
                self.check(self.places("t.h5"), (self.values, where))
            self.succeed("transpose", "--in", "in.vtkhdf:/VTKHDF/PointData/u[2,1:]", "--out",
                         "t.h5:/u", "--overwrite", ranks=2)
            self.check(self.places("t.h5"), (self.values, where))
            self.succeed("transpose", "--in", "in.vtkhdf:/VTKHDF/PointData/u", "--axes", "2,0,1",
                         "--out", "t.h5:/u", "--overwrite", "--out-of-core", "always")
            self.check(self.places("t.h5"), (self.values, where))
            self.succeed("verify", "t.h5")

    def test_snapshots_and_a_second_field_have_it_too(self):
        for name in "ab":
            write_image(self.path(f"{name}.h5"), self.values + ord(name), **self.geometry)
        self.succeed("stencil", "--in", "a.h5:/VTKHDF/PointData/u,b.h5:/VTKHDF/PointData/u",
                     "--steps", 2, "--every", 1, "--snapshots", "s.h5:/u,s.h5:/v")
        with h5py.File(self.path("s.h5")) as file:
            for name in ("Origin", "Spacing", "Direction"):
                numpy.testing.assert_array_equal(file["VTKHDF"].attrs[name],
                                                 numpy.ravel(self.geometry[name]))
            self.assertEqual(set(file["VTKHDF/PointData"]), {"u", "v"})

    def test_steps_in_time_cells_flat_images_and_components(self):
        cells = {"kind": "CellData"}
        forms = [({"time": [0, 2]}, (2, 4, 5, 6), "[1]", 0),
                 (cells | {"first": (1, 0, 0)}, (4, 5, 6), "", 0.5),
                 ({"first": (0, 4, 2)}, (5, 6), "[1:]", 0),
                 ({"time": [0, 1, 2]}, (3, 5, 6), "[2,1:]", 0),
                 (cells, (5, 6), "", numpy.array([0.5, 0.5, 0.5, 0.5, 0, 0])),
                 ({"components": 3}, (4, 5, 6, 3), "[:,:,:,1]", 0)]
        for how, shape, select, half in forms:
            values = numpy.arange(float(numpy.prod(shape))).reshape(shape)
            write_image(self.path("in.h5"), values, **how, **self.geometry)
            kind = how.get("kind", "PointData")
            space = shape[1:] if "time" in how else shape[:3]
            with h5py.File(self.path("in.h5")) as file:
                attrs = dict(file["VTKHDF"].attrs)
            attrs["WholeExtent"] = attrs["WholeExtent"] + half
            self.succeed("stencil", "--in", f"in.h5:/VTKHDF/{kind}/u{select}", "--steps", 0,
                         "--out", "a.h5:/u", "--overwrite")
            of_frame = values[..., 1] if "components" in how else values.reshape(-1, *space)[-1]
            self.check(self.places("a.h5"), (of_frame, positions(attrs, space)))

    def test_what_is_no_image_of_space_has_none(self):
        write_image(self.path("in.h5"), numpy.arange(240.0).reshape(2, 4, 5, 6), time=[0, 1],
                    **self.geometry)
        with h5py.File(self.path("in.h5"), "a") as file:
            file["other"] = self.values
        for source in ("/VTKHDF/PointData/u", "/VTKHDF/PointData/u[:,1]", "/other"):
            axes = "1,0,2" if source != "/VTKHDF/PointData/u" else "3,1,0,2"
            self.succeed("transpose", "--in", f"in.h5:{source}", "--axes", axes, "--out", "t.h5:/u",
                         "--overwrite")
            with h5py.File(self.path("t.h5")) as file:
                self.assertNotIn("VTKHDF", file, source)
        self.succeed("stencil", "--in", "in.h5:/other", "--steps", 1, "--out", "o.h5:/u")
        with h5py.File(self.path("o.h5")) as file:
            self.assertEqual(file["VTKHDF"].attrs["Spacing"].tolist(), [1, 1, 1])

    def test_an_extent_that_is_no_box_of_integers_is_no_image(self):
        """Of other programs, or crafted."""
        nan, inf, most = numpy.nan, numpy.inf, 2 ** 63 - 1
        for extent in ([0, 5.5, 0, 4.5, 0, 3.5], [0, 1e300, 0, 4, 0, 3], [0, nan, 0, 4, 0, 3],
                       [-inf, inf, 0, 4, 0, 3], [-most, most, 0, 4, 0, 3], [0, most, 0, 4, 0, 3],
                       [5, 0, 4, 0, 3, 0], [1e300, 1e300 + 5, 0, 4, 0, 3]):
            with self.subTest(extent=extent):
                write_image(self.path("in.h5"), self.values, **self.geometry, WholeExtent=extent)
                self.succeed("stencil", "--in", "in.h5:/VTKHDF/PointData/u", "--steps", 0, "--out",
                             "a.h5:/u", "--overwrite")
                with h5py.File(self.path("a.h5")) as file:
                    self.assertEqual(file["VTKHDF"].attrs["Spacing"].tolist(), [1, 1, 1])

    def test_xdmf_has_origin_and_spacing_and_is_not_written_for_turned_images(self):
        straight = {"Origin": [10, -20, 3.5], "Spacing": [0.25, 0.5, 2]}
        write_image(self.path("in.h5"), self.values, **straight)
        run = ("stencil", "--in", "in.h5:/VTKHDF/PointData/u[1:]", "--steps", 1, "--overwrite",
               "--out", "a.h5:/u", "--xdmf")
        self.succeed(*run)
        with open(self.path("a.xdmf"), encoding="utf-8") as file:
            text = file.read()
        numbers = re.findall(r'<DataItem Dimensions="3" Format="XML">([^<]*)<', text)
        self.assertEqual(numbers, ["5.5 -20 10", "2 0.5 0.25"])
        write_image(self.path("in.h5"), self.values, **self.geometry)
        result = self.succeed(*run[:-3], "--out", "b.h5:/u", "--xdmf")
        self.assertIn("not written: b.xdmf: XDMF does not support the Direction", result.out)
        self.assertFalse(os.path.exists(self.path("b.xdmf")))

    @unittest.skipUnless(vtk(), "no vtkmodules; apt-get install python3-vtk9")
    def test_vtk_reads_the_inputs_of_these_tests(self):
        write_image(self.path("in.vtkhdf"), self.values, **self.geometry)
        read, to_numpy = vtk()
        reader = read()
        reader.SetFileName(self.path("in.vtkhdf"))
        reader.Update()
        image = reader.GetOutput()
        numpy.testing.assert_array_equal(to_numpy(image.GetPointData().GetArray("u")),
                                         self.values.ravel())
        with h5py.File(self.path("in.vtkhdf")) as file:
            self.check_placed(image, dict(file["VTKHDF"].attrs))


if __name__ == "__main__":
    tessera.main()
