"""Keys and rows keep their stored type and bits, and the attributes that remain valid."""

import os

import tessera
from tessera import h5py, numpy

WAYS = ((), ("--out-of-core", "always", "--memory", "64KiB"), ("--top", "700"))


def integer(bits, size, order="LE", signed=True, offset=0):
    kind = getattr(h5py.h5t, f"STD_{'I' if signed else 'U'}32{order}").copy()
    kind.set_precision(bits)
    kind.set_offset(0)
    kind.set_size(size)
    kind.set_offset(offset)
    return kind


def real(sign, exponent_at, exponent_bits, mantissa_bits, size, bias, order="LE"):
    kind = (h5py.h5t.IEEE_F64LE if order == "LE" else h5py.h5t.IEEE_F64BE).copy()
    kind.set_fields(sign, exponent_at, exponent_bits, 0, mantissa_bits)
    kind.set_precision(sign + 1)
    kind.set_size(size)
    kind.set_ebias(bias)
    return kind


def floats_of(codes, exponent_bits, mantissa_bits, bias):
    """Returns the values of codes of adjacent sign, exponent and mantissa."""
    exponent = codes >> mantissa_bits & (1 << exponent_bits) - 1
    mantissa = (codes & (1 << mantissa_bits) - 1).astype(float)
    with numpy.errstate(over="ignore"):  # of special values
        numbers = numpy.ldexp(mantissa + 2.0 ** mantissa_bits, exponent - bias - mantissa_bits)
    value = numpy.where(exponent == 0, numpy.ldexp(mantissa, 1 - bias - mantissa_bits), numbers)
    special = numpy.where(mantissa == 0, numpy.inf, numpy.nan)
    value = numpy.where(exponent == (1 << exponent_bits) - 1, special, value)
    return numpy.where(codes >> mantissa_bits + exponent_bits & 1, -value, value)


class Types(tessera.Case):
    N = 3001

    def cases(self):
        """Returns {name: (stored type, the rows' bytes, their values)}."""
        rng = numpy.random.default_rng(tessera.SEED)
        cases = {}

        def add(name, kind, codes, values):
            size = kind.get_size()
            raw = codes.astype("<u8").view("u1").reshape(-1, 8)[:, :size]
            if kind.get_order() == h5py.h5t.ORDER_BE:
                raw = raw[:, ::-1]
            cases[name] = (kind, numpy.ascontiguousarray(raw), values)

        for name, bits, size, order, signed in (("i12", 12, 2, "LE", True),
                                                ("u12", 12, 2, "BE", False),
                                                ("i24", 24, 3, "LE", True),
                                                ("u24", 24, 3, "BE", False),
                                                ("i20", 20, 4, "LE", True)):
            codes = rng.integers(0, 1 << bits, self.N)
            values = numpy.where(signed & (codes >> bits - 1 & 1 == 1), codes - (1 << bits), codes)
            add(name, integer(bits, size, order, signed), codes, values)
        for name, layout, size, bias, order in (("bfloat16", (8, 7), 2, 127, "LE"),
                                                ("bfloat16 big", (8, 7), 2, 127, "BE"),
                                                ("f24", (8, 15), 3, 127, "LE"),
                                                ("viirs", (11, 20), 4, 1023, "BE"),
                                                ("minifloat", (4, 3), 1, 7, "LE"),
                                                ("f16", (5, 10), 2, 15, "LE"),
                                                ("f16 big", (5, 10), 2, 15, "BE")):
            exponent, mantissa = layout
            codes = rng.integers(0, 1 << 1 + exponent + mantissa, self.N)
            codes[:40] = rng.choice([0, 1 << exponent + mantissa], 40)  # zeros of both signs
            codes[40:90] = (((1 << exponent) - 1 << mantissa) + rng.integers(
                1, 1 << mantissa, 50)) | (rng.integers(0, 2, 50) << exponent + mantissa)
            add(name, real(exponent + mantissa, mantissa, exponent, mantissa, size, bias, order),
                codes,
                floats_of(codes, exponent, mantissa, bias))
        return cases

    def write(self, path, kind, raw, name=b"k"):
        with h5py.File(self.path(path), "a") as file:
            space = h5py.h5s.create_simple((len(raw),))
            dataset = h5py.h5d.create(file.id, name, kind, space)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, raw.view(f"V{raw.shape[1]}"), mtype=kind)

    def read(self, path, name=b"k"):
        with h5py.File(self.path(path)) as file:
            dataset = h5py.h5d.open(file.id, name)
            kind = dataset.get_type()
            raw = numpy.zeros((dataset.shape[0], kind.get_size()), "u1")
            dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, raw.view(f"V{kind.get_size()}"), mtype=kind)
            return kind, raw

    def test_sorted_keys_have_the_type_and_the_bits_of_the_input(self):
        for number, (name, (kind, raw, values)) in enumerate(self.cases().items()):
            self.write(f"{number}.h5", kind, raw)
            nan = values != values
            order = numpy.lexsort([numpy.signbit(values) == 0, numpy.where(nan, 0, values), nan])
            for way in WAYS[:2 + number % 2]:
                self.succeed("sort", "--in", f"{number}.h5:/k", "--out", "o.h5:/k", "--overwrite",
                             *way, ranks=number % 3)
                got_kind, got = self.read("o.h5")
                want = raw[order][:700] if "--top" in way else raw[order]
                self.assertTrue(got_kind.equal(kind), (name, way))
                numbers = min(len(want), int((~nan).sum()))
                self.assertEqual(got[:numbers].tobytes(), want[:numbers].tobytes(), (name, way))
                self.assertEqual(sorted(map(bytes, got[numbers:])),
                                 sorted(map(bytes, want[numbers:])), (name, way))
            self.succeed("sort", "--in", f"{number}.h5:/k", "--argsort", "p.h5:/p", "--out",
                         "o2.h5:/k", "--overwrite", ranks=number % 3)
            self.assertEqual(self.read("o2.h5")[1].tobytes(),
                             raw[tessera.read_matrix(self.path("p.h5"), "p")].tobytes(), name)
            self.succeed("sort", "--in", f"{number}.h5:/k", "--out", "o1.h5:/k", "--overwrite")
            self.assertEqual(self.read("o1.h5")[1].tobytes(), self.read("o2.h5")[1].tobytes(), name)

    def test_transposes_too(self):
        for number, (name, (kind, raw, _)) in enumerate(self.cases().items()):
            with h5py.File(self.path(f"{number}.h5"), "w") as file:
                dataset = h5py.h5d.create(file.id, b"k", kind, h5py.h5s.create_simple((60, 50)))
                dataset.write(h5py.h5s.ALL, h5py.h5s.ALL,
                              raw[:3000].view(f"V{raw.shape[1]}").reshape(60, 50), mtype=kind)
            self.succeed("transpose", "--in", f"{number}.h5:/k", "--out", "o.h5:/k", "--overwrite",
                         ranks=number % 3)
            with h5py.File(self.path("o.h5")) as file:
                dataset = file["k"].id
                got = numpy.zeros((50, 60), f"V{raw.shape[1]}")
                dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, got, mtype=kind)
                self.assertTrue(dataset.get_type().equal(kind), name)
                self.assertEqual(got.T.tobytes(), raw[:3000].tobytes(), name)

    def test_floats_that_no_key_holds_are_refused(self):
        kind = real(63, 58, 5, 58, 8, 15)  # 58 bits of fraction
        self.write("wide.h5", kind, numpy.zeros((9, 8), "u1"))
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "wide.h5:/k", "--out", "o.h5:/k",
                       words="f64 cannot represent")

    def test_pictures_and_tables_stay_what_they_are(self):
        """CLASS belongs to dimension scales, and to other conventions."""
        image = {"CLASS": numpy.bytes_(b"IMAGE"), "IMAGE_VERSION": numpy.bytes_(b"1.2"),
                 "IMAGE_SUBCLASS": numpy.bytes_(b"IMAGE_GRAYSCALE"),
                 "IMAGE_MINMAXRANGE": numpy.array([0, 255], "u1")}
        table = {"CLASS": numpy.bytes_(b"TABLE"), "VERSION": numpy.bytes_(b"2.7"),
                 "TITLE": numpy.bytes_(b""), "FIELD_0_NAME": numpy.bytes_(b"a"),
                 "NROWS": numpy.int64(90)}
        with h5py.File(self.path("in.h5"), "w") as file:
            rows = numpy.zeros(90, [("a", "<i4"), ("b", "<f8")])
            rows["a"] = numpy.arange(90)[::-1]
            for name, data, attributes in (("image", numpy.zeros((30, 20), "u1"), image),
                                           ("table", rows, table), ("keys", numpy.arange(90),
                                                                    image)):
                file.create_dataset(name, data=data).attrs.update(attributes)
            file["scale"] = numpy.arange(90)
            file["scale"].make_scale("of its own")
        for words, name, want in ((("transpose", "--in", "in.h5:/image"), "image", image),
                                  (("sort", "--in", "in.h5:/table", "--by", "a"), "table", table),
                                  (("sort", "--in", "in.h5:/keys"), "keys", image),
                                  (("sort", "--in", "in.h5:/scale"), "scale",
                                   {"CLASS": b"DIMENSION_SCALE", "NAME": b"of its own"}),
                                  (("sort", "--in", "in.h5:/table", "--by", "a", "--top", "7"),
                                   "table", {k: v for k, v in table.items() if k != "NROWS"})):
            if os.path.exists(self.path("o.h5")):
                os.remove(self.path("o.h5"))
            self.succeed(*words, "--out", f"o.h5:/{name}", ranks=2)
            with h5py.File(self.path("o.h5")) as file:
                found = {k: v for k, v in file[name].attrs.items()
                         if k not in ("tessera_checksum", "DIMENSION_LIST")}
                self.assertEqual({k: numpy.asarray(v).tolist() for k, v in found.items()},
                                 {k: numpy.asarray(v).tolist() for k, v in want.items()}, words)


if __name__ == "__main__":
    tessera.main()
