"""Inputs beyond the bytes of one file: virtual datasets, external raw files, filters; unusual names
and types; integers that floats cannot represent."""

import os
import unittest

import tessera
from refused import Refused
from tessera import BAD_DATA, MISSING, h5py, numpy

VALUES = numpy.arange(1.0, 601.0).reshape(30, 20)
RANKS = (0, 2, 3, 4)  # results differed between them
SOME = (0, 3)


def spaces(shape, start, count, block, unlimited=False):
    """Returns a regular hyperslab selection in a space of that shape."""
    space = h5py.h5s.create_simple(shape,
                                   tuple(h5py.h5s.UNLIMITED for _ in shape) if unlimited else shape)
    space.select_hyperslab(start, count, stride=block, block=block)
    return space


class Storage(Refused):
    def transposed(self, name, wanted, ranks=0):
        self.succeed("transpose", "--in", name, "--out", "t.h5:/T", "--overwrite", ranks=ranks)
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), wanted.T)

    def refuse_input(self, code, name, words, ranks=(0,)):
        """Expects refusal as the input of a product and of a transpose."""
        self.refuse(code, "transpose", "--in", name, "--out", "t.h5:/T", words=words, ranks=ranks)
        self.refuse(code, "matmul", "--a", name, "--b", name, "--trans-b", "T", words=words,
                    ranks=(0,))

    def source(self, name, values=VALUES):
        os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
        with h5py.File(self.path(name), "w") as file:
            file["A"] = values
        return name


class Virtual(Storage):
    def virtual(self, name, source, shape=(30, 20), path="A", **how):
        """Writes a dataset of 30 x 20 whose first rows are those of the source; returns its name.
        """
        os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
        with h5py.File(self.path(name), "a") as file:
            layout = h5py.VirtualLayout((30, 20), "f8")
            layout[:shape[0], :shape[1]] = h5py.VirtualSource(source, path, shape)
            file.create_virtual_dataset("V", layout, **how)
        return f"{name}:/V"

    def test_a_source_that_is_shorter_than_its_mapping(self):
        self.source("s.h5", VALUES[:29])
        self.refuse_input(MISSING, self.virtual("v.h5", "s.h5"), ("v.h5:/V", "s.h5:/A", "29 x 20"),
                          RANKS)
        self.source("s.h5", VALUES[:, :19])
        self.refuse_input(MISSING, "v.h5:/V", ("s.h5:/A", "30 x 19"))
        self.source("s.h5", numpy.ones(599))
        self.refuse_input(MISSING, "v.h5:/V", ("s.h5:/A", "it is 599"))
        self.source("s.h5", numpy.concatenate([VALUES, VALUES]))  # a larger source is accepted
        for ranks in RANKS:
            self.transposed("v.h5:/V", VALUES, ranks)

    def test_a_source_that_is_gone_though_there_is_a_fill_value(self):
        """A fill value applies to unmapped elements only, and these are mapped."""
        self.refuse_input(MISSING, self.virtual("v.h5", "gone.h5", fillvalue=-1),
                          ("v.h5:/V", "gone.h5:/A", "the file does not exist"))
        with h5py.File(self.path("s.h5"), "w") as file:
            file["B"] = VALUES
        self.refuse_input(MISSING, self.virtual("w.h5", "s.h5", fillvalue=-1),
                          ("s.h5:/A", "the dataset does not exist"))

    def test_parts_without_a_source(self):
        self.source("s.h5", VALUES[:10])
        self.refuse_input(MISSING, self.virtual("v.h5", "s.h5", (10, 20)),
                          ("v.h5:/V", "no source", "fill value"), SOME)
        wanted = numpy.full((30, 20), -7.0)
        wanted[:10] = VALUES[:10]
        self.virtual("w.h5", "s.h5", (10, 20), fillvalue=-7)
        for ranks in SOME:
            self.transposed("w.h5:/V", wanted, ranks)

    def test_mappings_that_overlap_and_leave_a_gap(self):
        self.source("s.h5")
        with h5py.File(self.path("v.h5"), "w") as file:
            layout = h5py.VirtualLayout((30, 20), "f8")
            layout[:20] = h5py.VirtualSource("s.h5", "A", (30, 20))[:20]
            layout[5:20] = h5py.VirtualSource("s.h5", "A", (30, 20))[5:20]
            file.create_virtual_dataset("V", layout)
        self.refuse_input(MISSING, "v.h5:/V", ("v.h5:/V", "no source"))

    def test_virtual_over_virtual(self):
        self.source("s.h5")
        self.virtual("inner.h5", "s.h5")
        outer = self.virtual("outer.h5", "inner.h5", path="V")
        for ranks in SOME:
            self.transposed(outer, VALUES, ranks)
        os.unlink(self.path("s.h5"))
        self.refuse_input(MISSING, outer, ("inner.h5:/V", "s.h5:/A"), SOME)
        self.virtual("self.h5", "self.h5", path="V")
        self.refuse_input(BAD_DATA, "self.h5:/V", "self.h5")

    def test_a_percent_sign(self):
        self.source("60%.h5")
        self.transposed(self.virtual("v.h5", "60%%.h5"), VALUES)
        os.unlink(self.path("60%.h5"))
        self.source("60%%.h5")
        self.refuse_input(MISSING, "v.h5:/V", "60%.h5:/A")

    def numbered(self, name, count):
        """Writes a dataset of as many blocks of 10 rows as there are numbered sources."""
        with h5py.File(self.path(name), "w") as file:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            target = spaces((10 * count, 20), (0, 0), (h5py.h5s.UNLIMITED, 1), (10, 20), True)
            creation.set_virtual(target, b"part%b.h5", b"A",
                                 spaces((10, 20), (0, 0), (1, 1), (10, 20)))
            h5py.h5d.create(file.id, b"V", h5py.h5t.IEEE_F64LE,
                            h5py.h5s.create_simple((0, 20), (h5py.h5s.UNLIMITED, 20)),
                            dcpl=creation)
        return f"{name}:/V"

    def test_numbered_sources(self):
        name = self.numbered("v.h5", 3)
        for part in range(3):
            self.source(f"part{part}.h5", VALUES[10 * part:10 * part + 10])
        for ranks in RANKS:
            self.transposed(name, VALUES, ranks)
        self.source("part1.h5", VALUES[10:17])
        self.refuse_input(MISSING, name, ("part1.h5:/A", "7 x 20"), RANKS)

    def test_sources_that_grow(self):
        """Every second row from each of two sources, one of which is shorter."""
        with h5py.File(self.path("v.h5"), "w") as file:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            for part in range(2):
                target = h5py.h5s.create_simple((0, 20), (h5py.h5s.UNLIMITED, 20))
                target.select_hyperslab((part, 0), (h5py.h5s.UNLIMITED, 1), stride=(2, 1),
                                        block=(1, 20))
                origin = h5py.h5s.create_simple((0, 20), (h5py.h5s.UNLIMITED, 20))
                origin.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), stride=(1, 1),
                                        block=(1, 20))
                creation.set_virtual(target, f"grow{part}.h5".encode(), b"A", origin)
            h5py.h5d.create(file.id, b"V", h5py.h5t.IEEE_F64LE,
                            h5py.h5s.create_simple((0, 20), (h5py.h5s.UNLIMITED, 20)),
                            dcpl=creation)
        self.source("grow0.h5", VALUES[0::2])
        self.source("grow1.h5", VALUES[1::2])
        self.transposed("v.h5:/V", VALUES)
        self.source("grow1.h5", VALUES[1:20:2])
        self.refuse_input(MISSING, "v.h5:/V", ("grow1.h5:/A", "10 x 20"), SOME)

    def test_sources_behind_an_external_link(self):
        """Sources are searched next to the file that contains the dataset."""
        self.source("data/s.h5")
        self.virtual("data/v.h5", "s.h5")
        with h5py.File(self.path("data/v.h5"), "a") as file:
            file["A"] = VALUES + 1
        self.virtual("data/own.h5", "own.h5")
        with h5py.File(self.path("data/own.h5"), "a") as file:
            file["A"] = VALUES + 2
        os.mkdir(self.path("here"))
        with h5py.File(self.path("here/l.h5"), "w") as file:
            file["V"] = h5py.ExternalLink("../data/v.h5", "/V")
            file["own"] = h5py.ExternalLink("../data/own.h5", "/V")
        self.source("here/s.h5", -VALUES)  # must not be used
        for ranks in SOME:
            self.transposed("here/l.h5:/V", VALUES, ranks)
        self.transposed("here/l.h5:/own", VALUES + 2)
        os.unlink(self.path("data/s.h5"))
        self.refuse_input(MISSING, "here/l.h5:/V", "s.h5:/A", SOME)

    def test_where_sources_are_looked_for(self):
        """Search order: the folders of HDF5_VDS_PREFIX, the dataset's folder, the current one;
        absolute names then by their last part."""
        name = self.virtual("v/v.h5", "/nowhere/s.h5")
        self.refuse_input(MISSING, name, "/nowhere/s.h5:/A")
        self.source("s.h5")
        self.transposed(name, VALUES)
        self.virtual("w.h5", "deep/s.h5")  # relative names are not reduced to their last part
        self.refuse_input(MISSING, "w.h5:/V", "deep/s.h5:/A")
        self.source("other/deep/s.h5")
        result = self.run_tessera("transpose", "--in", "w.h5:/V",
                                  environment={"HDF5_VDS_PREFIX": "nowhere:other"})
        self.assertEqual(result.code, 0, str(result))

    @unittest.skipIf(
        os.environ.get("HDF5_USE_FILE_LOCKING", "").upper() in ("FALSE", "0"),
        "files are not locked here")
    def test_a_source_that_somebody_writes_to(self):
        name = self.virtual("v.h5", self.source("s.h5"))
        with h5py.File(self.path("s.h5"), "r+"):
            self.refuse_input(MISSING, name,
                              ("v.h5:/V", "s.h5:/A", "open for writing in another program"), SOME)
        self.transposed(name, VALUES)

    def test_sources_that_are_no_hdf5_files(self):
        name = self.virtual("v.h5", "s.h5")
        with open(self.path("s.h5"), "wb") as file:
            file.write(b"no HDF5" * 100)
        self.refuse_input(MISSING, name, ("s.h5:/A", "not HDF5"))


class RawFiles(Storage):
    def raw(self, name, files, dtype="f8", shape=(30, 20)):
        """Writes a dataset whose data is in those files: [(name, offset, bytes)]."""
        with h5py.File(self.path(name), "w") as file:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            for raw, offset, size in files:
                creation.set_external(raw.encode(), offset, size)
            h5py.h5d.create(file.id, b"A", h5py.h5t.py_create(numpy.dtype(dtype)),
                            h5py.h5s.create_simple(shape), dcpl=creation)
        return f"{name}:/A"

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def test_missing_and_short(self):
        name, data = self.raw("x.h5", [("one.raw", 16, 1600),
                                       ("two.raw", 0, h5py.h5s.UNLIMITED)]), VALUES.tobytes()
        self.refuse_input(MISSING, name, ("x.h5:/A", "'one.raw'", "No such file"), RANKS)
        self.write("one.raw", b"-" * 16 + data[:1600])
        self.refuse_input(MISSING, name, "'two.raw'")
        self.write("two.raw", data[1600:-1])
        self.refuse_input(BAD_DATA, name, ("'two.raw'", "3199 of 3200 bytes"), RANKS)
        self.write("two.raw", data[1600:])
        for ranks in RANKS:
            self.transposed(name, VALUES, ranks)
        self.write("one.raw", data[:1600])
        self.refuse_input(BAD_DATA, name, ("'one.raw'", "1600 of 1616 bytes"))

    def test_under_a_virtual_dataset(self):
        self.raw("x.h5", [("r.raw", 0, 4800)])
        with h5py.File(self.path("v.h5"), "w") as file:
            layout = h5py.VirtualLayout((30, 20), "f8")
            layout[:] = h5py.VirtualSource("x.h5", "A", (30, 20))
            file.create_virtual_dataset("V", layout)
        self.refuse_input(MISSING, "v.h5:/V", ("x.h5:/A", "'r.raw'"), RANKS)
        self.write("r.raw", VALUES.tobytes()[:-8])
        self.refuse_input(BAD_DATA, "v.h5:/V", ("x.h5:/A", "'r.raw'", "4792 of 4800 bytes"))
        self.write("r.raw", VALUES.tobytes())
        self.transposed("v.h5:/V", VALUES)

    def test_where_they_are_looked_for(self):
        """Raw files are searched in the current folder or by HDF5_EXTFILE_PREFIX, not next to the
        dataset's file."""
        os.mkdir(self.path("sub"))
        self.raw("sub/x.h5", [("r.raw", 0, 4800)])
        self.write("sub/r.raw", VALUES.tobytes())
        self.refuse_input(MISSING, "sub/x.h5:/A", "'r.raw'")
        for prefix in ("sub", "${ORIGIN}"):
            result = self.run_tessera("transpose", "--in", "sub/x.h5:/A",
                                      environment={"HDF5_EXTFILE_PREFIX": prefix})
            self.assertEqual(result.code, 0, str(result))

    @unittest.skipUnless(tessera.SLOW, "reads a row of 2.3 GB (TESSERA_TEST_SLOW=1)")
    def test_a_row_of_more_than_2_gib(self):
        """A sparse file, whose last numbers are not zero."""
        columns = 2_300_000_000
        with open(self.path("r.raw"), "wb") as file:
            file.truncate(2 * columns)
            for row in (1, 2):
                file.seek(row * columns - 3)
                file.write(bytes((5, 6, 7)))
        self.raw("x.h5", [("r.raw", 0, 2 * columns)], "u1", (2, columns))
        self.succeed("transpose", "--in", "x.h5:/A[1:,:]", "--memory", "8GiB", "--out", "t.h5:/T")
        with h5py.File(self.path("t.h5"), "r") as file:
            numpy.testing.assert_array_equal(file["T"][-4:, 0], (0, 5, 6, 7))
            self.assertEqual(int(file["T"][2_000_000_000:, 0].astype("u8").sum()), 18)


class Named(Storage):
    def test_filters(self):
        """The message names the missing filter and a remedy that keeps the data."""
        with h5py.File(self.path("f.h5"), "w") as file:
            for name, number in (("blosc", 32001), ("zstd", 32015), ("bitshuffle", 32008)):
                creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                creation.set_chunk((30, 20))
                creation.set_filter(number, h5py.h5z.FLAG_OPTIONAL)
                h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F64LE,
                                h5py.h5s.create_simple((30, 20)), dcpl=creation)
        for name, number in (("blosc", 32001), ("zstd", 32015), ("bitshuffle", 32008)):
            result = self.run_tessera("transpose", "--in", f"f.h5:/{name}",
                                      environment={"HDF5_PLUGIN_PATH": self.folder})
            self.assert_failed(result, BAD_DATA,
                               (f"number {number}", "HDF5_PLUGIN_PATH", "hdf5plugin"))
            self.assertNotIn("h5repack", result.err)

    def test_paths_with_colons(self):
        with h5py.File(self.path("f.h5"), "w") as file:
            file["PV:/x"] = VALUES
            file["a:/b:/c"] = VALUES + 1
        self.transposed("f.h5:/PV:/x", VALUES)
        self.transposed("f.h5:/PV:/x[2:5,:]", VALUES[2:5])
        self.transposed("f.h5:/a:/b:/c", VALUES + 1)
        self.source("folder:/x.h5")
        self.transposed("folder:/x.h5:/A", VALUES)
        self.succeed("transpose", "--in", "f.h5:/PV:/x", "--out", "o.h5:/R:/y")
        numpy.testing.assert_array_equal(tessera.read_matrix(self.path("o.h5"), "R:/y"), VALUES.T)
        self.refuse(MISSING, "transpose", "--in", "gone.h5:/PV:/x", words="'gone.h5'")

    def test_types_by_their_names(self):
        kinds = {
            "bitfield of 8 bits":
            h5py.h5t.STD_B8LE, "opaque of 7 bytes":
            h5py.h5t.create(h5py.h5t.OPAQUE, 7), "reference":
            h5py.h5t.STD_REF_OBJ, "array of 3 f64":
            h5py.h5t.array_create(h5py.h5t.IEEE_F64LE, (3,)), "time of 32 bits":
            h5py.h5t.UNIX_D32LE, "compound {x f64, n i32}":
            h5py.h5t.py_create(numpy.dtype([("x", "f8"),
                                            ("n", "i4")])), "compound {rate f64, index f64}":
            h5py.h5t.py_create(numpy.dtype([("rate", "f8"),
                                            ("index", "f8")])), "enumeration {no, yes}":
            h5py.h5t.py_create(h5py.enum_dtype({"no": 0, "yes": 1}), logical=True),
            "string of 4 bytes":
            h5py.h5t.py_create(numpy.dtype("S4")), "string of variable length":
            h5py.h5t.py_create(h5py.string_dtype(), logical=True)
        }
        with h5py.File(self.path("e.h5"), "w") as file:
            for number, kind in enumerate(kinds.values()):
                h5py.h5d.create(file.id, f"d{number}".encode(), kind, h5py.h5s.create_simple(
                    (3, 3)))
        for number, words in enumerate(kinds):
            self.refuse(BAD_DATA, "matmul", "--a", f"e.h5:/d{number}", "--b", f"e.h5:/d{number}",
                        words=words, ranks=(0, 2) if number == 0 else (0,))

    def test_complex_numbers_by_other_names(self):
        values = VALUES[:, :10] + 1j * VALUES[:, 10:]
        with h5py.File(self.path("c.h5"), "w") as file:
            for number, (first, second) in enumerate(
                (("Real", "Imag"), ("i", "r"), ("RE", "IM"), ("imaginary", "real"))):
                for order in "<>":
                    stored = numpy.zeros(values.shape, [(first, order + "f8"),
                                                        (second, order + "f8")])
                    turned = first[0] in "iI"
                    stored[second if turned else first], stored[
                        first if turned else second] = values.real, values.imag
                    file[f"c{number}{'big' if order == '>' else ''}"] = stored
        for name in ("c0", "c1", "c1big", "c2", "c3big"):
            self.succeed("matmul", "--a", f"c.h5:/{name}", "--b", f"c.h5:/{name}", "--trans-b", "H",
                         "--out", "o.h5:/C", "--overwrite")
            numpy.testing.assert_allclose(tessera.read_matrix(self.path("o.h5"), "C"),
                                          values @ values.conj().T)
            self.succeed("transpose", "--in", f"c.h5:/{name}", "--op", "H", "--alpha", 2, "--out",
                         "o.h5:/T", "--overwrite")
            found = tessera.read_matrix(self.path("o.h5"), "T")
            if found.dtype.kind != "c":
                real, imaginary = (next(n for n in found.dtype.names if n[0] in letters)
                                   for letters in ("rR", "iI"))
                found = found[real] + 1j * found[imaginary]
            numpy.testing.assert_array_equal(found, 2 * values.conj().T)


class Integers(Storage):
    def test_what_floats_do_not_hold(self):
        """Products, stencils and casts do not round integers."""
        with h5py.File(self.path("i.h5"), "w") as file:
            for kind in ("<i8", ">i8", "<u8", ">u8"):
                values = numpy.zeros((30, 20), kind)
                values[17, 3] = 2**53
                file[f"fits{kind[1:]}{'big' if kind[0] == '>' else ''}"] = values
                values[17, 3] = 2**53 + 1
                file[f"not{kind[1:]}{'big' if kind[0] == '>' else ''}"] = values
            file["narrow"] = numpy.full((30, 20), 2**24 + 1, "i4")
        for kind in ("i8", "i8big", "u8", "u8big"):
            name, words = f"i.h5:/not{kind}", (f"i.h5:/not{kind}", "9007199254740993 at [17, 3]",
                                               "f64 cannot represent", "store the input as floats")
            ranks = SOME if kind == "i8big" else (0,)
            self.refuse(BAD_DATA, "matmul", "--a", name, "--b", name, "--trans-b", "T", words=words,
                        ranks=ranks)
            self.refuse(BAD_DATA, "stencil", "--in", name, "--steps", 1, words=words,
                        ranks=(0, 3) if kind == "u8" else (0,))
            self.refuse(BAD_DATA, "transpose", "--in", name, "--type", "f64", words=words,
                        ranks=(0,))
            self.succeed("transpose", "--in", f"i.h5:/fits{kind}", "--type", "f64")
            self.succeed("transpose", "--in", name)  # as stored
        self.refuse(BAD_DATA, "transpose", "--in", "i.h5:/narrow", "--type", "f32",
                    words=("16777217 at [0, 0]", "f32 cannot represent", "use f64"))
        self.succeed("transpose", "--in", "i.h5:/narrow", "--type", "f64")

    def test_integers_of_other_integers(self):
        with h5py.File(self.path("i.h5"), "w") as file:
            for number, (kind, value) in enumerate(
                ((">i8", -1), ("<i8", 2**32), (">u8", 2**63), ("<i2", -5))):
                file[f"k{number}"] = numpy.array([1, value, 3], kind)
        for number, target, text in ((0, "u64", "-1"), (1, "u32", "4294967296"),
                                     (2, "i64", "9223372036854775808"), (3, "u32", "-5")):
            self.refuse(BAD_DATA, "sort", "--in", f"i.h5:/k{number}", "--type", target,
                        words=(f"{text} at [1]", f"{target} cannot represent"))


if __name__ == "__main__":
    tessera.main()
