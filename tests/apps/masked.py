"""stencil --fill mask: cells without a value are outside of the domain, whose boundary has no flux.
"""

import itertools
import os

import tessera
from stencil_cases import Side, boundary, pad
from tessera import BAD_DATA, OK, USAGE, h5py, numpy

FILL = -9999
ALL_SIDES = ("clamp", "mirror", "reflect", "periodic", "constant")
NAMED = {"heat": 1, "star2": 2}


def sweep(u, inside, weights, steps, sides, previous=0.0, past=None, coefficients=None, source=None,
          keep=None):
    """Computes the steps by looping over the weights: a neighbour without a value counts as the
    point itself."""
    radii = [n // 2 for n in weights.shape]
    ghosts = [[Side("constant", 1) if side.kind == "constant" else side for side in both]
              for both in sides]
    there = pad(inside.astype("f8"), radii, ghosts, None) != 0
    u = numpy.where(inside, u, 0)
    past = u if past is None else numpy.where(inside, past, 0)
    for _ in range(steps):
        around, total = pad(u, radii, sides, None), numpy.zeros_like(u)
        for offset in numpy.ndindex(weights.shape):
            part = tuple(slice(o, o + n) for o, n in zip(offset, u.shape))
            total += weights[offset] * numpy.where(there[part], around[part], u)
        if coefficients is not None:
            total = weights.sum() * u + coefficients * (total - weights.sum() * u)
        total += previous * past + (0 if source is None else source)
        if keep is not None:
            total = numpy.where(keep != 0, total, u)
        past, u = u, numpy.where(inside, total, 0)
    return numpy.where(inside, u, numpy.nan)


def star(dims, radius):
    """Returns the weights of heat (radius 1) and star2."""
    weights = numpy.zeros((2 * radius + 1,) * dims)
    for axis in range(dims):
        line = [radius] * dims
        line[axis] = slice(None)
        weights[tuple(line)] = 0.125 if radius == 1 else 1 / (4 * dims + 1)
    weights[(radius,) * dims] = 1 - 2 * dims * 0.125 if radius == 1 else 1 / (4 * dims + 1)
    return weights


class Masked(tessera.Case):
    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(tessera.SEED)

    def write(self, name, shape, share=0.3, kind="f8", inside=None, **attributes):
        """Writes a dataset of in.h5 with about that share of missing values; returns the values and
        the mask of present ones."""
        values = self.rng.uniform(-1, 1, shape).astype(kind)
        inside = self.rng.random(shape) >= share if inside is None else inside
        with h5py.File(self.path("in.h5"), "a") as file:
            file[name] = numpy.where(inside, values, FILL).astype(kind)
            file[name].attrs.update({"_FillValue": numpy.dtype(kind).type(FILL), **attributes})
        return values.astype("f8"), inside

    def run_masked(self, name, steps, *more, ranks=0, out="out.h5:/u", threads=1):
        self.succeed("stencil", "--in", f"in.h5:/{name}", "--fill", "mask", "--steps", steps,
                     "--out", out, "--overwrite", *more,
                     ranks=ranks, threads=threads)
        return tessera.read_matrix(self.path(out.partition(":")[0]), out.partition(":/")[2])

    def test_fields_are_those_of_numpy_with_every_boundary(self):
        for number, (dims, (stencil, radius), kind) in enumerate(
                itertools.product((1, 2, 3), NAMED.items(), ALL_SIDES)):
            shape = {1: (67,), 2: (31, 26), 3: (13, 12, 14)}[dims]
            u, inside = self.write(f"u{number}", shape, share=self.rng.choice([0.05, 0.3, 0.8]))
            sides = [[Side(kind, 1.5)] * 2] * dims
            want = sweep(u, inside, star(dims, radius), 7, sides)
            bits = set()
            for ranks, halo_steps in ((1, 0), (4, 3), (6, 0)):
                with self.subTest(stencil=stencil, dims=dims, kind=kind, ranks=ranks):
                    got = self.run_masked(f"u{number}", 7, "--stencil", stencil, "--boundary",
                                          boundary(sides), "--halo-steps", halo_steps, ranks=ranks)
                    numpy.testing.assert_allclose(got, want, rtol=0, atol=1e-13)
                    bits.add(got.tobytes())
            self.assertEqual(len(bits), 1, (stencil, dims, kind))

    def test_any_weights_kernels_and_sides(self):
        kernels = ("naive", "tiled", "column", "zigzag", "streaming", "cache_oblivious")
        sides = [[Side("reflect"), Side("constant", -0.5)], [Side("periodic")] * 2]
        for number, kernel in enumerate(kernels):
            shape, kind = (29, 37), ("f4", "f8")[number % 2]
            u, inside = self.write(f"u{number}", shape, kind=kind)
            weights = self.rng.uniform(-1, 1, ((3, 3), (5, 5), (5, 3))[number % 3])
            weights /= abs(weights).sum()
            text = "; ".join(" ".join(repr(float(w)) for w in row) for row in weights)
            want = sweep(u, inside, weights, 5, sides)
            bits = set()
            for ranks, more in ((1, ()), (4, ("--overlap", "yes", "--halo-steps", 2)),
                                (6, ("--exchange", "messages"))):
                got = self.run_masked(f"u{number}", 5, "--weights", text, "--kernel", kernel,
                                      "--boundary", boundary(sides), *more, ranks=ranks, threads=2)
                numpy.testing.assert_allclose(got, want, rtol=0,
                                              atol=1e-13 if kind == "f8" else 1e-5)
                bits.add(got.tobytes())
            self.assertEqual(len(bits), 1, kernel)
        box = numpy.full((5, 5), 1 / 25)
        got = self.run_masked("u1", 4, "--stencil", "box5x5", "--boundary", "mirror", ranks=3)
        u = tessera.read_matrix(self.path("in.h5"), "u1")
        numpy.testing.assert_allclose(got, sweep(u, u != FILL, box, 4, [[Side("mirror")] * 2] * 2),
                                      rtol=0, atol=1e-13)

    def test_other_terms_two_levels_and_several_fields(self):
        shape, clamp = (27, 30), [[Side("clamp")] * 2] * 2
        u, inside = self.write("u", shape)
        v, _ = self.write("v", shape, inside=inside)
        past, _ = self.write("past", shape, inside=inside)
        k, _ = self.write("k", shape, inside=inside)
        q, _ = self.write("q", shape, share=0)
        with h5py.File(self.path("in.h5"), "a") as file:
            file["keep"] = keep = self.rng.integers(0, 3, shape)
        weights = star(2, 1) * 2
        weights[1, 1] = 1
        terms = ("--coefficients", "in.h5:/k", "--source", "in.h5:/q", "--source-factor", 0.5,
                 "--mask", "in.h5:/keep")
        for ranks in (1, 4, 6):
            got = self.run_masked("u", 6, "--stencil", "wave", "--past", "in.h5:/past", *terms,
                                  ranks=ranks)
            want = sweep(u, inside, weights, 6, clamp, -1, past, k, q / 2, keep)
            numpy.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
            got = self.run_masked("u", 6, "--stencil", "wave", ranks=ranks)
            numpy.testing.assert_allclose(got, sweep(u, inside, weights, 6, clamp, -1), rtol=0,
                                          atol=1e-12)
            self.succeed("stencil", "--in", "in.h5:/u,/v", "--fill", "mask", "--steps", 5, "--out",
                         "out.h5:/u,/v", "--overwrite", ranks=ranks)
            for name, start in (("u", u), ("v", v)):
                numpy.testing.assert_allclose(tessera.read_matrix(self.path("out.h5"), name),
                                              sweep(start, inside, star(2, 1), 5, clamp), rtol=0,
                                              atol=1e-13)

    def test_a_lake_keeps_what_is_in_it(self):
        """Periodic heat conserves its sum, and so does a part enclosed by walls."""
        inside = numpy.ones((20, 24), bool)
        inside[5, 3:12] = inside[12, 3:12] = inside[5:13, 3] = inside[5:13, 11] = False
        u, _ = self.write("u", inside.shape, inside=inside)
        got = self.run_masked("u", 200, "--boundary", "periodic", ranks=4)
        self.assertAlmostEqual(numpy.nansum(got), u[inside].sum(), places=11)
        lake = got[6:12, 4:11]
        self.assertAlmostEqual(lake.sum(), u[6:12, 4:11].sum(), places=11)
        self.assertLess(lake.std(), 0.2 * u[6:12, 4:11].std())

    def test_what_is_written_says_where_there_is_nothing(self):
        u, inside = self.write("u", (18, 21), units="K", valid_range=numpy.array([-5.0, 5.0]))
        self.run_masked("u", 6, "--snapshots", "s.h5:/u", "--every", 2, "--probe", "4,3;5,3",
                        "--norms", "--probe-every", 3,
                        "--results", "r.h5", ranks=3)
        first, more = self.run_masked("u", 3, out="a.h5:/u"), ("--fill", "mask", "--steps", 3,
                                                               "--out", "b.h5:/u", "--overwrite")
        self.succeed("stencil", "--in", "a.h5:/u", *more, ranks=2)  # NaN marks missing values there
        with h5py.File(self.path("out.h5")) as out, h5py.File(
                self.path("s.h5")) as frames, h5py.File(self.path("b.h5")) as later:
            for data in (out["u"], frames["u"]):
                self.assertTrue(numpy.isnan(data.attrs["_FillValue"]))
                self.assertEqual(data.attrs["units"], "K")
                self.assertNotIn("valid_range", data.attrs)
            self.assertTrue((numpy.isnan(frames["u"][()]) == ~inside).all())
            self.assertEqual(frames["u"][-1].tobytes(), out["u"][()].tobytes())
            self.assertEqual(later["u"][()].tobytes(), out["u"][()].tobytes())
            self.assertEqual(numpy.isnan(first).sum(), (~inside).sum())
            end = out["u"][()]
        with h5py.File(self.path("r.h5")) as file:
            table = file["stencil_0001/series"]
            last = {name: value for step, name, value in zip(table["step"][:],
                                                             table["quantity"].asstr()[:],
                                                             table["value"][:]) if step == 6}
        numpy.testing.assert_array_equal([last["4,3"], last["5,3"]], [end[3, 4], end[3, 5]])
        self.assertEqual((last["min"], last["max"]), (numpy.nanmin(end), numpy.nanmax(end)))
        self.assertAlmostEqual(last["sum"], numpy.nansum(end), places=12)

    def test_runs_go_on_from_their_checkpoints_and_from_no_others(self):
        u, inside = self.write("u", (22, 19))
        other, _ = self.write("v", (22, 19))
        want = self.run_masked("u", 9)
        self.run_masked("u", 6, "--checkpoint", "ck.h5", "--checkpoint-every", 6, ranks=4)
        got = self.run_masked("u", 9, "--resume", "ck.h5", ranks=3)
        self.assertEqual(got.tobytes(), want.tobytes())
        self.fail_with(USAGE, "stencil", "--in", "in.h5:/v", "--fill", "mask", "--steps", 9,
                       "--resume", "ck.h5", words="another problem")

    def test_packed_numbers_and_domains_of_all_or_nothing(self):
        stored = self.rng.integers(-300, 300, (15, 16)).astype("i2")
        inside = self.rng.random(stored.shape) > 0.4
        with h5py.File(self.path("in.h5"), "a") as file:
            file["packed"] = numpy.where(inside, stored, FILL).astype("i2")
            file["packed"].attrs.update({"_FillValue": numpy.int16(FILL), "scale_factor": 0.25,
                                         "add_offset": 3.0})
            file["none"] = numpy.full((9, 8), FILL, "i2")
            file["none"].attrs["_FillValue"] = numpy.int16(FILL)
            file["all"] = stored / 8
            file["all"].attrs["_FillValue"] = 1e20
        sides = [[Side("clamp")] * 2] * 2
        for ranks in (1, 4):
            got = self.run_masked("packed", 4, ranks=ranks)
            numpy.testing.assert_allclose(got, sweep(stored * 0.25 + 3, inside, star(2, 1), 4,
                                                     sides), rtol=1e-13)
            self.assertTrue(numpy.isnan(self.run_masked("none", 4, ranks=ranks)).all())
            part = self.run_masked("packed[3:12,2:]", 4, ranks=ranks)
            numpy.testing.assert_allclose(part, sweep((stored * 0.25 + 3)[3:12, 2:],
                                                      inside[3:12, 2:], star(2, 1), 4, sides),
                                          rtol=1e-13)
            whole = self.run_masked("all", 4, ranks=ranks)
            self.succeed("stencil", "--in", "in.h5:/all", "--steps", 4, "--out", "plain.h5:/u",
                         "--overwrite")
            self.assertEqual(whole.tobytes(), tessera.read_matrix(self.path("plain.h5"),
                                                                  "u").tobytes())
        plan = self.succeed("stencil", "--in", "in.h5:/packed", "--fill", "mask", "--steps", 4,
                            "--plan", ranks=2)
        self.assertIn(f"{(~inside).sum()} of {inside.size} cells have no value", plan.out)

    def test_what_is_not_supported_is_refused_with_the_reason(self):
        shape = (12, 14)
        _, inside = self.write("u", shape)
        with h5py.File(self.path("in.h5"), "a") as file:
            there = numpy.argwhere(inside)[5]
            file["cells"] = numpy.where(inside, 1.0, 0.0)
            for name in ("hole", "k"):
                other = inside.copy()
                other[tuple(there)] = False
                file[name] = numpy.where(other, 0.5, FILL)
                file[name].attrs["_FillValue"] = float(FILL)
            file["frame"] = numpy.full((14, 16), 2.0)
            file["frame"].attrs["_FillValue"] = 2.0
        field = ("stencil", "--in", "in.h5:/u", "--fill", "mask", "--steps", 2)
        for code, words, named in (
                (USAGE, (*field, "--type", "f16"), ("f16", "--fill mask")),
                (USAGE, (*field, "--stencil", "life"), ("life", "--fill mask")),
                (USAGE, ("stencil", "--shape", 9, "--fill", "mask", "--steps", 1),
                 ("--fill mask", "--in")),
                (USAGE, (*field, "--raw"), "--raw"),
                (USAGE, ("stencil", "--in", "in.h5:/u", "--fill", "masked", "--steps", 1),
                 ("'masked'", "nan", "mask")),
                (USAGE, ("matmul", "--a", "in.h5:/u", "--b", "in.h5:/u", "--fill", "mask"),
                 ("'mask'", "nan")),
                (BAD_DATA, (*field, "--in", "in.h5:/u,/hole"),
                 ("in.h5:/u", "in.h5:/hole", "1 of 168", "[%d,%d]" % tuple(there))),
                (BAD_DATA, (*field, "--in", "in.h5:/u,/cells"),
                 ("in.h5:/u", "in.h5:/cells", f"{(~inside).sum()} of 168")),
                (BAD_DATA, (*field, "--coefficients", "in.h5:/k"), ("in.h5:/k", "1 of 168")),
                (BAD_DATA, (*field, "--boundary", "given", "--given", "in.h5:/frame"),
                 ("in.h5:/frame", "224 of 224"))):
            words = [word for i, word in enumerate(words)
                     if not (words.count("--in") == 2 and i in (1, 2))]
            for ranks in (0, 3):
                with self.subTest(words=words, ranks=ranks):
                    self.fail_with(code, *words, ranks=ranks, words=named)
        if os.environ.get("TESSERA_DEVICE") != "gpu":
            result = self.run_tessera(*field, "--device", "gpu")
            self.assertNotEqual(result.code, OK)


if __name__ == "__main__":
    tessera.main()
