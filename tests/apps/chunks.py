"""Damaged chunks and types of HDF5 files, which HDF5 1.10 reads beyond a buffer: refused; unusual
ones that are right: read."""

import os

import tessera
from storage import SOME, VALUES, Storage
from tessera import BAD_DATA, h5py, numpy


class Chunks(Storage):
    def test_a_chunk_whose_stored_length_is_not_that_of_a_chunk(self):
        """HDF5 1.10 would read the memory after the shorter buffer as numbers."""
        with h5py.File(self.path("c.h5"), "w", libver="earliest") as file:
            file.create_dataset("A", data=VALUES, chunks=(7, 6))
        with open(self.path("c.h5"), "rb") as file:
            data = file.read()
        self.transposed("c.h5:/A", VALUES)
        os.unlink(self.path("t.h5"))
        size = 7 * 6 * 8
        keys = [at for at in range(len(data) - 8) if data[at:at + 8] == size.to_bytes(8, "little")]
        self.assertGreaterEqual(len(keys), 20)  # entries of the tree: length, no filter skipped
        with h5py.File(self.path("v.h5"), "w") as file:
            layout = h5py.VirtualLayout(VALUES.shape, "f8")
            layout[...] = h5py.VirtualSource("d.h5", "A", VALUES.shape)
            file.create_virtual_dataset("V", layout)
        for key, length in ((keys[0], 8), (keys[9], size - 1), (keys[19], 2 * size)):
            damaged = bytearray(data)
            damaged[key:key + 4] = length.to_bytes(4, "little")
            with open(self.path("d.h5"), "wb") as file:
                file.write(damaged)
            words = ("d.h5:/A", f"20 chunks of {size} bytes", f"{19 * size + length} bytes")
            with self.subTest(length=length):
                self.refuse_input(BAD_DATA, "d.h5:/A", words, SOME)
                self.refuse_input(BAD_DATA, "v.h5:/V", words)

    def test_compressed_chunks_that_claim_more_than_deflate_can_hold(self):
        """A damaged extent of the chunks: the decoded ones would be read beyond their end."""
        with h5py.File(self.path("c.h5"), "w", libver="earliest") as file:
            file.create_dataset("A", data=VALUES, chunks=(7, 6), compression="gzip", shuffle=True)
            file.create_dataset("Z", data=numpy.zeros((4096, 512)), chunks=(4096, 512),
                                compression="gzip", compression_opts=9)  # the largest ratio
        with open(self.path("c.h5"), "rb") as file:
            data = file.read()
        extents = b"".join(n.to_bytes(4, "little") for n in (7, 6, 8))
        self.assertEqual(data.count(extents), 1)
        self.succeed("transpose", "--in", "c.h5:/Z")
        with open(self.path("d.h5"), "wb") as file:
            file.write(data.replace(extents, b"\x07\0\0\x01" + extents[4:]))
        self.refuse_input(BAD_DATA, "d.h5:/A", ("d.h5:/A", "damaged"), SOME)
        with open(self.path("d.h5"), "wb") as file:  # twice the rows: within the largest ratio
            file.write(data.replace(extents, b"\x0e\0\0\0" + extents[4:]))
        self.refuse_input(BAD_DATA, "d.h5:/A", ("d.h5:/A", "damaged"), SOME)

    def test_masks_that_leave_deflate_out(self):
        """HDF5 1.10 would take the deflated bytes as numbers and read on behind them."""
        for libver, sums in (("earliest", False), ("earliest", True), ("latest", False)):
            with h5py.File(self.path("c.h5"), "w", libver=libver) as file:
                dataset = file.create_dataset("A", data=VALUES, chunks=(7, 6), shuffle=True,
                                              compression="gzip", fletcher32=sums)
                info = dataset.id.get_chunk_info(7)
            with open(self.path("c.h5"), "rb") as file:
                data = file.read()
            self.transposed("c.h5:/A", VALUES)
            os.unlink(self.path("t.h5"))
            if libver == "latest":  # its index has a checksum: the library writes the mask
                with h5py.File(self.path("c.h5")) as file, \
                        h5py.File(self.path("d.h5"), "w", libver=libver) as damaged:
                    chunks = file["A"].id
                    to = damaged.create_dataset("A", VALUES.shape, "f8", chunks=(7, 6),
                                                shuffle=True, compression="gzip")
                    for i in range(chunks.get_num_chunks()):
                        place = chunks.get_chunk_info(i).chunk_offset
                        to.id.write_direct_chunk(place, chunks.read_direct_chunk(place)[1],
                                                 2 if place == info.chunk_offset else 0)
            else:
                entry = info.size.to_bytes(4, "little") + bytes(4)
                at = data.rfind(entry, 0, data.index(info.byte_offset.to_bytes(8, "little")))
                with open(self.path("d.h5"), "wb") as file:
                    file.write(data[:at + 4] + b"\2" + data[at + 5:])
            with h5py.File(self.path("v.h5"), "w") as file:
                layout = h5py.VirtualLayout(VALUES.shape, "f8")
                layout[...] = h5py.VirtualSource("d.h5", "A", VALUES.shape)
                file.create_virtual_dataset("V", layout)
            with self.subTest(libver=libver, sums=sums):
                self.refuse_input(BAD_DATA, "d.h5:/A", ("d.h5:/A", "damaged", "decodes to"), SOME)
                self.refuse_input(BAD_DATA, "v.h5:/V", ("d.h5:/A", "damaged", "decodes to"))

    def test_chunks_that_deflate_does_not_shrink(self):
        """The library stores these as they are, with the mask that says so."""
        noise = numpy.random.default_rng(1).integers(0, 2**63, VALUES.shape).view("f8")
        for sums in (False, True):
            with h5py.File(self.path("c.h5"), "w") as file:
                file.create_dataset("A", data=noise, chunks=(7, 6), compression="gzip",
                                    fletcher32=sums)
                file.create_dataset("S", data=VALUES, chunks=(7, 6), shuffle=True,
                                    fletcher32=sums)
            for name, values in (("A", noise), ("S", VALUES)):
                with self.subTest(name=name, sums=sums):
                    self.transposed(f"c.h5:/{name}", values)
                    os.unlink(self.path("t.h5"))

    def test_filters_types_and_boxes(self):
        """Chunks that threads decode have the values that h5py reads: every pipeline, converted
        numbers, incomplete chunks at the ends, selections, chunks that were never written."""
        cases = [({"compression": "gzip", "shuffle": True}, kind)
                 for kind in ("<f8", ">f8", "<f4", ">i2", "u1", "<c16", "f2")]
        cases += [(how, "<f4") for how in (
            {"compression": "gzip", "compression_opts": 0}, {"shuffle": True}, {"fletcher32": True},
            {"compression": "gzip", "shuffle": True, "fletcher32": True})]
        whole = numpy.arange(23 * 19 * 9).reshape(23, 19, 9)
        for how, kind in cases:
            with h5py.File(self.path("c.h5"), "w") as file:
                fill = {} if kind == "<c16" else {"fillvalue": 7}
                made = file.create_dataset("A", whole.shape, kind, chunks=(5, 4, 3), **fill, **how)
                made[:15, 3:] = (whole % 1000)[:15, 3:].astype(kind)
                values = made[...]
            for threads, ranks in ((3, 0), (1, 3)):
                with self.subTest(how=how, kind=kind, threads=threads, ranks=ranks):
                    self.succeed("transpose", "--in", "c.h5:/A[2:22,1:,2:9]", "--axes", "2,0,1",
                                 "--out", "t.h5:/T", "--overwrite", "--threads", str(threads),
                                 ranks=ranks)
                    with h5py.File(self.path("t.h5")) as file:
                        numpy.testing.assert_array_equal(
                            file["T"][...], values[2:22, 1:, 2:9].transpose(2, 0, 1))

    def test_a_dataset_without_any_chunk(self):
        """It holds its fill value; the library reports an error for a search of its chunks."""
        with h5py.File(self.path("c.h5"), "w") as file:
            file.create_dataset("A", (9, 8), "f8", chunks=(5, 4), compression="gzip", fillvalue=7)
        self.transposed("c.h5:/A", numpy.full((9, 8), 7.0))

    def test_numbers_that_threads_cannot_convert(self):
        """The message names the number and its position, as for other storage."""
        values = numpy.full((20, 20), 3, "i8")
        values[13, 7] = 2**53 + 1
        with h5py.File(self.path("c.h5"), "w") as file:
            file.create_dataset("A", data=values, chunks=(3, 3), compression="gzip")
        self.refuse(BAD_DATA, "matmul", "--a", "c.h5:/A", "--b", "c.h5:/A", "--out", "o.h5:/C",
                    words=("c.h5:/A", str(2**53 + 1), "[13, 7]"), ranks=(0, 3))

    def test_a_damaged_chunk_is_named(self):
        """Damage inside the stored bytes of one chunk: 65, with the chunk's position."""
        for how, words in (({"compression": "gzip"}, "cannot be decompressed"),
                           ({"fletcher32": True}, "Fletcher32"),
                           ({"compression": "gzip", "fletcher32": True}, "Fletcher32")):
            with h5py.File(self.path("c.h5"), "w", libver="earliest") as file:
                made = file.create_dataset("A", data=VALUES, chunks=(7, 6), **how)
                place = made.id.get_chunk_info_by_coord((14, 6))
            with open(self.path("c.h5"), "r+b") as file:
                last = place.byte_offset + place.size - 1  # of a checksum
                file.seek(last)
                byte = file.read(1)[0]
                file.seek(last)
                file.write(bytes([byte ^ 0x55]))
            for ranks in (0, 3):
                with self.subTest(how=how, ranks=ranks):
                    self.refuse(BAD_DATA, "transpose", "--in", "c.h5:/A", "--out", "t.h5:/T",
                                words=("c.h5:/A", "damaged", "[14, 6]", words), ranks=(ranks,))

    def test_elements_of_variable_length(self):
        """Their size in memory is not that in the file: no damage."""
        kinds = {"text": h5py.string_dtype(), "list": h5py.vlen_dtype("i4"),
                 "pair": numpy.dtype([("s", h5py.string_dtype()), ("x", "f8")])}
        rows = {"text": ["a", "bc"], "list": [numpy.array([1]), numpy.array([2, 3])],
                "pair": numpy.array([("a", 1.0), ("b", 2.0)], kinds["pair"])}
        for how in ({}, {"chunks": (2,)}, {"chunks": (2,), "compression": "gzip"}):
            with h5py.File(self.path("v.h5"), "w") as file:
                for name, kind in kinds.items():
                    made = file.create_dataset(f"{name}/{name}", (2,), kind, **how)
                    for i, value in enumerate(rows[name]):
                        made[i] = value
                    file[f"{name}/key"] = [2, 1]
            for name in kinds:
                with self.subTest(name=name, how=how):
                    result = self.run_tessera("sort", "--in", f"v.h5:/{name}", "--by", "key")
                    self.assertNotIn("damaged", result.err)

    def test_types_whose_size_is_damaged(self):
        numbers = VALUES + 1j * VALUES
        for how in ({}, {"chunks": (7, 6)}, {"chunks": (7, 6), "compression": "gzip"}):
            with h5py.File(self.path("c.h5"), "w", libver="earliest") as file:
                file.create_dataset("A", data=numbers, **how)
            with open(self.path("c.h5"), "rb") as file:
                data = file.read()
            self.transposed("c.h5:/A", numbers)
            os.unlink(self.path("t.h5"))
            # a compound's message: version and class, number of members, size
            places = [at for at in range(len(data) - 8)
                      if data[at] & 15 == 6 and data[at + 1:at + 4] == b"\2\0\0"
                      and data[at + 4:at + 8] == b"\x10\0\0\0"]
            self.assertEqual(len(places), 1)
            for size in (8, 12, 15, 17, 20, 24, 32, 255):
                damaged = bytearray(data)
                damaged[places[0] + 4] = size
                with open(self.path("d.h5"), "wb") as file:
                    file.write(damaged)
                with self.subTest(size=size, how=how):
                    if os.path.exists(self.path("t.h5")):
                        os.unlink(self.path("t.h5"))
                    self.refuse_input(BAD_DATA, "d.h5:/A", ("d.h5",), SOME)


if __name__ == "__main__":
    tessera.main()
