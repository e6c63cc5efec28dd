"""The total order of tessera sort (apps/manual/sort.md, Order), which no other output changes."""

import tessera
from tessera import h5py, numpy

PASSIVE = {"OMP_WAIT_POLICY": "passive"}  # threads beyond the cores must not spin
RANKS = (1, 2, 3, 4)


def codes(values, descending):
    """Returns integers in the requested order: NaN last in either, -0 equal to +0; strings by their
    bytes."""
    distinct, code = numpy.unique(values.astype(values.dtype.newbyteorder("=")),
                                  return_inverse=True)
    nan = numpy.isnan(values) if values.dtype.kind == "f" else numpy.zeros(values.shape, bool)
    return numpy.where(nan, len(distinct), -code if descending else code)


def codes_among_equal(values, descending):
    """Returns the order of floats that are equal as numbers: -0 before +0, NaNs of positive sign
    first, by payload, then the others, by descending payload."""
    if values.dtype.kind != "f":
        return numpy.zeros(values.shape, int)
    native = numpy.ascontiguousarray(values, values.dtype.newbyteorder("="))
    bits, negative = native.view(f"u{native.dtype.itemsize}"), numpy.signbit(native)
    zeros = numpy.where(negative != descending, 0, 1).astype(bits.dtype)
    sign = bits.dtype.type(1 << 8 * native.dtype.itemsize - 1)
    return numpy.where(numpy.isnan(native), numpy.where(negative, sign | ~bits, bits),
                       numpy.where(native == 0, zeros, zeros.dtype.type(0)))


def permutation(columns, descending):
    """Returns a stable sorting permutation; the first column is the most significant, and the last
    one orders equal numbers."""
    last = codes_among_equal(columns[-1], descending[-1])
    return numpy.lexsort([last, *[codes(c, d) for c, d in zip(columns, descending)][::-1]])


def part_of(order, columns, part):
    """Returns the first rows of a sorting permutation, or the first row of each key."""
    if part[0] == "--unique":
        keys = numpy.stack([codes(c, False)[order] for c in columns])
        return order[numpy.concatenate([numpy.ones(min(1, len(order)), bool),
                                        (keys[:, 1:] != keys[:, :-1]).any(axis=0)])]
    return order[:part[1]] if part[0] == "--top" else order


class OneOrder(tessera.Case):
    def test_a_permutation_beside_it_does_not_change_what_out_holds(self):
        rng, n = numpy.random.default_rng(tessera.SEED), 3001
        for number, kind in enumerate(("<f8", ">f4")):
            bits = numpy.dtype(kind).str.replace("f", "u")
            nans = rng.choice([numpy.nan, -numpy.nan],
                              40).astype(kind).view(bits) + rng.integers(0, 9, 40).astype(bits)
            values = rng.choice(numpy.concatenate([nans.view(kind),
                                                   numpy.array([0.0, -0.0, 1, -1] * 20, kind)]), n)
            tessera.write_matrix(self.path("in.h5"), values, name="K")
            for down, part in ((0, ()), (1, ()), (number % 2, ("--unique",)),
                               (number % 2, ("--top", 1234))):
                want = part_of(permutation([values], [down]), [values], part or ("",))
                held = set()
                for how, ways in enumerate(((), ("--algorithm", "rounds"),
                                            ("--out-of-core", "always", "--memory", "64KiB"))):
                    for beside in ((), ("--argsort", "p.h5:/P")):
                        if beside and "rounds" in ways or part and "rounds" in ways:
                            continue
                        self.succeed("sort", "--in", "in.h5:/K", "--out", "out.h5:/K",
                                     "--overwrite", *ways, *beside, *part,
                                     *["--descending"] * down, ranks=RANKS[(number + how) % 4],
                                     environment=PASSIVE)
                        held.add(tessera.read_matrix(self.path("out.h5"), "K").tobytes())
                        if beside:
                            self.assertEqual(tessera.read_matrix(self.path("p.h5"), "P").tolist(),
                                             want.tolist())
                self.assertEqual(held, {values[want].tobytes()}, (kind, down, part))
            self.fail_with(tessera.USAGE, "sort", "--in", "in.h5:/K", "--out", "out.h5:/K",
                           "--argsort", "p.h5:/P", "--type", "f64",
                           words="drop --type")
            with h5py.File(self.path("t.h5"), "w") as file:
                file["T/x"], file["T/row"] = values, numpy.arange(n)
            for ways in ((), ("--out-of-core", "always", "--memory", "64KiB")):
                self.succeed("sort", "--in", "t.h5:/T", "--by", "x", "--out", "out.h5:/T",
                             "--overwrite", *ways, ranks=2, environment=PASSIVE)
                want = permutation([values], [False])
                self.assertEqual(tessera.read_matrix(self.path("out.h5"), "T/row").tolist(),
                                 want.tolist())


if __name__ == "__main__":
    tessera.main()
