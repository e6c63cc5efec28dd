"""2,000 random conversions of numbers on reading, compared with numpy's astype or, for types
unknown to numpy, exact arithmetic.

Numpy's integers and floats in both byte orders, x87's 80 bits, IEEE's 128, bfloat16, formats with a
random number of bits at random positions, integers with padding, complex numbers; datasets of one
to four dimensions, chunked or contiguous, alone or as the source of a virtual one.
TESSERA_TEST_SEED=n selects other cases."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy

from float_forms import FLOATS, Form, ieee, random_form

SEED = int(os.environ.get("TESSERA_TEST_SEED") or random.SystemRandom().randrange(10**6))
READER = os.environ.get("CONVERSION_READER", "")
CASES = 2000
INTEGERS = {"i32": "<i4", "i64": "<i8", "u32": "<u4", "u64": "<u8"}
STORED = [
    order + kind for kind in ("f2", "f4", "f8", "i2", "u2", "i4", "u4", "i8", "u8")
    for order in "<>"
] + ["i1", "u1"]
X87 = numpy.dtype("g").itemsize == 16 and numpy.finfo("g").nmant == 63


class Case:
    """A dataset, the elements it must convert to, and the values that may prevent the conversion.
    """

    def __init__(self, name, stored, target, values, expected, kind=""):
        self.name, self.stored, self.target = name, stored, target
        self.values, self.expected, self.kind = values, expected, kind

    def told(self):
        return (f"seed {SEED}, {self.name}: {self.stored} to {self.target}, {self.kind}, "
                f"{self.values.shape}")


def draw_numpy(rng, generator, dtype, n):
    """Returns numbers of any bits; values near f32's and f16's limits; ties; integers near powers
    of two."""
    if dtype.kind in "iu":
        values = generator.integers(0, 2**63, n, dtype="u8").astype("u8") >> generator.integers(
            0, 64, n).astype("u8")
        values = values << generator.integers(0, 12, n).astype("u8")
        return (values + generator.integers(-2, 3, n).astype("u8")).astype(dtype)
    values = numpy.frombuffer(generator.bytes(8 * n), "f8").copy()
    ends = numpy.array(
        [-1075, -1074, -1022, -150, -149, -126, -25, -24, -14, -1, 0, 1, 15, 127, 128, 1023])
    with numpy.errstate(all="ignore"):
        chosen = numpy.ldexp(
            generator.integers(0, 2**53, n) * 2.0**-53 + 1,
            generator.choice(ends, n) + generator.integers(-1, 2, n))
        chosen *= generator.choice([-1.0, 1.0], n)
        few = numpy.ldexp(
            numpy.round(numpy.ldexp(numpy.frexp(chosen)[0], 12)) + generator.choice([0, 0.5], n),
            -12)
        few = numpy.ldexp(
            few * generator.choice([1 + 2.0**-24, 1 + 3 * 2.0**-24, 1 - 2.0**-25, 1], n),
            numpy.frexp(chosen)[1])
        values = numpy.where(
            generator.random(n) < 0.2, values, numpy.where(generator.random(n) < 0.5, chosen, few))
        special = numpy.array([
            0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 0.99999999999, 3.402823517e38,
            -3.4028235e38, 65519.9
        ])
        values = numpy.where(generator.random(n) < 0.1, generator.choice(special, n), values)
        values[numpy.isnan(values)] = numpy.nan  # quiet: numpy's halves keep signalling NaNs
        payload = numpy.isnan(values)
        bits = values.view("u8")
        bits[payload] |= generator.integers(0, 2**51, payload.sum(), dtype="u8")
        bits[payload] |= generator.integers(0, 2, payload.sum()).astype("u8") << numpy.uint64(63)
        if dtype.char == "g" and X87:
            wide = values.astype("g")
            near = numpy.isfinite(wide)
            return numpy.where(
                near, wide * (1 + generator.integers(-2, 3, n).astype("g") * numpy.finfo("g").eps),
                wide)
        return values.astype(dtype)


def held(values, target):
    """Returns which of numpy's values the target represents, exactly or, for floats, rounded."""
    with numpy.errstate(all="ignore"):
        there = values.astype(target)
        if target.kind == "f" and values.dtype.kind == "f":
            return numpy.isfinite(there) | ~numpy.isfinite(values)
    limits = numpy.iinfo(target) if target.kind in "iu" else None
    return numpy.array([
        int(t) == int(v) if limits is None and numpy.isfinite(t) else limits is not None and
        bool(numpy.isfinite(v)) and int(v) == v and limits.min <= int(v) <= limits.max
        for v, t in zip(values.ravel(), there.ravel())
    ], dtype=bool).reshape(values.shape)


class Conversions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tessera-conversion-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.rng, self.generator = random.Random(SEED), numpy.random.default_rng(SEED)

    def read(self, path, requests):
        """Returns [bytes of the elements or the error message] for [(dataset, element)]."""
        lines = "".join(f"{name} {element}\n" for name, element in requests)
        done = subprocess.run([READER, path], input=lines.encode(), capture_output=True, check=True)
        answers, at = [], 0
        for _ in requests:
            end = done.stdout.index(b"\n", at)
            word, rest = done.stdout[at:end].decode().split(" ", 1)
            at = end + 1
            if word == "held":
                answers.append(done.stdout[at:at + int(rest)])
                at += int(rest)
            else:
                answers.append(rest)
        self.assertEqual(at, len(done.stdout))
        return answers

    def shape(self):
        rank = self.rng.randint(1, 4)
        return tuple(self.rng.randint(1, {1: 200, 2: 14, 3: 6, 4: 4}[rank]) for _ in range(rank))

    def store(self, file, case, type_id, data):
        """Writes the case chunked or contiguous, alone or as the source of a virtual dataset of
        another type."""
        shape = case.values.shape
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if self.rng.random() < 0.5:
            creation.set_chunk(tuple(self.rng.randint(1, extent) for extent in shape))
            if self.rng.random() < 0.5:
                creation.set_deflate(1)
        name = case.name.encode()
        virtual = self.rng.random() < 0.15
        space = h5py.h5s.create_simple(shape)
        dataset = h5py.h5d.create(file.id, b"source_" + name if virtual else name, type_id, space,
                                  dcpl=creation)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=type_id)
        if virtual:
            case.kind = "virtual"
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_virtual(space, b".", b"source_" + name, space)
            others = () if case.target in ("c64", "c128") else (h5py.h5t.IEEE_F64BE,
                                                                h5py.h5t.IEEE_F32LE)
            declared = self.rng.choice((type_id, *others))
            h5py.h5d.create(file.id, name, declared, space, dcpl=creation)

    def numpy_case(self, file, number):
        stored = numpy.dtype(self.rng.choice(STORED + (["g"] * 3 if X87 else [])))
        targets = [
            t for t in (FLOATS if self.rng.random() < 0.8 else INTEGERS)
            if not (stored.char == "g" and t == "f16")
        ]
        target = self.rng.choice(targets)
        shape = self.shape()
        n = int(numpy.prod(shape))
        values = draw_numpy(self.rng, self.generator, stored, 4 * n)
        dtype = numpy.dtype({**FLOATS, **INTEGERS}[target])
        values = values[held(values, dtype)]
        values = numpy.concatenate([values, numpy.zeros(n,
                                                        stored)])[:n].reshape(shape).astype(stored)
        with numpy.errstate(all="ignore"):
            case = Case(f"d{number}", str(stored), target, values, values.astype(dtype).tobytes())
        self.store(file, case, h5py.h5t.py_create(stored), values)
        return case

    def odd_case(self, file, number):
        big = self.rng.random() < 0.5
        x87 = Form(10, 79, 64, 15, 0, 64, 16383, h5py.h5t.NORM_NONE, big)
        known = (ieee(2, 8, 7, big), ieee(16, 15, 112, big), ieee(4, 8, 23, big),
                 ieee(8, 11, 52, big), x87)
        form = self.rng.choice(known + tuple(random_form(self.rng) for _ in range(3)))
        target, shape = self.rng.choice(list(FLOATS)), self.shape()
        size = int(FLOATS[target][2])
        words, expected = [], []
        while len(words) < numpy.prod(shape):
            word = form.draw(self.rng)
            bits = form.converted(word, target)
            if bits is not None:
                words.append(word)
                expected.append(bits.to_bytes(size, "little"))
        data = numpy.frombuffer(b"".join(form.bytes(word) for word in words),
                                f"V{form.size}").reshape(shape)
        case = Case(f"d{number}", str(vars(form)), target, data, b"".join(expected))
        self.store(file, case, form.type(), data)
        return case

    def padded_case(self, file, number):
        """Returns a case of integers with fewer bits than their bytes have, at a nonzero bit
        offset."""
        size, big, signed = self.rng.choice(
            (2, 3, 4, 8)), self.rng.random() < 0.5, self.rng.random() < 0.5
        precision = self.rng.randint(2, min(53, 8 * size - 1))
        offset = self.rng.randint(0, 8 * size - precision)
        made = (h5py.h5t.STD_I64LE if signed else h5py.h5t.STD_U64LE).copy()
        made.set_precision(precision)
        made.set_offset(offset)
        made.set_size(size)
        made.set_order(h5py.h5t.ORDER_BE if big else h5py.h5t.ORDER_LE)
        shape = self.shape()
        low, high = (-(1 << precision - 1), 1 << precision - 1) if signed else (0, 1 << precision)
        numbers = [
            self.rng.choice((low, high - 1, 0, self.rng.randrange(low, high)))
            for _ in range(int(numpy.prod(shape)))
        ]
        target = self.rng.choice(("f64", "i64"))
        data = b"".join(
            ((value & (1 << precision) - 1) << offset).to_bytes(size, "big" if big else "little")
            for value in numbers)
        case = Case(f"d{number}",
                    f"{precision} bits at {offset} of {size} bytes, big {big}, signed {signed}",
                    target,
                    numpy.frombuffer(data, f"V{size}").reshape(shape),
                    numpy.array(numbers, {**FLOATS, **INTEGERS}[target]).tobytes())
        try:
            self.store(file, case, made, case.values)
        except ValueError as error:  # HDF5 1.14 creates no type with most of its bits unused
            if "unusual datatype" not in str(error):
                raise
            return self.padded_case(file, number)
        return case

    def complex_case(self, file, number):
        part = numpy.dtype(self.rng.choice(["<f4", ">f4", "<f8", ">f8"]))
        shape, target = (self.rng.randint(1, 14), self.rng.randint(1, 14)), self.rng.choice(
            ("c64", "c128"))
        n = shape[0] * shape[1]
        parts, dtype = draw_numpy(self.rng, self.generator, part,
                                  8 * n), numpy.dtype({"c64": "<f4", "c128": "<f8"}[target])
        parts = numpy.concatenate([parts[held(parts, dtype)],
                                   numpy.zeros(2 * n, part)])[:2 * n].astype(part)
        names = self.rng.choice((("r", "i"), ("real", "imag"), ("Real", "Imag"), ("RE", "IM")))
        turned = self.rng.random() < 0.3
        expected = parts.astype(dtype).reshape(n, 2)
        stored = numpy.dtype([(names[1], part), (names[0],
                                                 part)] if turned else [(names[0],
                                                                         part), (names[1], part)])
        values = parts.reshape(n, 2)[:, ::-1 if turned else 1].copy().view(stored).reshape(shape)
        case = Case(f"d{number}", str(stored), target, values, expected.tobytes())
        self.store(file, case, h5py.h5t.py_create(stored), values)
        return case

    def test_equal_bits(self):
        path, cases = os.path.join(self.folder, "x.h5"), []
        with h5py.File(path, "w") as file:
            for number in range(CASES):
                make = self.rng.choices(
                    (self.numpy_case, self.odd_case, self.padded_case, self.complex_case),
                    (10, 6, 2, 2))[0]
                cases.append(make(file, number))
        answers = self.read(path, [(case.name, case.target) for case in cases])
        for case, answer in zip(cases, answers):
            self.assertIsInstance(answer, bytes, f"{case.told()}: {answer}")
            size = len(case.expected) // case.values.size
            for i in range(case.values.size if answer != case.expected else 0):
                got, want = answer[i * size:][:size], case.expected[i * size:][:size]
                self.assertEqual(got.hex(), want.hex(),
                                 f"{case.told()}: element {i}, {case.values.ravel()[i]!r}")

    def test_what_a_type_does_not_hold_is_named_with_its_place(self):
        """A single unrepresentable number: in the middle, at the ends, for every kind of storage.
        """
        path, wanted = os.path.join(self.folder, "x.h5"), []
        kinds = ((">f8", "f32", -1e39, "-1e+39"), ("<f8", "f32", 3.5e38, "3.5e+38"),
                 ("<f4", "f16", 65520, "65520"), ("<i8", "f64", 2**53 + 1, "9007199254740993"),
                 (">u8", "f64", 2**64 - 1, "18446744073709551615"), ("<i4", "f32", -2**24 - 1,
                                                                     "-16777217"),
                 (">i4", "f16", 2049, "2049"), ("<f8", "i64", 2.5, "2.5"), ("<f8", "u64", -1, "-1"),
                 (">i2", "u32", -3, "-3"), ("<u8", "i64", 2**63, "9223372036854775808"))
        with h5py.File(path, "w") as file:
            for number, (stored, target, value, text) in enumerate(kinds):
                for chunks in (None, (3, 2, 2)):
                    values = numpy.zeros((7, 5, 4), stored)
                    place = tuple(self.rng.randrange(extent) for extent in values.shape)
                    values[place] = value
                    values.ravel()[self.rng.randint(numpy.ravel_multi_index(place, values.shape),
                                                    values.size - 1)] = value
                    name = f"d{number}{'_chunks' if chunks else ''}"
                    file.create_dataset(name, data=values, chunks=chunks)
                    wanted.append((
                        name, target,
                        f"holds {text} at {list(place)}, which {target} cannot represent"
                    ))
        for (name, target, words), answer in zip(wanted,
                                                 self.read(path, [case[:2] for case in wanted])):
            self.assertIsInstance(answer, str, f"{name} {target} {words}")
            self.assertIn(words, answer)

    @unittest.skipUnless(X87, "numpy has no 80-bit floats here")
    def test_beyond_f64(self):
        path = os.path.join(self.folder, "x.h5")
        with h5py.File(path, "w") as file:
            file["d"] = numpy.array([1, numpy.ldexp(numpy.longdouble(1), 2000)], "g")
        self.assertIn("at [1], which f64 cannot represent", self.read(path, [("d", "f64")])[0])


if __name__ == "__main__":
    print(f"seed {SEED} (TESSERA_TEST_SEED={SEED} repeats it)", flush=True)
    if not READER:
        sys.exit("CONVERSION_READER names no program")
    unittest.main(verbosity=2)
