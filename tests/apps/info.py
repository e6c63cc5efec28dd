"""tessera info: what it lists is what h5py reads, and what it promises the workloads take."""

import json
import os
import random

import tessera
from tessera import BAD_DATA, MISSING, OK, USAGE, h5py, numpy


def write_file(path):
    rng = numpy.random.default_rng(tessera.SEED)
    with h5py.File(path, "w") as file:
        for name, extent in (("time", 24), ("lat", 10), ("lon", 20)):
            file[name] = numpy.arange(float(extent))
            file[name].make_scale(name)
        packed = file.create_dataset("t2m", data=rng.integers(-9, 9, (24, 10, 20)).astype("<i2"),
                                     chunks=(1, 10, 20), compression="gzip", compression_opts=4,
                                     shuffle=True)
        packed.attrs.update({"scale_factor": 0.01, "_FillValue": numpy.int16(-9999), "units": "K"})
        for axis, name in enumerate(("time", "lat", "lon")):
            packed.dims[axis].attach_scale(file[name])
        file["events/time"], file["events/energy"] = numpy.arange(9.0), numpy.arange(9)
        file["events/name"] = numpy.array([b"abc"] * 9)
        file["A"], file["z"] = rng.random((8, 8)), rng.random((3, 3)) + 1j
        file["flags"] = rng.random((4, 4)) < 0.5
        file["big"] = numpy.arange(7, dtype=">u4")
        file["rows"] = numpy.zeros(5, dtype=[("a", "f8"), ("b", "i4")])
        file["wide"] = numpy.zeros((3, 4), dtype="S100")
        file["word"], file["words"] = "hello", ["a", "b"]
        file["four"] = rng.random((2, 3, 4, 5))
        file["nothing"] = h5py.Empty("f8")
        file["soft"], file["there"] = h5py.SoftLink("/A"), h5py.ExternalLink("o.h5", "/x")
        file.create_dataset("raw", (4, 4), "f8", external=[("raw.bin", 0, 128)])[...] = 1
        layout = h5py.VirtualLayout((8, 8), "f8")
        layout[...] = h5py.VirtualSource(".", "/A", (8, 8))
        file.create_virtual_dataset("view", layout)


# A dry run of each workload on the dataset of one dimension or more.
PLANS = {
    "matmul": lambda name, shape: ("--a", name, "--b", name) + (
        ("--trans-b", "T") if len(shape) > 1 else ()),
    "transpose": lambda name, shape: ("--in", name) + (
        () if len(shape) == 2 else ("--axes", ",".join(map(str, reversed(range(len(shape))))))),
    "stencil": lambda name, shape: ("--in", name, "--steps", 1, "--raw"),
    "sort": lambda name, shape: ("--in", name) + (("--by", "a") if ":/rows" in name else ()),
}


class Info(tessera.Case):
    def setUp(self):
        super().setUp()
        there = os.getcwd()
        os.chdir(self.folder)  # raw files are found from there
        try:
            write_file("in.h5")
        finally:
            os.chdir(there)

    def contents(self, *words):
        answer = json.loads(self.succeed("info", *words, "--json").out)
        return {dataset["path"]: dataset for dataset in answer.get("contents", [])}

    def test_what_h5py_reads(self):
        found, expected = self.contents("in.h5"), {}
        with h5py.File(self.path("in.h5")) as file:
            file.visititems(lambda name, item: expected.update({"/" + name: (
                list(item.shape or ()), list(item.chunks or ()))})
                if isinstance(item, h5py.Dataset) else None)
        self.assertEqual({path: (one["shape"], one["chunk"]) for path, one in found.items()},
                         expected)
        t2m = found["/t2m"]
        self.assertEqual((t2m["type"], t2m["filters"]), ("i16", ["shuffle", "gzip 4"]))
        self.assertEqual(t2m["attributes"], {"units": "K", "scale_factor": 0.01,
                                             "_FillValue": -9999})
        self.assertEqual(t2m["scales"], [["/time"], ["/lat"], ["/lon"]])
        self.assertEqual(found["/raw"]["external"], ["raw.bin"])
        self.assertEqual(found["/view"]["layout"], "virtual")
        self.assertEqual(found["/z"]["kind"], "complex")

    def test_the_workloads_take_what_it_promises(self):
        for path, one in self.contents("in.h5").items():
            for workload, words in PLANS.items():
                if not one["shape"]:
                    self.assertEqual(one["uses"], [], path)
                    continue
                with self.subTest(path=path, workload=workload):
                    result = self.run_tessera(workload, *words(f"in.h5:{path}", one["shape"]),
                                              "--plan")
                    if workload == "transpose" and len(one["shape"]) == 1:
                        continue  # the identity is possible, and of no use
                    self.assertEqual(result.code == OK, workload in one["uses"], str(result))

    def test_the_screen(self):
        out = self.succeed("info", "in.h5", environment={"COLUMNS": None}).out
        lines = [line for line in out.splitlines() if not line.startswith("cannot be read")]
        self.assertLessEqual(max(map(len, lines)), 80, out)
        self.assertIn("\n/events/energy", out)
        self.assertIn("/events: a table of 3 columns and 9 rows, for sort --by\n", out)
        self.assertIn("/soft: a link to /A\n/there: a link to o.h5:/x\n", out)
        self.assertRegex(out, r"cannot be read: in.h5:/nothing has a null dataspace")
        one = self.succeed("info", "in.h5:/t2m").out
        for words in ("chunks 1 x 10 x 20, shuffle, gzip 4", "scale_factor  0.01", "axis 1",
                      "for           matmul, transpose, stencil"):
            self.assertIn(words, one)
        self.assertEqual(set(self.contents("in.h5:/events")),
                         {"/events/time", "/events/energy", "/events/name"})

    def test_names_that_are_not_there(self):
        self.fail_with(MISSING, "info", "in.h5:/nope", words="tessera info in.h5")
        self.fail_with(MISSING, "info", "none.h5")
        self.fail_with(USAGE, "info")
        os.remove(self.path("raw.bin"))
        self.assertIn("raw.bin", self.contents("in.h5")["/raw"]["problem"])

    def test_damaged_files(self):
        """A damaged file is listed in part or refused; the program itself never crashes."""
        with open(self.path("in.h5"), "rb") as file:
            whole = file.read()
        draw = random.Random(tessera.SEED)
        for trial in range(200 if tessera.SLOW else 25):
            damaged = bytearray(whole)
            for _ in range(draw.choice((1, 20, 300))):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            if trial % 5 == 0:
                del damaged[draw.randrange(len(damaged)):]
            with open(self.path("d.h5"), "wb") as file:
                file.write(damaged)
            result = self.run_tessera("info", "d.h5", "--json")
            self.assertIn(result.code, (OK, BAD_DATA, MISSING), str(result))
            self.assertEqual(json.loads(result.out)["exit_code"], result.code)


if __name__ == "__main__":
    tessera.main()
