"""Files of tessera stencil: readable by every tool, snapshots in time, checkpoints from which a
killed run resumes."""

import importlib.util
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

import tessera
from tessera import h5py, numpy


def has(module):
    return importlib.util.find_spec(module) is not None


def python(*words):
    """Runs a reader in another process: its own HDF5 library may conflict with h5py's."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True)


READ_WITH_VTK = """
import sys, numpy
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.util.numpy_support import vtk_to_numpy
reader = vtkHDFReader()
reader.SetFileName(sys.argv[1])
assert reader.CanReadFile(sys.argv[1])
reader.Update()
image = reader.GetOutput()
assert image.GetPointData().GetArray(0).GetName() == "u"
values = vtk_to_numpy(image.GetPointData().GetArray(0))
numpy.save(sys.argv[2], values.reshape(image.GetDimensions()[::-1]))
"""


class Readers(tessera.Case):
    def setUp(self):
        super().setUp()
        self.succeed("stencil", "--shape", "7x12x9", "--init", "gaussian", "--steps", 23, "--out",
                     "u.h5:/u",
                     "--snapshots", "s.h5:/u", "--every", 10, "--xdmf", ranks=3)
        self.u = tessera.read_matrix(self.path("u.h5"), "u")
        self.s = tessera.read_matrix(self.path("s.h5"), "u")

    def test_snapshots_are_the_field_after_so_many_steps(self):
        self.assertEqual(self.s.shape, (4, 7, 12, 9))
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["time"][:].tolist(), [0, 10, 20, 23])
        self.assertEqual(self.s[3].tobytes(), self.u.tobytes())
        for frame, steps in enumerate((0, 10, 20)):
            self.succeed("stencil", "--shape", "7x12x9", "--init", "gaussian", "--steps", steps,
                         "--out", "v.h5:/u",
                         "--overwrite")
            self.assertEqual(tessera.read_matrix(self.path("v.h5"), "u").tobytes(),
                             self.s[frame].tobytes())
        self.succeed("verify", "s.h5")

    def test_the_results_tell_what_was_written_beside_the_steps(self):
        for ranks in (0, 3):
            self.succeed("stencil", "--shape", "7x12x9", "--steps", 23, "--snapshots", "t.h5:/u",
                         "--every", 10, "--overwrite", "--repetitions", 2, "--results", "r.h5",
                         ranks=ranks)
            found = tessera.traffic(self.path("r.h5"))
            self.assertEqual(set(found), {-1})
            self.assertEqual(found[-1][:2], (0, self.s.nbytes))

    def test_both_may_be_one_file_of_one_or_two_dimensions(self):
        for shape, frame in (("41", (41,)), ("10x11", (10, 11))):
            self.succeed("stencil", "--shape", shape, "--steps", 5, "--every", 5, "--out",
                         "b.h5:/u", "--snapshots",
                         "b.h5:/series", "--overwrite", ranks=2)
            with h5py.File(self.path("b.h5")) as file:
                self.assertEqual(file["series"].shape, (2, *frame))
                self.assertEqual(file["series"][1].tobytes(), file["u"][:].tobytes())
            self.succeed("verify", "b.h5")

    @unittest.skipUnless(has("vtkmodules"), "no python3-vtk9")
    def test_vtk_hdf_reader(self):
        result = python("-c", READ_WITH_VTK, self.path("u.h5"), self.path("vtk.npy"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(numpy.load(self.path("vtk.npy")).tobytes(), self.u.tobytes())

    def test_the_image_is_the_dataset_itself(self):
        for name, version in (("u.h5", [1, 0]), ("s.h5", [2, 0])):
            with h5py.File(self.path(name)) as file:
                group = file["VTKHDF"]
                self.assertEqual(group.attrs["Version"].tolist(), version)
                self.assertEqual(group.attrs["Type"], b"ImageData")
                self.assertEqual(group.attrs["WholeExtent"].tolist(), [0, 8, 0, 11, 0, 6])
                self.assertEqual(file["u"].id.get_offset(), group["PointData/u"].id.get_offset())
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["VTKHDF/Steps"].attrs["NSteps"], 4)
            self.assertEqual(file["VTKHDF/Steps/Values"][:].tolist(), [0, 10, 20, 23])
            self.assertEqual(file["VTKHDF/Steps/PointDataOffsets/u"][:].tolist(), [0, 1, 2, 3])

    @unittest.skipUnless(has("xarray"), "no python3-xarray")
    def test_xarray(self):
        engines = [e for e, m in (("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")) if has(m)]
        if not engines:
            self.skipTest("xarray here reads no HDF5: neither h5netcdf nor netCDF4")
        for engine in engines:
            for name in ("u.h5", "s.h5"):
                result = python("-c", "import sys, xarray\n"
                                "d = xarray.open_dataset(sys.argv[1], engine=sys.argv[2])\n"
                                "print(d.u.dims, sorted(d.coords), float(d.u[-1].sum()), "
                                "d.u.x.values[-1])",
                                self.path(name), engine)
                dims = "('time', 'z', 'y', 'x')" if name == "s.h5" else "('z', 'y', 'x')"
                total = (self.s if name == "s.h5" else self.u)[-1].sum()
                self.assertIn(dims, result.stdout, result.stderr)
                self.assertAlmostEqual(float(result.stdout.split("] ")[1].split()[0]), total,
                                       places=10)

    @unittest.skipUnless(shutil.which("ncdump"), "no netcdf-bin")
    def test_ncdump(self):
        text = subprocess.run(["ncdump", "-h", self.path("s.h5")], capture_output=True, text=True,
                              check=True).stdout
        self.assertIn("double u(time, z, y, x)", text)

    def test_xdmf_points_at_every_frame(self):
        for name, values in (("s", self.s), ("u", self.u[None])):
            grids = xml.etree.ElementTree.parse(
                self.path(f"{name}.xdmf")).getroot().findall("Domain/Grid/Grid")
            self.assertEqual(len(grids), len(values))
            for frame, grid in enumerate(grids):
                self.assertEqual(grid.find("Topology").get("Dimensions"), "7 12 9")
                item = grid.find("Attribute/DataItem")
                whole = item.find("DataItem[@Format='HDF']") if item.get("ItemType") else item
                file, path = whole.text.split(":")
                data = tessera.read_matrix(self.path(file), path)
                if item.get("ItemType"):
                    words = [int(w) for w in item.find("DataItem[@Format='XML']").text.split()]
                    start, _, count = words[:4], words[4:8], words[8:]
                    data = data[tuple(slice(s, s + c) for s, c in zip(start, count))]
                self.assertEqual(data.tobytes(), values[frame].tobytes())


class Pictures(tessera.Case):
    @unittest.skipUnless(has("vtkmodules"), "no python3-vtk9")
    def test_vtk_reads_every_image_of_three_dimensions_that_there_is(self):
        """The reader supports an extent of 1 in the last dimension only; otherwise no image is
        written, and the program reports it."""
        for shape in ((5, 6, 7), (5, 6, 1), (1, 5, 6), (4, 1, 6), (1, 1, 6), (5, 1, 1)):
            name = "x".join(map(str, shape))
            result = self.succeed("stencil", "--shape", name, "--steps", 3, "--out", "u.h5:/u",
                                  "--overwrite", ranks=len(shape) % 2 + 1)
            u, there = tessera.read_matrix(self.path("u.h5"), "u"), 1 not in shape[:-1]
            with h5py.File(self.path("u.h5")) as file:
                self.assertEqual("VTKHDF" in file, there, shape)
            self.assertEqual(result.out.count("no VTKHDF in u.h5"), 0 if there else 1, result.out)
            if there:
                read = python("-c", READ_WITH_VTK, self.path("u.h5"), self.path("vtk.npy"))
                self.assertEqual(read.returncode, 0, read.stderr)
                self.assertEqual(numpy.load(self.path("vtk.npy")).tobytes(), u.tobytes())

    def test_images_of_two_dimensions_and_series_have_no_dimension_of_one_but_the_last(self):
        for shape, there in (("1x8", False), ("8x1", True), ("3x8", True), ("8", False)):
            words = ("stencil", "--shape", shape, "--steps", 2, "--out", "u.h5:/u", "--snapshots",
                     "s.h5:/u", "--every", 1, "--overwrite")
            out = self.succeed(*words).out
            for name in ("u.h5", "s.h5"):
                with h5py.File(self.path(name)) as file:
                    self.assertEqual("VTKHDF" in file, there, shape)
                self.assertEqual(out.count(f"no VTKHDF in {name}"), 1 if shape == "1x8" else 0, out)

    def test_no_xdmf_that_no_reader_would_understand(self):
        for out, there in (("ü.h5:/u", False), ("a:b.h5:/u", False), ("c.h5:/a:b", False),
                           ("c.h5:/g/ü", False), ("d e.h5:/it's <u>&", True)):
            file = out[:out.rfind(":/")]
            result = self.succeed("stencil", "--shape", "4x5", "--steps", 2, "--xdmf", "--out", out,
                                  "--overwrite")
            xdmf = file.replace(".h5", ".xdmf")
            self.assertEqual(os.path.exists(self.path(xdmf)), there, out)
            self.assertEqual(result.out.count(f"not written: {xdmf}: XDMF"), 0 if there else 1,
                             result.out)
            if there:
                item = xml.etree.ElementTree.parse(
                    self.path(xdmf)).getroot().find("Domain/Grid/Grid/Attribute/DataItem")
                self.assertEqual(item.text, out)


class Checkpoints(tessera.Case):
    SHAPE, STEPS = "900x700", 1500

    def words(self, *more):
        return ["stencil", "--stencil", "wave", "--boundary", "x=periodic,y-=mirror", "--shape",
                self.SHAPE, "--steps",
                self.STEPS, *more]

    def hash_of(self, result):
        self.assertEqual(result.code, 0, str(result))
        return re.search(r" ([0-9a-f]{16}) ", result.out).group(1)

    def kill_when(self, job, pause):
        """Kills all processes of a job at once, `pause` seconds after its first checkpoint; returns
        whether it was running."""
        anew = not os.path.exists(self.path("ck.h5"))
        while job.process.poll() is None and not os.path.exists(self.path("ck.h5")):
            time.sleep(0.01)
        begun = time.monotonic()
        while job.process.poll() is None and time.monotonic() < begun + pause:
            time.sleep(0.01)
        killed = job.process.poll() is None
        if anew and not killed:  # the machine is faster now
            self.lasted = min(self.lasted, time.monotonic() - begun)
        for pid in job.pids() if killed else {}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait()
        self.assertEqual(job.wait_gone(10), {})
        return killed

    def test_killed_at_any_time_and_resumed_on_any_ranks_it_ends_the_same(self):
        rng = random.Random(tessera.SEED)
        first = self.run_tessera(*self.words("--out", "whole.h5:/u"), threads=2)
        whole, self.lasted = self.hash_of(first), first.seconds
        resume = self.words("--checkpoint", "ck.h5", "--checkpoint-every", self.STEPS // 20,
                            "--resume", "auto")
        wanted, kills, resumed = 50 if tessera.SLOW else 2, 0, 0
        for attempt in range(3 * wanted):  # some kills come too late
            killed = 0
            for _ in range(rng.choice((1, 1, 2, 3))):
                job = tessera.Job(resume, ranks=rng.choice((0, 2, 3, 5)),
                                  threads=rng.choice((1, 2)), folder=self.folder)
                killed += self.kill_when(job, 0 if attempt == 0 else rng.uniform(0, self.lasted))
            last = self.run_tessera(*resume, "--out", "u.h5:/u", "--overwrite",
                                    ranks=rng.choice((0, 2, 4)))
            self.assertEqual(self.hash_of(last), whole, str(last))
            self.assertIn("resumed: ck.h5", last.out)
            kills += killed
            resumed += killed > 0
            for name in ("ck.h5", "ck.h5.previous"):
                if os.path.exists(self.path(name)):
                    os.unlink(self.path(name))
            if resumed == wanted:
                break
        print(f"  {kills} kills in {resumed} runs, each resumed to its end and with the bits of "
              f"the uninterrupted one", flush=True)
        self.assertEqual(resumed, wanted)

    def test_signals_that_the_parent_had_blocked(self):
        """exec passes the mask on; some container runtimes and launchers block signals."""
        blocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); "
        for sent in (signal.SIGUSR1, signal.SIGTERM):
            job = tessera.Job(["-c", blocked + "os.execv(sys.argv[1], sys.argv[1:])",
                               tessera.PROGRAM, "stencil", "--shape", "64x64", "--steps", 10**9,
                               "--checkpoint", f"{sent}.h5", "--checkpoint-every", "0.2s"],
                              folder=self.folder, program=sys.executable)
            result = job.stop(lambda: os.path.exists(self.path(f"{sent}.h5")), sent)
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")

    def test_what_a_killed_job_said_is_in_its_log(self):
        words = ["stencil", "--shape", "64x64", "--checkpoint", "ck.h5"]
        self.succeed(*words, "--steps", 5, "--checkpoint-every", 5)
        for ranks in (0, 2):
            job = tessera.Job([*words, "--steps", 10**9, "--resume", "auto"], ranks=ranks,
                              folder=self.folder)
            ready, _, _ = select.select([job.process.stdout], [], [], 60)
            self.assertTrue(ready, "nothing in the log of a job under way")
            self.assertEqual(job.process.stdout.readline(), "resumed: ck.h5 after step 5\n")
            job.end()
            job.wait()

    def test_a_signal_leaves_a_checkpoint_and_exit_code_85(self):
        for sent, ranks in ((signal.SIGUSR1, 0), (signal.SIGTERM, 0), (signal.SIGUSR1, 3)):
            steps = 10**9
            job = tessera.Job(["stencil", "--shape", "64x64", "--steps", steps, "--checkpoint",
                               "ck.h5",
                               "--checkpoint-every", "0.2s"], ranks=ranks, folder=self.folder)
            result = job.stop(lambda: os.path.exists(self.path("ck.h5")), sent)
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")
            step = int(re.search(r"after step (\d+)", result.errors[0]).group(1))
            with h5py.File(self.path("ck.h5")) as file:
                self.assertEqual(file["_tessera"].attrs["checkpoint_step"], step)
            last = self.succeed("stencil", "--shape", "64x64", "--steps", step + 3, "--checkpoint",
                                "ck.h5", "--resume",
                                "auto", "--out", "u.h5:/u", "--overwrite")
            self.assertIn(f"resumed: ck.h5 after step {step}", last.out)
            os.unlink(self.path("ck.h5"))

    def test_a_damaged_checkpoint_gives_way_to_the_one_before(self):
        words = ["stencil", "--shape", "50x60", "--steps", 40, "--checkpoint", "ck.h5",
                 "--checkpoint-every", "10"]
        whole = self.hash_of(self.succeed(*words, ranks=2))
        with h5py.File(self.path("ck.h5"), "r+") as file:
            self.assertEqual(file["_tessera"].attrs["checkpoint_step"], 40)
            file["u"][13, 17] += 1e-9
        result = self.run_tessera(*words, "--resume", "auto", ranks=3)
        self.assertEqual(self.hash_of(result), whole)
        self.assertIn("resumed: ck.h5.previous after step 30", result.out)
        self.assertIn("checkpoint not used: 'ck.h5' does not match its checksum", result.err)
        self.assertNotIn("error", result.err)  # the exit is successful
        # the damaged one did not replace the good one
        for name, step in ("ck.h5", 40), ("ck.h5.previous", 30):
            with h5py.File(self.path(name)) as file:
                self.assertEqual(file["_tessera"].attrs["checkpoint_step"], step)

    def test_nothing_to_resume_is_a_start_and_a_named_checkpoint_must_be_there(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5]
        whole = self.hash_of(self.succeed(*words))
        self.assertEqual(self.hash_of(self.succeed(*words, "--checkpoint", "no.h5", "--resume",
                                                   "auto", ranks=2)), whole)
        self.fail_with(tessera.MISSING, *words, "--resume", "missing.h5", words="missing.h5",
                       ranks=2)

    def test_a_run_from_another_field_does_not_go_on_from_it_unasked(self):
        rng = numpy.random.default_rng(tessera.SEED)
        names = [tessera.write_matrix(self.path(f"{name}.h5"), rng.random((20, 20)), name="u")
                 for name in "abp"]
        copy = tessera.write_matrix(self.path("copy.h5"),
                                    tessera.read_matrix(self.path("a.h5"), "u"), "chunked", "u")
        words = ["stencil", "--stencil", "wave", "--steps", 8, "--checkpoint", "ck.h5",
                 "--checkpoint-every", 3, "--resume", "auto"]
        whole = self.hash_of(self.succeed(*words, "--in", names[0], ranks=2))
        for more in (("--in", names[1]), ("--in", names[0], "--past", names[2]),
                     ("--shape", "20x20")):
            self.fail_with(tessera.USAGE, *words, *more, ranks=3,
                           words=("another initial field", "--resume ck.h5"))
        self.assertEqual(self.hash_of(self.succeed(*words, "--in", copy, ranks=3)), whole)
        self.assertEqual(self.hash_of(self.succeed(*words[:5], "--in", names[1], "--resume",
                                                   "ck.h5")), whole)

    def test_refusals(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5, "--checkpoint", "ck.h5"]
        self.succeed(*words, "--checkpoint-every", "2")
        for more, message in [
                (("--resume", "auto", "--stencil", "laplace"), "another problem"),
                (("--resume", "auto", "--boundary", "mirror"), "another problem"),
                (("--resume", "auto", "--type", "f32"), "another problem"),
                (("--resume", "auto", "--steps", "1"), "beyond --steps"),
                (("--checkpoint-every", "often"), "neither seconds"),
                (("--repetitions", "3"), "single run"),
                (("--out", "ck.h5:/u"), "same file"),
                (("--out", "ck.h5.previous:/u"), "same file"),
                (("--results", "./ck.h5.previous"), "same file"),
                (("--every", "3"), "--snapshots"),
                (("--kernel", "naive,tiled"), "single run")]:
            with self.subTest(words=more):
                self.fail_with(tessera.USAGE, *words, *more, words=message, ranks=2)
        self.fail_with(tessera.USAGE, "stencil", "--resume", "auto", words="--checkpoint")
        for name in ("ck.h5", "ck.h5.previous"):
            self.fail_with(tessera.USAGE, "stencil", "--in", f"{name}:/u", "--checkpoint", "ck.h5",
                           words="same file")
        self.fail_with(tessera.CANNOT_CREATE, *words[:5], "--checkpoint", "no/folder/ck.h5",
                       words="no/folder", ranks=2)

    def test_a_file_that_is_no_checkpoint_is_not_replaced_by_one(self):
        words = ["stencil", "--shape", "20x20", "--steps", 5, "--checkpoint-every", 2,
                 "--checkpoint"]
        tessera.write_matrix(self.path("data.h5"), numpy.arange(6.0).reshape(2, 3))
        self.succeed("stencil", "--shape", "9", "--steps", 1, "--out", "field.h5:/u", "--results",
                     "results.h5")
        with open(self.path("notes.txt"), "w") as file:
            file.write("of the user's own")
        for name in ("data.h5", "field.h5", "results.h5", "notes.txt"):
            before = tessera.digest(self.path(name))
            self.fail_with(tessera.CANNOT_CREATE, *words, name, ranks=2,
                           words="is not a checkpoint")
            if name != "notes.txt":  # which may be the remains of one
                result = self.run_tessera(*words, name, "--resume", "auto")
                self.assertEqual(result.code, tessera.CANNOT_CREATE, str(result))
            self.assertEqual(tessera.digest(self.path(name)), before)
            # if the second one would replace the first
            os.rename(self.path(name), self.path("n.h5.previous"))
            self.fail_with(tessera.CANNOT_CREATE, *words, "n.h5", ranks=2,
                           words="is not a checkpoint")
            self.assertEqual(tessera.digest(self.path("n.h5.previous")), before)
            self.assertFalse(os.path.exists(self.path("n.h5")))
        self.fail_with(tessera.USAGE, *words, "c.h5", "--results", "c.h5", words="same file",
                       ranks=2)
        open(self.path("empty.h5"), "w").close()
        for _ in range(2):
            self.succeed(*words, "empty.h5")
        with open(self.path("empty.h5"), "r+") as file:
            file.truncate(100)
        self.assertEqual(self.run_tessera(*words, "empty.h5", "--resume", "auto").code, 0)

    def test_snapshots_of_a_run_that_was_stopped_go_on(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["u"] = file["v"] = numpy.random.default_rng(1).random((40, 50))
        for ranks, fields, files in ((0, "/u", "s.h5:/u"), (2, "/u,/v", "p.h5:/u,q.h5:/v")):
            for steps in (10**6, 10**7, 10**8):  # more where it ends before the signal comes
                run = ["stencil", "--in", f"in.h5:{fields}", "--steps", steps, "--every",
                       steps // 10, "--snapshots", files, "--checkpoint", f"{ranks}.h5"]
                job = tessera.Job([*run, "--checkpoint-every", 10**5 // 2, "--kernel", "naive",
                                   "--halo-steps", 1], ranks=ranks, folder=self.folder)
                result = job.stop(lambda: os.path.exists(self.path(f"{ranks}.h5")))
                if result.code != 0:
                    break
                for name in (f"{ranks}.h5", f"{ranks}.h5.previous", *files.split(",")):
                    os.unlink(self.path(name.split(":/")[0]))
            self.assert_failed(result, tessera.STOPPED, "signal stopped the run")
            self.assertIn("frames exist", self.succeed(*run, "--resume", "auto").out)
            self.succeed("stencil", "--in", "in.h5:/u", "--steps", steps, "--every", steps // 10,
                         "--snapshots", "whole.h5:/u", "--overwrite")
            for name in files.split(","):
                self.succeed("verify", name.split(":/")[0])
                with h5py.File(self.path(name.split(":/")[0])) as found, h5py.File(
                        self.path("whole.h5")) as whole:
                    self.assertEqual(found["time"][:].tolist(), whole["time"][:].tolist())
                    self.assertTrue((found[name.split(":/")[1]][:] == whole["u"][:]).all())
        self.assertFalse([name for name in os.listdir(self.folder) if "stopped" in name
                          or "partial" in name])

    def test_probes_and_norms_of_a_resumed_run_begin_with_the_first_step(self):
        words = ["stencil", "--shape", "20x30", "--probe", "1,2;29,19", "--norms"]
        whole = ["--checkpoint", "ck.h5", "--checkpoint-every", 20, "--resume", "auto"]
        self.succeed(*words, "--steps", 25, *whole, "--results", "first.h5", ranks=2)
        for name, more, first in (("whole", [], 0), ("resumed", whole, 0),
                                  ("others", [*whole, "--probe-every", 7], 42)):
            self.succeed(*words, "--steps", 50, *more, "--results", f"{name}.h5", ranks=3)
            with h5py.File(self.path(f"{name}.h5")) as file:
                series = file["stencil_0001/series"]
                rows = list(zip(series["step"][:], series["quantity"].asstr()[:],
                                series["value"][:]))
            self.assertEqual(rows[0][0], first)
            if name == "whole":
                expected = rows
            elif name == "resumed":
                self.assertEqual([row[:2] for row in rows], [row[:2] for row in expected])
                self.assertTrue(numpy.allclose([row[2] for row in rows],
                                               [row[2] for row in expected], rtol=1e-12, atol=0))
        self.succeed("verify", "ck.h5")

    def test_snapshots_of_a_resumed_run_begin_where_it_does(self):
        words = ["stencil", "--shape", "20x20", "--checkpoint", "ck.h5"]
        self.succeed(*words, "--steps", 15, "--checkpoint-every", 15)
        self.succeed(*words, "--steps", 30, "--resume", "auto", "--snapshots", "s.h5:/u", "--every",
                     10, ranks=2)
        with h5py.File(self.path("s.h5")) as file:
            self.assertEqual(file["time"][:].tolist(), [15, 20, 30])
        self.succeed("verify", "s.h5")
        again = ("--steps", 40, "--checkpoint-every", 40, "--snapshots", "s.h5:/u", "--overwrite")
        self.succeed(*words, *again)  # contains what precedes the last checkpoint
        before = tessera.digest(self.path("s.h5"))
        self.fail_with(tessera.CANNOT_CREATE, *words, *again, "--resume", "auto", ranks=2,
                       words=("from step 0", "from step 40"))
        self.assertEqual(tessera.digest(self.path("s.h5")), before)
        self.succeed(*words, *again[:-1], "--overwrite", "--every", 10, "--resume", "auto",
                     "--snapshots", "t.h5:/u")


if __name__ == "__main__":
    tessera.main()
