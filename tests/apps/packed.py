"""Packed and missing numbers (CF): computations use the values, and missing numbers never enter a
sum silently."""

import unittest

import tessera
from tessera import BAD_DATA, OK, USAGE, h5py, numpy

try:
    import netCDF4
    import xarray
except ImportError as missing:
    netCDF4 = xarray = None
    MISSING = f"{missing}; apt-get install python3-netcdf4 python3-xarray"

QUICK = ("--repetitions", 1, "--warmups", 0)
# Name: stored type, attributes, and how many numbers of the file are missing according to them.
FORMS = {
    "scaled_f64": ("i2", {"scale_factor": 0.01, "add_offset": 273.15}),
    "scaled_f32": ("i2", {"scale_factor": numpy.float32(0.01),
                          "add_offset": numpy.float32(273.15)}),
    "scaled_big_endian": (">i2", {"scale_factor": 0.5}),
    "offset_alone": ("u1", {"add_offset": numpy.float32(-20)}),
    "unsigned_words": ("i8", {"_Unsigned": "true", "scale_factor": 2.0}),
    "unsigned": ("i1", {"_Unsigned": "true", "scale_factor": 2.0}),
    "signed": ("u1", {"_Unsigned": "false", "scale_factor": 2.0}),
    "wide_floats": ("f8", {"scale_factor": numpy.float32(2)}),
}
MASKED = {
    "fill": ("i2", {"_FillValue": numpy.int16(-99), "scale_factor": 0.1}),
    "fill_of_floats": ("f4", {"_FillValue": numpy.float32(1e20)}),
    "fill_as_f64": ("f4", {"missing_value": 1e20}),
    "fill_nan": ("f8", {"_FillValue": numpy.nan}),
    "several": ("i4", {"missing_value": numpy.array([-99, -98], "i4")}),
    "range": ("i2", {"valid_range": numpy.array([0, 90], "i2"), "add_offset": 5.0}),
    "range_of_values": ("i2", {"valid_range": numpy.array([0.0, 9.0]), "scale_factor": 0.1}),
    "least": ("i2", {"valid_min": numpy.int16(0)}),
    "most": ("f4", {"valid_max": numpy.float32(90)}),
    "unsigned_fill": ("i1", {"_Unsigned": "true", "_FillValue": numpy.int8(-1)}),
}


def draw(rng, kind, attributes, shape):
    """Returns stored numbers, some of them missing if the attributes define missing ones."""
    dtype = numpy.dtype(kind)
    stored = rng.integers(-90 if "_Unsigned" in attributes else 0, 91, shape).astype(dtype)
    for name in ("_FillValue", "missing_value"):
        for one in numpy.atleast_1d(attributes.get(name, [])):
            stored[tuple(rng.integers(0, n) for n in shape)] = one
    if {"valid_range", "valid_min", "valid_max"} & set(attributes):
        stored[1, 2], stored[2, 1] = (-5, 120) if "valid_range" in attributes else (
            -5, 0) if "valid_min" in attributes else (120, 0)
    return stored


def values_of(stored, attributes, dtype):
    """Returns their values by numpy according to CF, step by step; missing ones are masked."""
    at = {name: numpy.atleast_1d(value) for name, value in attributes.items()
          if name != "_Unsigned"}
    other = attributes.get("_Unsigned")
    if other is not None:
        turned = numpy.dtype(("u" if other == "true" else "i") + str(stored.dtype.itemsize))
        stored = stored.view(turned)
        at = {name: value.view(turned) if name == "_FillValue" else value
              for name, value in at.items()}
    mask = numpy.zeros(stored.shape, bool)
    for name in ("_FillValue", "missing_value"):
        for one in at.get(name, []):
            mask |= numpy.isnan(stored) if one != one else stored == stored.dtype.type(one)
    values = stored.astype(dtype)
    if "scale_factor" in at or "add_offset" in at:
        values = values * dtype(at.get("scale_factor", [1])[0])
        values = values + dtype(at.get("add_offset", [0])[0])
    low = at.get("valid_range", at.get("valid_min", [None]))[0]
    high = at.get("valid_range", at.get("valid_max", [None]))[-1]
    compared = values if "valid_range" in at and at[
        "valid_range"].dtype.kind == "f" and stored.dtype.kind != "f" else stored
    with numpy.errstate(invalid="ignore"):
        mask |= (compared < low) if low is not None else False
        mask |= (compared > high) if high is not None else False
    return numpy.ma.array(values, mask=mask)


class Packed(tessera.Case):
    SHAPE = (23, 17)

    def setUp(self):
        super().setUp()
        self.rng = numpy.random.default_rng(tessera.SEED)
        self.fields = {}
        with h5py.File(self.path("in.h5"), "w") as file:
            for name, (kind, attributes) in {**FORMS, **MASKED}.items():
                stored = draw(self.rng, kind, attributes, self.SHAPE)
                file.create_dataset(name, data=stored, chunks=(5, 17) if len(name) % 2 else None)
                file[name].attrs.update(attributes)
                file[name].attrs["units"] = "K"
                single = name in ("scaled_f32", "offset_alone") or (name in MASKED and kind == "f4")
                self.fields[name] = (stored, values_of(stored, attributes,
                                                       numpy.float32 if single else numpy.float64))
            file["eye"] = numpy.eye(self.SHAPE[1], dtype="f4")

    def unpacked(self, name, *more, ranks=0):
        """Returns the field after zero steps, as read with --type auto."""
        self.succeed("stencil", "--in", f"in.h5:/{name}", "--steps", 0, "--out", "u.h5:/u",
                     "--overwrite", *more, ranks=ranks)
        return tessera.read_matrix(self.path("u.h5"), "u")

    def test_values_are_those_of_numpy(self):
        for name in FORMS:
            for ranks in (0, 3):
                got, (_, want) = self.unpacked(name, ranks=ranks), self.fields[name]
                self.assertEqual((got.dtype, got.tobytes()), (want.dtype, want.data.tobytes()),
                                 name)
        with h5py.File(self.path("u.h5")) as file:
            self.assertEqual(file["u"].attrs["units"], "K")
            self.assertNotIn("scale_factor", file["u"].attrs)

    def test_missing_ones_are_refused_with_their_number_and_first_place(self):
        for name in MASKED:
            mask = self.fields[name][1].mask
            first = ",".join(str(int(k)) for k in numpy.argwhere(mask)[0])
            for ranks in (0, 3):
                for words in (("stencil", "--in", f"in.h5:/{name}", "--steps", 1),
                              ("matmul", "--a", f"in.h5:/{name}", "--b", "in.h5:/eye", *QUICK)):
                    self.fail_with(BAD_DATA, *words, "--out", "x.h5:/x", ranks=ranks,
                                   words=(f"in.h5:/{name} has {mask.sum()} of {mask.size} cells",
                                          f"[{first}]", "--fill nan", "--raw"))

    def test_fill(self):
        for name in MASKED:
            want = self.fields[name][1]
            self.assertGreater(want.mask.sum(), 0)
            for ranks, fill in ((0, "nan"), (3, "nan"), (4, "-7.5")):
                got = self.unpacked(name, "--fill", fill, ranks=ranks)
                numpy.testing.assert_array_equal(got, want.filled(float(fill)).astype(want.dtype),
                                                 name)
            self.assertEqual("_FillValue" in h5py.File(self.path("u.h5"))["u"].attrs, False)
            self.unpacked(name, "--fill", "nan")
            with h5py.File(self.path("u.h5")) as file:
                self.assertTrue(numpy.isnan(file["u"].attrs["_FillValue"]))

    def test_raw(self):
        for name, (stored, _) in self.fields.items():
            numpy.testing.assert_array_equal(self.unpacked(name, "--raw"),
                                             stored.astype("f8" if stored.dtype.kind != "f"
                                                           or stored.dtype.itemsize > 4 else "f4"),
                                             name)

    def test_products(self):
        """In memory, in rounds and out of core, on 1, 3 and 4 ranks, including selections."""
        m, k, n = 150, 90, 120
        a, b = self.rng.integers(-500, 500, (m, k)).astype("i2"), self.rng.integers(
            0, 200, (k, n)).astype("u1")
        b[3, 5] = b[80, 100] = 255
        with h5py.File(self.path("p.h5"), "w") as file:
            file.create_dataset("a", data=a, chunks=(20,
                                                     20)).attrs.update({"scale_factor": 0.25,
                                                                        "add_offset": 3.0})
            file.create_dataset("b", data=b).attrs.update({"scale_factor": 0.5,
                                                           "_FillValue": numpy.uint8(255)})
        left, right = a * 0.25 + 3, numpy.where(b == 255, 2.0, b * 0.5)
        words = ("matmul", "--a", "p.h5:/a", "--b", "p.h5:/b", "--out", "c.h5:/C", "--overwrite",
                 *QUICK)
        for ranks in (1, 3, 4):
            ways = [(), ("--algorithm", "summa", "--panel", 16),
                    ("--out-of-core", "always", "--memory", "512KiB")]
            for kib in range(400, 40, -40):  # the smallest limit that still uses rounds
                way = ("--memory", f"{kib}KiB", "--out-of-core", "never")
                plan = self.run_tessera(*words, *way, "--fill", 2, "--plan", ranks=ranks)
                if plan.code == OK and "rounds" in plan.out:
                    ways.append(way)
                    break
            for way in ways:
                self.fail_with(BAD_DATA, *words, *way, ranks=ranks,
                               words=("p.h5:/b has 2 of", "[3,5]"))
                self.succeed(*words, *way, "--fill", 2, ranks=ranks)
                numpy.testing.assert_allclose(tessera.read_matrix(self.path("c.h5")), left @ right,
                                              rtol=1e-13)
        self.succeed("matmul", "--a", "p.h5:/a[10:60,5:]", "--b", "p.h5:/b[5:,:90]", "--out",
                     "c.h5:/C", "--overwrite", *QUICK, "--fill", 2)
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("c.h5")),
                                      left[10:60, 5:] @ right[5:, :90], rtol=1e-13)
        self.succeed(*words, "--raw")
        numpy.testing.assert_allclose(tessera.read_matrix(self.path("c.h5")),
                                      a.astype("f8") @ b.astype("f8"), rtol=1e-13)
        self.succeed(*words, "--fill", 2, "--type", "c128")
        numpy.testing.assert_allclose(
            tessera.read_matrix(self.path("c.h5")).view("f8").reshape(m, n, 2)[..., 0],
            left @ right, rtol=1e-13)

    def test_fields(self):
        """Many steps, three dimensions and selections: equal to those of unpacked values in another
        file."""
        stored = self.rng.integers(-3000, 3000, (9, 14, 11)).astype("i2")
        stored[4, 3, 2] = -32768
        with h5py.File(self.path("f.h5"), "w") as file:
            file.create_dataset("u", data=stored, chunks=(3, 14, 11)).attrs.update(
                {"scale_factor": 0.125, "_FillValue": numpy.int16(-32768)})
            file["v"] = numpy.where(stored == -32768, 1.5, stored * 0.125)
            file["k"] = numpy.full(stored.shape, 2, "u1")
            file["k"].attrs["scale_factor"] = 0.25
            file["half"] = numpy.full(stored.shape, 0.5)
        steps = ("--steps", 6, "--overwrite")
        for ranks in (1, 3, 4):
            for more, same in (((), ()), (("--coefficients", "f.h5:/k"),
                                          ("--coefficients", "f.h5:/half"))):
                self.succeed("stencil", "--in", "f.h5:/u", *steps, "--fill", 1.5, "--out",
                             "g.h5:/u", *more, ranks=ranks)
                self.succeed("stencil", "--in", "f.h5:/v", *steps, "--out", "h.h5:/u", *same,
                             ranks=ranks)
                self.assertEqual(tessera.read_matrix(self.path("g.h5"), "u").tobytes(),
                                 tessera.read_matrix(self.path("h.h5"), "u").tobytes())
        self.fail_with(BAD_DATA, "stencil", "--in", "f.h5:/u[4]", *steps[:2],
                       words=("1 of 154", "[3,2]"))
        self.succeed("stencil", "--in", "f.h5:/u[5:]", *steps[:2])

    def test_transposes_and_sorts_carry_numbers_as_they_are(self):
        for name in ("fill", "scaled_f32", "unsigned_fill"):
            stored = self.fields[name][0]
            self.succeed("transpose", "--in", f"in.h5:/{name}", "--out", "t.h5:/T", "--overwrite")
            with h5py.File(self.path("t.h5")) as file, h5py.File(self.path("in.h5")) as source:
                self.assertEqual(file["T"][()].tobytes(), stored.T.tobytes())
                self.assertEqual({key: str(value) for key, value in file["T"].attrs.items()
                                  if key not in ("tessera_checksum", "DIMENSION_LIST")},
                                 {key: str(value) for key, value in source[name].attrs.items()})

    def test_sorts_with_fill_values_last(self):
        n = 3000
        stored = self.rng.integers(-500, 500, n).astype("i2")
        stored[self.rng.integers(0, n, 40)] = -99
        real = self.rng.random(n).astype("f4")
        real[::7] = -1
        with h5py.File(self.path("k.h5"), "w") as file:
            file.create_dataset("t/k", data=stored).attrs.update({"_FillValue": numpy.int16(-99),
                                                                  "scale_factor": 0.1})
            file.create_dataset("t/r", data=real, chunks=(100,
                                                          )).attrs["valid_min"] = numpy.float32(0)
            file["t/row"] = numpy.arange(n)
        missing = stored == -99
        for ranks in (1, 3, 4):
            for more in ((), ("--out-of-core", "always", "--memory", "64KiB")):
                for way, keys in (((), (stored, missing)),
                                  (("--descending",), (-stored.astype(int), missing))):
                    self.succeed("sort", "--in", "k.h5:/t/k", *way, *more, "--fill", "last",
                                 "--out", "s.h5:/k", "--argsort", "s.h5:/p", "--overwrite",
                                 ranks=ranks)
                    order = numpy.lexsort(keys)
                    with h5py.File(self.path("s.h5")) as file:
                        numpy.testing.assert_array_equal(file["p"][()], order)
                        self.assertEqual(file["k"][()].tobytes(), stored[order].tobytes())
                        self.assertEqual(file["k"].attrs["scale_factor"], 0.1)
                self.succeed("sort", "--in", "k.h5:/t", "--by=-r,k", *more, "--fill", "last",
                             "--out", "s.h5:/t", "--overwrite", ranks=ranks)
                order = numpy.lexsort((stored, missing, -real, real < 0))
                numpy.testing.assert_array_equal(tessera.read_matrix(self.path("s.h5"), "t/row"),
                                                 order)
        self.succeed("sort", "--in", "k.h5:/t/k", "--out", "s.h5:/k", "--overwrite")
        self.assertEqual(tessera.read_matrix(self.path("s.h5"), "k").tobytes(),
                         numpy.sort(stored).tobytes())
        self.fail_with(USAGE, "sort", "--in", "k.h5:/t/k", "--fill", "last", "--quantiles", 0.5,
                       words="--fill last")

    def test_others_that_compute(self):
        """Scaling transposes and quantiles do not support packing: they report it."""
        for words in (("transpose", "--in", "in.h5:/scaled_f64", "--type", "f64", "--alpha", 2),
                      ("sort", "--in", "k1.h5:/k", "--quantiles", 0.5)):
            with h5py.File(self.path("k1.h5"), "w") as file:
                file["k"] = numpy.arange(9.0)
                file["k"].attrs["_FillValue"] = 3.0
            self.fail_with(BAD_DATA, *words, words=("packed or may be missing", "--raw"))
            self.succeed(*words, "--raw")

    def test_what_is_not_understood(self):
        with h5py.File(self.path("in.h5"), "r+") as file:
            file["eye"].attrs["scale_factor"] = "two"
        self.fail_with(BAD_DATA, "stencil", "--in", "in.h5:/eye", "--steps", 1,
                       words=("'scale_factor'", "not a number", "--raw"))
        self.succeed("stencil", "--in", "in.h5:/eye", "--steps", 1, "--raw")
        self.fail_with(USAGE, "stencil", "--in", "in.h5:/eye", "--steps", 1, "--fill", "none",
                       words=("--fill 'none'", "nan"))
        self.fail_with(USAGE, "stencil", "--in", "in.h5:/eye", "--steps", 1, "--fill", "nan",
                       "--raw", words="--raw")
        self.succeed("stencil", "--in", "in.h5:/range", "--steps", 1, "--fill", "nan", "--plan")
        self.fail_with(BAD_DATA, "stencil", "--in", "in.h5:/range", "--steps", 1, "--plan",
                       words="without a value")


@unittest.skipUnless(netCDF4, "needs netCDF4 and xarray")
class ByOthers(tessera.Case):
    """Files written by netCDF4; values compared with those of netCDF4 and xarray."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        with netCDF4.Dataset(self.path("e.nc"), "w") as file:
            for name, extent in (("time", 3), ("y", 12), ("x", 15)):
                file.createDimension(name, extent)
            t2m = file.createVariable("t2m", "i2", ("time", "y", "x"), fill_value=-32767, zlib=True)
            t2m.scale_factor, t2m.add_offset, t2m.units = 0.0015, 270.5, "K"
            values = rng.uniform(230, 310, (3, 12, 15))
            t2m[:] = numpy.ma.array(values, mask=values > 305)
            byte = file.createVariable("byte", "i1", ("y", "x"), fill_value=-1)
            byte._Unsigned, byte.scale_factor = "true", numpy.float32(0.5)
            byte.set_auto_maskandscale(False)
            byte[:] = rng.integers(-128, 127, (12, 15))
            byte[2, 3] = -1
            file.createVariable("plain", "f4", ("y", "x"),
                                fill_value=numpy.float32(-9999))[:] = rng.random((12, 15))

    def test_values(self):
        for name in ("t2m[1]", "byte", "plain"):
            self.succeed("stencil", "--in", f"e.nc:/{name}", "--steps", 0, "--fill", "nan", "--out",
                         "u.h5:/u", "--overwrite", ranks=3)
            got = tessera.read_matrix(self.path("u.h5"), "u")
            with netCDF4.Dataset(self.path("e.nc")) as file:
                want = file[name.partition("[")[0]][1 if "[" in name else slice(None)]
                numpy.testing.assert_allclose(got, numpy.ma.filled(want.astype("f8"), numpy.nan),
                                              rtol=2e-7)
            with xarray.open_dataset(self.path("e.nc")) as data:
                want = data[name.partition("[")[0]].values
                numpy.testing.assert_allclose(got, want[1] if "[" in name else want, rtol=2e-7)
        self.succeed("stencil", "--in", "e.nc:/plain", "--steps", 1)  # none of its cells is missing
        with xarray.open_dataset(self.path("u.h5")) as data:
            self.assertEqual(data["u"].shape, (12, 15))


if __name__ == "__main__":
    tessera.main()
