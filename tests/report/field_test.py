"""field_test.py SCRIPTS TESSERA SCRATCH: pictures of numeric datasets. Exits with 77 without
matplotlib."""
import os
import shutil
import sys
import unittest

import made  # adds the folder of the scripts to the path
from made import h5py, np

try:
    import matplotlib.image
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import field
import report
import style


def scales_of(file, data, names, time=None):
    for dimension, name in zip(data.dims, names):
        if name not in file:
            file[name] = time if name == "time" else np.arange(data.shape[names.index(name)])
            file[name].make_scale(name)
        dimension.attach_scale(file[name])


class Fields(made.Case):
    def write(self, name, values, names=(), time=None):
        path = self.path(name)
        shutil.rmtree(os.path.splitext(path)[0] + "_png", ignore_errors=True)
        with h5py.File(path, "w") as file:
            file["u"] = values
            if names:
                scales_of(file, file["u"], names, time)
        return path

    def images(self, path):
        folder = os.path.splitext(path)[0] + "_png"
        return {name: matplotlib.image.imread(os.path.join(folder, name))
                for name in sorted(os.listdir(folder))}

    def page_of(self, path):
        with open(os.path.splitext(path)[0] + ".html", encoding="utf-8") as file:
            return file.read()

    def test_slices_are_named_by_their_coordinates(self):
        path = self.write("slices.h5", np.arange(60.0).reshape(3, 4, 5), ("z", "y", "x"))
        with h5py.File(path, "r+") as file:
            file["z"][:] = [0, 10, 70]  # uneven
            file["z"].attrs["units"] = "m"
            file["y"][:] = [40, 45, 50, 55]
            file["y"].attrs["units"] = np.bytes_("degrees_north")
        found = field.read(f"{path}:/u")
        drawn = list(field.pictures(found))
        self.assertEqual([one.title.split(", ")[1] for one in drawn],
                         ["z = 10 m", "y = 50 degrees_north", "x = 2"])
        self.assertEqual([one.name for one in drawn], ["z1", "y2", "x2"])
        self.assertEqual({one.caption for one in drawn}, {"One scale for all pictures."})
        axes = style.figure_of(drawn[1]).axes[0]
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("x", "z (index)"))

    def test_the_colour_bar_is_as_high_as_the_map(self):
        path = self.write("wide.h5", np.arange(300.0).reshape(10, 30))
        figure = style.figure_of(next(field.pictures(field.read(f"{path}:/u"))))
        figure.draw_without_rendering()
        axes = figure.axes[0]
        bar = axes.child_axes[0].get_window_extent()
        self.assertAlmostEqual(bar.y0, axes.get_window_extent().y0, 0)
        self.assertAlmostEqual(bar.y1, axes.get_window_extent().y1, 0)

    def test_results_and_fields_are_told_apart(self):
        path = self.write("told.h5", np.ones(3))
        self.assertEqual(field.split(f"{path}:/a/b"), (path, "/a/b"))
        for results in (path, f"{path}#matmul_0001", "no.h5:/u"):
            self.assertIsNone(field.split(results))

    def test_values_of_packed_fields_and_cells_without_one(self):
        stored = np.array([[0, 100, -9999], [200, 300, 7]], dtype="i2")
        path = self.write("cf.h5", stored, ("lat", "lon"))
        with h5py.File(path, "r+") as file:
            file["u"].attrs.update(_FillValue=np.int16(-9999), missing_value=np.int16(7),
                                   scale_factor=0.5, add_offset=280.0, units=np.bytes_("K"))
            del file["u"].attrs["DIMENSION_LIST"]
            for name, at in (("south", [60.0, 50.0]), ("east", [0.0, 1.0, 4.0])):
                file[name] = at
                file[name].make_scale(name)
                file[name].attrs["units"] = np.bytes_("degrees")
            file["u"].dims[0].attach_scale(file["south"])
            file["u"].dims[1].attach_scale(file["east"])
        found = field.read(f"{path}:/u")
        np.testing.assert_array_equal(found.values(0, (slice(None), slice(None))),
                                      [[280, 330, np.nan], [380, 430, np.nan]])
        self.assertEqual((found.range(), found.label), ((280.0, 430.0), "u (K)"))
        south, east = found.axes["south"], found.axes["east"]
        self.assertEqual((south.label, south.edges(2)), ("south (degrees)", (65.0, 45.0)))
        self.assertEqual((east.label, east.edges(3)), ("east (index)", (-0.5, 2.5)))

    def test_every_frame_is_a_picture_on_one_scale_and_the_page_shows_some(self):
        u = np.linspace(0, 1, 30)[:, None, None] * np.arange(20 * 40).reshape(20, 40)
        path = self.write("s.h5", u, ("time", "y", "x"), 50 * np.arange(30))
        out = self.run_script(report, f"{path}:/u")
        self.assertIn("30 pictures", out)
        images = self.images(path)
        self.assertEqual(list(images), [f"s-h5--u_{50 * i:08d}.png" for i in range(30)])
        self.assertEqual(len({image.shape for image in images.values()}), 1,
                         "frames of a movie are equally large")
        self.assertEqual(self.page_of(path).count("<figure"), field.MOST_IN_PAGE)
        one = field.read(f"{path}:/u")
        self.assertEqual((one.names, one.shape, one.times[1]), (("y", "x"), (20, 40), 50))
        self.assertEqual(one.range(), (0, 799))
        dark = [style.figure_of(p).axes[0].images[0] for p in field.pictures(one)]
        self.assertEqual({image.get_clim() for image in dark}, {(0, 799)})
        np.testing.assert_array_equal(dark[29].get_array(), u[29])

    def test_a_solid_is_shown_by_its_middle_slices(self):
        u = np.random.default_rng(1).random((4, 5, 6))
        found = {p.name: p for p in field.pictures(field.read(f"{self.write('solid.h5', u)}:/u"))}
        self.assertEqual(list(found), ["z2", "y2", "x3"])
        for name, values in (("z2", u[2]), ("y2", u[:, 2]), ("x3", u[:, :, 3])):
            axes = style.figure_of(found[name]).axes[0]
            np.testing.assert_array_equal(axes.images[0].get_array(), values)
        self.assertEqual((axes.get_ylabel(), axes.get_xlabel()), ("z", "y"))

    def test_matrices_begin_at_the_top_and_fields_at_the_bottom(self):
        for names, top in ((("row", "col"), True), (("y", "x"), False)):
            path = self.write("m.h5", np.arange(12.0).reshape(3, 4), names)
            axes = style.figure_of(next(field.pictures(field.read(f"{path}:/u")))).axes[0]
            self.assertEqual(axes.yaxis_inverted(), top)
            self.assertEqual(axes.get_xlabel(), names[1])

    def test_large_fields_lines_and_holes(self):
        large = field.read(
            f"{self.write('large.h5', np.ones((2, 3 * field.MOST_CELLS + 1), 'f2'))}:/u")
        self.assertLessEqual(large.values(0, large.cuts()[0][1]).shape[1], field.MOST_CELLS)
        line = field.read(f"{self.write('line.h5', np.arange(7) ** 2)}:/u")
        axes = style.figure_of(next(field.pictures(line))).axes[0]
        self.assertEqual(axes.lines[0].get_ydata().tolist(), [0, 1, 4, 9, 16, 25, 36])
        hole = np.array([[0.0, np.nan], [np.inf, 2.0]])
        self.assertEqual(field.read(f"{self.write('hole.h5', hole)}:/u").range(), (0, 2))
        nothing = self.write("nothing.h5", np.full((3, 3), np.nan))
        self.run_script(report, f"{nothing}:/u")
        self.assertEqual(len(self.images(nothing)), 1)
        self.run_script(report, f"{nothing}:/u", "--text")

    def test_characters(self):
        out = self.run_script(report, f"{self.write('t.h5', np.arange(600.0).reshape(20, 30))}:/u",
                              "--text")
        self.assertIn("x; cells in the field's units", out)
        self.assertIn("@@ 568", out)

    def test_what_cannot_be_drawn_is_refused(self):
        path = self.path("bad.h5")
        with h5py.File(path, "w") as file:
            file["words"], file["none"], file["five"] = "text", np.zeros((0, 3)), np.zeros((1,) * 5)
            file["complex"] = np.zeros(3, complex)
        for name, code in (("words", 65), ("none", 65), ("five", 65), ("complex", 65),
                           ("missing", 66)):
            self.assert_refused(self.run_script(report, f"{path}:/{name}", code=code), path, name)

    def test_snapshots_of_the_program(self):
        path, results = self.path("snapshots.h5"), self.path("with.h5")
        shutil.rmtree(os.path.splitext(path)[0] + "_png", ignore_errors=True)
        done = self.run_program("stencil", "--shape", "20x30", "--init", "ramp", "--steps", "6",
                                "--snapshots", f"{path}:/u",
                                "--every", "4", "--overwrite", "--results", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program("report", f"{path}:/u", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [f"snapshots-h5--u_{step:08d}.png" for step in (0, 4, 6)]
        self.assertLessEqual(set(names), set(self.images(path)))
        self.assertIn("stencil_0001", done.stdout)
        self.assertEqual(field.read(f"{path}:/u").names, ("y", "x"))
        self.assertEqual(self.run_program("report", f"{path[:-3]}.none:/u").returncode, 66)


if __name__ == "__main__":
    made.main()
