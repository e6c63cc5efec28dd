"""Input attributes kept in outputs of sorts, transposes and stencils, whose elements are of the
same kind."""

import tessera
from tessera import h5py, numpy

KEPT = {"units": "m s-1", "scale": 0.5, "count": numpy.int16(7),
        "range": numpy.array([1.5, 2.5], ">f4"), "flag": numpy.bool_(True),
        "names": ["a", "bc", ""], "bytes": numpy.bytes_(b"fixed"),
        "pair": numpy.array((1, 2.5), dtype=[("i", "<i4"), ("x", "<f8")]),
        "nothing": h5py.Empty("f4"), "none": numpy.zeros(0, "i4"),
        "square": numpy.arange(6).reshape(2, 3), "ünits": "ß"}
WAYS = ((), ("--out-of-core", "always", "--memory", "64KiB"))


def describe(thing, more=()):
    for name, value in {**KEPT, **dict(more)}.items():
        thing.attrs[name] = value
    thing.attrs.create("words", numpy.array(["x", "yz"], dtype=object), dtype=h5py.string_dtype())
    thing.attrs.create("ragged", numpy.array([numpy.arange(3), numpy.arange(1)], dtype=object),
                       dtype=h5py.vlen_dtype("i4"))


def attributes(thing):
    """Returns {name: (stored type, value)} without Tessera's attributes."""
    found = {}
    for name in thing.attrs:
        if name in ("tessera_checksum", "DIMENSION_LIST"):
            continue
        low = h5py.h5a.open(thing.id, name.encode())
        value = thing.attrs[name]
        text = "empty" if isinstance(
            value, h5py.Empty) else [v.tolist() for v in value
                                     ] if name == "ragged" else numpy.asarray(value).tolist()
        found[name] = (low.get_type().encode(), low.shape, text)
    return found


class Attributes(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.n = 3000
        with h5py.File(self.path("in.h5"), "w") as file:
            describe(file.create_dataset("keys", data=rng.integers(0, 100, self.n, dtype="u1"),
                                         chunks=(100,), compression="gzip", shuffle=True))
            table = file.create_group("table")
            for name in ("a", "b"):
                describe(table.create_dataset(name, data=rng.integers(0, 50, self.n)),
                         {"long_name": name})
            describe(table, {"title": "of the table"})
            rows = numpy.zeros(self.n, [("x", "<f4"), ("y", ">i8")])
            rows["x"] = rng.normal(size=self.n)
            describe(file.create_dataset("rows", data=rows))
            describe(file.create_dataset("field", data=rng.normal(size=(40, 30))),
                     {"_FillValue": numpy.array([-1.0])})
            describe(file.create_dataset("cube", data=rng.normal(size=(4, 5, 6))))

    def check(self, source, out, where, without=()):
        with h5py.File(self.path("in.h5")) as file, h5py.File(self.path(out)) as got:
            kept = {name: value for name, value in attributes(file[source]).items()
                    if name not in without}
            self.assertEqual(attributes(got[where]), kept)
        self.succeed("verify", out)

    def test_sorted_keys_and_columns_keep_theirs(self):
        for number, way in enumerate(WAYS):
            for part in ((), ("--top", 100), ("--unique",)):
                for source, by in (("keys", ()), ("rows", ("--by", "x")),
                                   ("table", ("--by=b,-a",))):
                    self.succeed("sort", "--in", f"in.h5:/{source}", *by, "--out", "out.h5:/deep/s",
                                 "--argsort", "out.h5:/p", "--overwrite",
                                 *way, *part, ranks=1 + 2 * number)
                    self.check(source, "out.h5", "deep/s")
                    for name in ("a", "b") * (source == "table"):
                        self.check(f"table/{name}", "out.h5", f"deep/s/{name}")
                    with h5py.File(self.path("out.h5")) as file:
                        self.assertEqual(attributes(file["p"]), {})
            self.succeed("sort", "--in", "in.h5:/keys", "--out", "out.h5:/deep/s", "--overwrite",
                         *way, ranks=2)
            self.check("keys", "out.h5", "deep/s")

    def test_rows_in_the_order_of_a_permutation_keep_theirs(self):
        with h5py.File(self.path("p.h5"), "w") as file:
            file["p"] = numpy.arange(self.n)[::-1]
        for way in WAYS:
            self.succeed("sort", "--in", "in.h5:/table", "--apply", "p.h5:/p", "--out", "out.h5:/s",
                         "--overwrite", *way, ranks=2)
            self.check("table", "out.h5", "s")
            self.check("table/a", "out.h5", "s/a")

    def test_transposes_keep_theirs(self):
        for source, words in (("field", ()), ("cube", ("--axes", "2,0,1"))):
            for way in WAYS[:1] if source == "cube" else WAYS:
                self.succeed("transpose", "--in", f"in.h5:/{source}", *words, "--out", "out.h5:/t",
                             "--overwrite", *way, ranks=2)
                self.check(source, "out.h5", "t")

    def test_fields_and_their_snapshots_keep_theirs(self):
        self.succeed("stencil", "--in", "in.h5:/field", "--steps", 4, "--out", "out.h5:/u",
                     "--snapshots", "s.h5:/u", "--every", 2, ranks=2)
        # by the input's attribute a computed -1 would be missing
        for out in ("out.h5", "s.h5"):
            self.check("field", out, "u", without=("_FillValue",))

    def test_what_holds_for_the_file_of_the_input_stays_there(self):
        """References; a fill value of another type. Scales are those of the output."""
        with h5py.File(self.path("in.h5"), "r+") as file:
            file["table/a"].make_scale("row")
            file["table/b"].dims[0].attach_scale(file["table/a"])
            file["table/b"].dims[0].label = "row"
            file["table/b"].attrs["points"] = file["keys"].ref
            file["keys"].attrs["_FillValue"] = numpy.int64(3)
        before = tessera.digest(self.path("in.h5"))
        self.succeed("sort", "--in", "in.h5:/table", "--by", "b", "--out", "out.h5:/s")
        self.succeed("sort", "--in", "in.h5:/keys", "--out", "k.h5:/k")
        with h5py.File(self.path("out.h5")) as file, h5py.File(self.path("k.h5")) as keys:
            self.assertEqual(file["s/a"].attrs["CLASS"], b"DIMENSION_SCALE")
            self.assertEqual(file["s/b"].dims[0][0], file["s/a"])
            self.assertEqual(file["s/b"].dims[0].label, "row")
            self.assertNotIn("points", file["s/b"].attrs)
            self.assertLess(set(KEPT) | {"words", "ragged", "long_name"}, set(file["s/b"].attrs))
            self.assertNotIn("_FillValue", keys["k"].attrs)
        self.assertEqual(tessera.digest(self.path("in.h5")), before)
        # Tessera's output as an input
        self.succeed("sort", "--in", "out.h5:/s", "--by", "a", "--out", "again.h5:/s")
        self.succeed("verify", "again.h5")

    def test_fill_values_stay_with_the_elements_of_the_input(self):
        with h5py.File(self.path("in.h5"), "r+") as file:
            file.create_dataset("filled/f", data=numpy.arange(12.0).reshape(4, 3), fillvalue=-9)
            file.create_dataset("filled/k", data=[4, 1, 3, 2], fillvalue=7)
            file.create_dataset("filled/c", (4,), [("a", "i4"), ("b", ">f8")],
                                fillvalue=numpy.array((1, 2.5), [("a", "i4"), ("b", ">f8")]))
        for compress in ((), ("--compress", "gzip")):
            self.succeed("transpose", "--in", "in.h5:/filled/f", "--out", "t.h5:/f", "--overwrite",
                         *compress)
            self.succeed("sort", "--in", "in.h5:/filled", "--by", "k", "--out", "s.h5:/s",
                         "--overwrite", *compress)
            with h5py.File(self.path("t.h5")) as file, h5py.File(self.path("s.h5")) as table:
                self.assertEqual(file["f"].fillvalue, -9)
                self.assertEqual((table["s/f"].fillvalue, table["s/k"].fillvalue), (-9, 7))
                self.assertEqual(table["s/c"].fillvalue.tolist(), (1, 2.5))
            self.succeed("verify", "s.h5")
        self.succeed("transpose", "--in", "in.h5:/filled/f", "--type", "f32", "--out", "t.h5:/f",
                     "--overwrite")
        with h5py.File(self.path("t.h5")) as file:
            self.assertEqual(file["f"].fillvalue, 0)

    def test_columns_keep_the_order_of_their_creation(self):
        names = ["z", "b", "key", "a"]
        with h5py.File(self.path("o.h5"), "w", track_order=True) as file:
            group = file.create_group("t", track_order=True)
            for name in names:
                group[name] = numpy.arange(5)[::-1]
        self.succeed("sort", "--in", "o.h5:/t", "--by", "key", "--out", "s.h5:/t", ranks=2)
        with h5py.File(self.path("s.h5")) as file:
            found, group = [], file["t"]
            group.id.links.iterate(found.append, idx_type=h5py.h5.INDEX_CRT_ORDER)
            self.assertEqual([name.decode() for name in found], names)

    def test_large_ones_and_many(self):
        with h5py.File(self.path("large.h5"), "w", libver=("v110", "v110")) as file:
            file["table/keys"] = numpy.arange(9)[::-1]
            for thing in (file["table"], file["table/keys"]):
                describe(thing, {"large": numpy.arange(30000),
                                 **{f"a{number}": number for number in range(50)}})
        self.succeed("sort", "--in", "large.h5:/table", "--by", "keys", "--out", "out.h5:/deep/t")
        with h5py.File(self.path("large.h5")) as file, h5py.File(self.path("out.h5")) as got:
            for name in ("table", "table/keys"):
                self.assertEqual(attributes(got[name.replace("table", "deep/t")]),
                                 attributes(file[name]))
        self.succeed("verify", "out.h5")


if __name__ == "__main__":
    tessera.main()
