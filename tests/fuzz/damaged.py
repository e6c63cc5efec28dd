"""Damaged HDF5 files: for any content the program ends by itself, in time, with a documented code
and one line.

    damaged.py [Corpus] [Random]        as tests; TESSERA_FUZZ_SECONDS (10): duration of Random
    TESSERA_FUZZ_SECONDS=600 TESSERA_FUZZ_KEEP=found damaged.py Random     ten minutes, keeps
                                                                           failing files
    TESSERA_FUZZ_SEEDS=seeds damaged.py Seeds       intact files, seeds of the fuzzer of looks

Corpus: files that once violated a promise, as recipes (maker and changed bytes)."""

import collections
import json
import os
import random
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "apps"))

import tessera  # noqa: E402
from tessera import BAD_DATA, MEMORY, MISSING, OK, USAGE, VERIFICATION, h5py, numpy  # noqa: E402

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "damaged")
SECONDS = float(os.environ.get("TESSERA_FUZZ_SECONDS", "10"))
KEEP = os.environ.get("TESSERA_FUZZ_KEEP")
READER = os.environ.get("TESSERA_FUZZ_READER", "")
SEEDS = os.environ.get("TESSERA_FUZZ_SEEDS")
# wall time: ten seconds of CPU time for a look, and the work, on a loaded machine
LIMIT = 150


# --- makers: small, real files


def matrix(path, **how):
    with h5py.File(path, "w", userblock_size=how.pop("userblock", 0),
                   libver=how.pop("libver", None)) as file:
        file.create_dataset("A", data=numpy.arange(400.0).reshape(20,
                                                                  20).astype(how.pop("dtype",
                                                                                     "f8")), **how)


def table(path):
    rng = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name, kind in (("time", "i8"), ("x", "f4"), ("id", ">u2")):
            file.create_dataset(f"A/{name}", data=rng.integers(0, 100, 300).astype(kind),
                                chunks=(64,), compression=1)


def compound(path):
    with h5py.File(path, "w") as file:
        file["A"] = numpy.zeros(50, dtype=[("key", "i4"), ("name", "S7"), ("v", "f8", (3,))])


def made_by(*arguments):
    def make(path):
        result = tessera.run(*arguments, f"{path}:/A" if arguments[-1] == "--out" else path,
                             "--repetitions", 1)
        assert result.code == OK, str(result)
    return make


MAKERS = {
    "contiguous": matrix,
    "gzip": lambda path: matrix(path, chunks=(7, 6), compression=1, shuffle=True),
    "fletcher": lambda path: matrix(path, chunks=(5, 5), fletcher32=True),
    "extendible": lambda path: matrix(path, chunks=(3, 3), maxshape=(None, None)),
    "latest": lambda path: matrix(path, chunks=(3, 3), maxshape=(None, None), libver="latest"),
    "compact_types": lambda path: matrix(path, dtype=">f2", userblock=512),
    "table": table,
    "compound": compound,
    "product": made_by("matmul", "--n", 12, "--out"),
    "sorted": made_by("sort", "--n", 500, "--out"),
    "results": made_by("matmul", "--n", 4, "--results"),
}

# Readers: the arguments, and the permitted codes.
READERS = {
    "verify": (("verify", "{}"), (OK, BAD_DATA, MISSING, VERIFICATION)),
    "matmul": (("matmul", "--a", "{}:/A", "--b", "{}:/A"), (OK, BAD_DATA, MISSING, MEMORY)),
    "transpose": (("transpose", "--in", "{}:/A"), (OK, BAD_DATA, MISSING, MEMORY)),
    "stencil": (("stencil", "--in", "{}:/A", "--steps", 1), (OK, BAD_DATA, MISSING, MEMORY)),
    "stencil_terms": (("stencil", "--in", "{}:/A,/A", "--coefficients", "{}:/A", "--source",
                       "{}:/A", "--mask", "{}:/A",
                       "--steps", 1), (OK, BAD_DATA, MISSING, MEMORY)),
    "stencil_weights": (("stencil", "--shape", "50x60", "--weights", "{}:/A", "--steps", 1),
                        (OK, BAD_DATA, MISSING, MEMORY, USAGE)),
    "sort": (("sort", "--in", "{}:/A"), (OK, BAD_DATA, MISSING, MEMORY, USAGE)),
    "sort_table": (("sort", "--in", "{}:/A", "--by", "time"),
                   (OK, BAD_DATA, MISSING, MEMORY, USAGE)),
    "results": (("matmul", "--n", 4, "--results", "{}"), (OK, BAD_DATA, MISSING)),
}
WHO_READS = {"table": ("sort_table",), "compound": ("transpose", "sort"),
             "product": ("verify", "matmul"),
             "sorted": ("verify", "sort"), "results": ("results",)}
MATRIX_READERS = ("matmul", "transpose", "stencil", "stencil_terms", "stencil_weights")

# The same as functions, each in a fork: the initial look, and the read if the look succeeds.
LOOKS = {"table": ("probe_table", "table"), "compound": ("probe_table", "table"),
         "results": (None, "results"),
         "product": (None, "verify"), "sorted": (None, "verify")}
MATRIX_LOOK = ("probe", "dataset")


# --- damage ------------------------------------------------------------------------------

NUMBERS = [0, 1, 2, 7, 8, 255, 4096, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62,
           2**63 - 1, 2**64 - 1]


def metadata(content):
    """Returns offsets of structural bytes, outside of long runs of a dataset's values."""
    signatures = (b"\x89HDF", b"TREE", b"HEAP", b"SNOD", b"OHDR", b"GCOL", b"FRHP", b"BTHD",
                  b"FADB", b"EAHD", b"OCHK")
    places = [content.find(s, at) for s in signatures for at in range(0, len(content), 512)]
    return sorted({p for p in places if p >= 0}) or [0]


def draw_changes(rng, content):
    """Returns [(offset, bytes)], or a truncation [(offset, None)]."""
    places = metadata(content)
    changes = []
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = min(len(content) - 1, max(0, rng.choice(places) + int(rng.expovariate(1 / 120))))
        if rng.random() < 0.3:
            at = rng.randrange(len(content))
        kind = rng.randrange(6)
        if kind == 0:
            new = bytes([content[at] ^ (1 << rng.randrange(8))])
        elif kind == 1:
            new = rng.randbytes(rng.choice((1, 1, 2, 4, 16)))
        elif kind == 2:
            size = rng.choice((1, 2, 4, 8))
            number = rng.choice(NUMBERS + [len(content)] + places)
            new, at = (number % 256**size).to_bytes(size, "little"), at - at % size
        elif kind == 3:
            source, size = rng.choice(places), rng.choice((8, 24, 64, 200))
            new = content[source:source + size]
        elif kind == 4:
            new = bytes(rng.choice((4, 16, 64)))
        elif rng.random() < 0.3:
            return [(rng.randrange(len(content)), None)]
        else:
            new = bytes([(content[at] + rng.choice((-1, 1))) % 256])
        changes.append((at, new))
    return changes


def damaged(content, changes):
    content = bytearray(content)
    for at, new in changes:
        if new is None:
            return bytes(content[:at])
        new = new[:len(content) - at]
        content[at:at + len(new)] = new
    return bytes(content)


class Damaged(tessera.Case):
    def setUp(self):
        super().setUp()
        self.whole, self.counts = {}, collections.Counter()

    def content(self, maker):
        if maker not in self.whole:
            MAKERS[maker](self.path(f"{maker}.h5"))
            with open(self.path(f"{maker}.h5"), "rb") as file:
                self.whole[maker] = file.read()
        return self.whole[maker]

    def write(self, content):
        with open(self.path("damaged.h5"), "wb") as file:
            file.write(content)

    def read(self, reader):
        """Returns a description of the reader's wrong end, or None."""
        words, codes = READERS[reader]
        arguments = [str(word).format("damaged.h5") for word in words]
        more = () if reader == "verify" else ("--repetitions", 1, "--warmups", 0)
        result = self.run_tessera(*arguments, *more, timeout=LIMIT)
        self.counts[f"{reader} {result.code}"] += 1
        told = len(result.errors) == (0 if result.code in (OK, VERIFICATION) else 1)
        others = [line for line in result.err.splitlines() if not line.startswith("progress: ")]
        told = told and len(others) == len(result.errors)  # a loaded machine reports progress
        if told and "could not be examined" in result.err:  # exceeding a limit proves no damage
            told = "is damaged" not in result.err
        return None if result.code in codes and told else str(result)


class Corpus(Damaged):
    def test_what_once_broke_a_promise(self):
        for name in sorted(os.listdir(CORPUS)):
            with open(os.path.join(CORPUS, name), encoding="utf-8") as file:
                recipe = json.load(file)
            with self.subTest(name):
                whole, changes = self.content(recipe["maker"]), []
                for at, new in recipe["changes"]:
                    # bytes to search for: positions in Tessera's files vary
                    if isinstance(at, str):
                        at = whole.index(bytes.fromhex(at))
                    changes.append((at, None if new is None else bytes.fromhex(new)))
                self.write(damaged(whole, changes))
                self.assertIsNone(self.read(recipe["reader"]))


@unittest.skipUnless(SEEDS, "TESSERA_FUZZ_SEEDS names no folder")
class Seeds(Damaged):
    def test_every_maker_makes_a_file_for_each_question(self):
        """Writes seeds: a byte for the question, then the file (looks.cpp)."""
        os.makedirs(SEEDS, exist_ok=True)
        for maker in MAKERS:
            content = self.content(maker)
            self.assertIn(b"\x89HDF", content)
            for question in range(5):
                with open(os.path.join(SEEDS, f"{maker}_{question}"), "wb") as file:
                    file.write(bytes([question]) + content)


class Reader:
    """The reading functions, in forks of one process."""

    def __init__(self, folder):
        self.process = subprocess.Popen([READER], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        errors="replace", bufsize=1)

    def ask(self, how):
        self.process.stdin.write(f"{how}\tdamaged.h5\t/A\n")
        code, words = self.process.stdout.readline().split("\t", 1)
        return int(code), words.strip()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Random(Damaged):
    def keep(self, recipe, wrong):
        """Reports a file that violated a promise: its recipe, and the file if files are kept."""
        self.broken.append(f"{json.dumps(recipe)}\n{wrong}")
        print(self.broken[-1], flush=True)
        if not KEEP:
            return
        os.makedirs(KEEP, exist_ok=True)
        name = os.path.join(
            KEEP, f"{recipe['maker']}_{recipe['reader']}_{tessera.SEED}_{len(self.broken)}")
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            json.dump(recipe, file)
        shutil.copy(self.path("damaged.h5"), f"{name}.h5")

    def look_and_read(self, maker):
        """Returns a description of the violation, or None: a look may crash, a read after a good
        look may not."""
        look, how = LOOKS.get(maker, MATRIX_LOOK)
        code, words = self.reader.ask(look) if look else (OK, "")
        self.outcomes[maker, look, code, "".join(c for c in words if not c.isdigit())[:200]] += 1
        if look and (code > 0 and code not in (BAD_DATA, MISSING)):
            return f"{look}: {code} {words}"
        if code != OK:
            return None
        code, words = self.reader.ask(how)
        self.outcomes[maker, how, code, "".join(c for c in words if not c.isdigit())[:200]] += 1
        contained = how in ("verify", "results")  # in a child process of the program
        return f"{how}: {code} {words}" if code not in (OK, BAD_DATA,
                                                        MISSING) and not contained else None

    def test_no_damage_breaks_a_promise(self):
        rng = random.Random(tessera.SEED)
        self.broken, self.outcomes, self.reader = [], collections.Counter(), Reader(self.folder)
        self.addCleanup(self.reader.close)
        contents = {maker: self.content(maker) for maker in MAKERS}
        started, files, novel = time.monotonic(), 0, []
        while time.monotonic() < started + SECONDS:
            maker = rng.choice(list(MAKERS))
            changes = draw_changes(rng, contents[maker])
            if novel and rng.random() < 0.4:  # varies inputs with new outcomes
                maker, more = rng.choice(novel)
                changes = [c for c in more + draw_changes(rng, contents[maker])[:2]
                           if c[1] is not None] or more
            self.write(damaged(contents[maker], changes))
            files, known = files + 1, len(self.outcomes)
            wrong, reader = self.look_and_read(maker), "read"
            if len(self.outcomes) > known:
                novel.append((maker, changes))
            # the program itself
            if wrong is not None or len(self.outcomes) > known or files % 500 == 0:
                reader = rng.choice(WHO_READS.get(maker, MATRIX_READERS))
                wrong = self.read(reader) or wrong
            if wrong is not None:
                recipe = {"maker": maker, "reader": reader,
                          "changes": [(at, new if new is None else new.hex())
                                      for at, new in changes]}
                self.keep(recipe, wrong)
        died = sum(count for (_, _, code, _), count in self.outcomes.items() if code < 0)
        print(f"{files} damaged files in {SECONDS:.0f} s: {len(self.outcomes)} outcomes, {died} "
              f"deaths contained, program: " +
              ", ".join(f"{what}: {count}" for what, count in sorted(self.counts.items())),
              flush=True)
        self.assertEqual(self.broken, [])


if __name__ == "__main__":
    tessera.main()
