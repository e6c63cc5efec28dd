"""What tessera stencil shows of a run while it goes on: probes and norms, pictures of the field."""

import os
import unittest

import tessera
from tessera import h5py, numpy


def pyplot_image(path):
    """The pixels, rows from top to bottom, as bytes."""
    try:
        from matplotlib import image
    except ImportError as missing:
        raise unittest.SkipTest(str(missing))
    return numpy.rint(image.imread(path)[:, :, :3] * 255).astype(int)


class Watching(tessera.Case):
    def test_probes_and_norms_are_those_of_the_field(self):
        self.succeed("stencil", "--shape", "6x11x8", "--steps", 25, "--probe", "7,10,5;0,0,0", "--norms", "--probe-every", 10,
                     "--results", "r.h5", "--snapshots", "s.h5:/u", "--every", 10, ranks=4)
        with h5py.File(self.path("s.h5")) as file, h5py.File(self.path("r.h5")) as results:
            u, table = file["u"][:], results["stencil_0001/series"]
            rows = list(zip(table["step"][:], table["quantity"].asstr()[:], table["value"][:]))
            self.assertEqual(len(rows), 4 * 6)
            self.assertEqual(table["step"].attrs["units"], "steps")
        for frame, step in zip(u, (0, 10, 20, 25)):
            found = {quantity: value for at, quantity, value in rows if at == step}
            self.assertEqual((found["7,10,5"], found["0,0,0"]), (frame[5, 10, 7], frame[0, 0, 0]))
            self.assertEqual((found["min"], found["max"]), (frame.min(), frame.max()))
            self.assertAlmostEqual(found["sum"], frame.sum(), places=10)
            self.assertAlmostEqual(found["l2"], numpy.sqrt((frame**2).sum()), places=10)

    def test_pictures_show_the_field_with_its_scale(self):
        result = self.run_tessera("stencil", "--shape", "30x40", "--init", "ramp", "--steps", 0, "--preview", "u.png",
                                  "--frames", "f.png", "--every", 5, ranks=3)
        if result.code == tessera.USAGE and "libpng" in result.err:
            self.skipTest("built without libpng")
        self.assertEqual(result.code, 0, str(result))
        image = pyplot_image(self.path("u.png"))
        zoom = 360 // 40
        top, bottom = image[12, 12], image[12 + 30 * zoom - 1, 12 + 40 * zoom - 1]
        self.assertEqual((top.tolist(), bottom.tolist()), ([68, 1, 84], [253, 231, 37]))
        bar = image[12:12 + 30 * zoom, 12 + 40 * zoom + 12 + 5]
        self.assertEqual((bar[0].tolist(), bar[-1].tolist()), ([253, 231, 37], [68, 1, 84]))
        self.assertEqual(image[0, 0].tolist(), [255, 255, 255])
        self.assertTrue(os.path.exists(self.path("f_00000000.png")))

    def test_slices_of_a_solid_and_a_line_and_a_fixed_scale(self):
        for shape, size in (("50", (7 * 50, 60)), ("700x2", (60, 700)),
                            ("20x30x40", ((40 + 40 + 30) * 9 + 2 * 12, 30 * 9)),
                            ("2000x2000", (667, 667))):
            result = self.run_tessera("stencil", "--shape", shape, "--steps", 10, "--frames", "f.png", "--every", 5,
                                      "--color-range", "-1:1", ranks=2)
            if result.code == tessera.USAGE and "libpng" in result.err:
                self.skipTest("built without libpng")
            self.assertEqual(result.code, 0, str(result))
            for step in (0, 5, 10):
                height, width, _ = pyplot_image(self.path(f"f_{step:08d}.png")).shape
                self.assertEqual((width - 12 - 12 - 20 - 90, height - 3 * 12 - 7), size)

    def test_a_picture_that_cannot_be_written_ends_a_run_before_it_computes(self):
        os.mkdir(self.path("folder.png"))
        for option in ("--preview", "--frames"):
            for name in ("no/folder/u.png", *(("folder.png",) if option == "--preview" else ())):
                with self.subTest(option, name=name):
                    self.fail_with(tessera.CANNOT_CREATE, "stencil", "--shape", "64x64", "--steps", 10**12, option, name,
                                   words=name, ranks=2)

    def test_a_field_without_points_has_a_picture_without_any(self):
        for shape in ("0x5", "5x0", "0"):
            result = self.run_tessera("stencil", "--shape", shape, "--steps", 1, "--preview", "u.png", ranks=2)
            if result.code == tessera.USAGE and "libpng" in result.err:
                self.skipTest("built without libpng")
            self.assertEqual(result.code, 0, str(result))
            self.assertGreater(pyplot_image(self.path("u.png")).size, 0)

    def test_refusals(self):
        for more, message in [
                (("--probe", "1,2", "--results", "r.h5", "--shape", "5"), "write x,"),
                (("--probe", "5,2", "--results", "r.h5", "--shape", "5x5"), "no point"),
                (("--probe", "1,1"), "--results"),
                (("--norms",), "--results"),
                (("--color-range", "1:0", "--preview", "u.png"), "grow"),
                (("--color-range", "0:1"), "--preview"),
                (("--every", "5"), "--frames")]:
            with self.subTest(words=more):
                self.fail_with(tessera.USAGE, "stencil", *more, words=message)


if __name__ == "__main__":
    tessera.main()
