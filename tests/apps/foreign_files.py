"""Outputs into existing files: foreign content is always preserved, and Tessera's dataset is added.
"""

import os
import stat
import subprocess

import tessera
from tessera import BAD_DATA, CANNOT_CREATE, USAGE, h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)
PRODUCT = ("matmul", "--n", 60, *QUICK, "--out", "mine.h5:/result")


def write_six(path, seed=1, **how):
    """Writes a file with six datasets of different kinds, links and attributes."""
    rng = numpy.random.default_rng(seed)
    with h5py.File(path, "w", **how) as file:
        file.attrs["owner"] = "somebody"
        file["plain"] = rng.random((40, 30))
        file.create_dataset("packed", data=rng.integers(0, 9, (200, 50)), chunks=(10, 50),
                            compression="gzip")
        file.create_dataset("deep/er/text", data=["one", "two"], dtype=h5py.string_dtype())
        file["deep"].attrs["units"] = "m"
        file["deep/table"] = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
        file["x"] = numpy.arange(7.0)  # the name of a dimension of Tessera's output
        file["x"].make_scale("x")
        file["scaled"] = rng.random(7)
        file["scaled"].dims[0].attach_scale(file["x"])
        file["soft"] = h5py.SoftLink("/plain")
        file["outside"] = h5py.ExternalLink("other.h5", "/group")


def contents(path, without=()):
    """Returns every foreign object of a file: bytes, type, attributes; links as links."""
    found = {}
    with h5py.File(path, "r") as file:
        def look(name, link):
            if name.split("/")[0] == "_tessera" or name in without:
                return
            if isinstance(link, (h5py.SoftLink, h5py.ExternalLink)):
                found[name] = (link.path, getattr(link, "filename", ""))
                return
            item = file[name]
            attributes = {key: str(value) for key, value in item.attrs.items()
                          if key != "REFERENCE_LIST"}
            data = item[()] if isinstance(item, h5py.Dataset) else None
            held = None if data is None else (str(item.dtype), item.shape, item.chunks,
                                              item.compression,
                                              str(data.tolist()) if data.dtype.hasobject
                                              else data.tobytes())
            found[name] = (attributes, held)

        def walk(group, prefix):
            for name in group:
                link = group.get(name, getlink=True)
                look(prefix + name, link)
                if isinstance(link, h5py.HardLink) and isinstance(group[name], h5py.Group):
                    walk(group[name], prefix + name + "/")
        walk(file, "")
        found["/"] = dict(file.attrs)
    return found


class Foreign(tessera.Case):
    def setUp(self):
        super().setUp()
        self.mine = self.path("mine.h5")
        write_six(self.mine)
        self.before = contents(self.mine)

    def assert_kept(self, *ours, path=None):
        """Expects that all previous content is unchanged, and that the named outputs exist."""
        path = path or self.mine
        after = contents(path)
        self.assertEqual({name: after.get(name) for name in self.before}, self.before)
        for name in ours:
            self.assertIn(name, after)

    def assert_nothing_beside(self, *files):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(("mine.h5",) + files))


class Added(Foreign):
    def test_every_workload(self):
        """matmul, transpose, stencil with snapshots, sort and argsort, on one rank and several."""
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"] = numpy.arange(12.0).reshape(3, 4)
            file["t/k"], file["t/v"] = numpy.array([3, 1, 2]), numpy.array([1.5, 2.5, 3.5])
        ours = []
        for ranks in (0, 3):
            end = f"_{ranks}"
            for words, paths in (
                    ((*PRODUCT[:-1], f"mine.h5:/result{end}"), ["result"]),
                    (("transpose", "--in", "in.h5:/A", "--out", f"mine.h5:/deep/T{end}"),
                     ["deep/T"]),
                    (("stencil", "--shape", "20x30", "--steps", 4, "--out", f"mine.h5:/u{end}",
                      "--snapshots", f"mine.h5:/s{end}", "--every", 2),
                     ["u", "s"]),
                    (("sort", "--in", "in.h5:/t", "--by", "k", "--out", f"mine.h5:/sorted{end}",
                      "--argsort", f"mine.h5:/new/p{end}"),
                     ["new/p"])):
                result = self.succeed(*words, ranks=ranks)
                self.assertIn("added to the existing file", result.out)
                ours += [path + end for path in paths]
            ours += [f"sorted{end}/k", f"sorted{end}/v"]
        self.assert_kept(*ours)
        self.assert_nothing_beside("in.h5", "mine.xdmf")
        with h5py.File(self.mine) as file:
            numpy.testing.assert_array_equal(file["deep/T_0"][()],
                                             numpy.arange(12.0).reshape(3, 4).T)
            numpy.testing.assert_array_equal(file["sorted_3/v"][()], [2.5, 3.5, 1.5])
            self.assertEqual(file["s_0"].shape, (3, 20, 30))
            self.assertEqual(len(file["u_3"].dims[0]), 1)
            self.assertEqual(sorted(file["_tessera"]), [f"added_{n:04}" for n in range(1, 9)])
            self.assertIn("--shape 20x30", file["_tessera/added_0003"].attrs["command_line"])
            numpy.testing.assert_array_equal(file["x"][()], numpy.arange(7.0))
        self.succeed("verify", "mine.h5")
        self.succeed("transpose", "--in", "mine.h5:/deep/T_0", "--out", "back.h5:/A")

    def test_overwrite_replaces_that_dataset_alone(self):
        product = ("matmul", "--n", 300, *PRODUCT[3:])
        self.succeed(*product)
        size = os.path.getsize(self.mine)
        self.fail_with(CANNOT_CREATE, *product, words=("'/result'", "--overwrite", "that one"))
        for seed in (2, 3, 4):
            self.succeed(*product, "--seed", seed, "--overwrite")
            self.succeed("matmul", "--n", 300, *QUICK, "--seed", seed, "--out", "alone.h5:/C",
                         "--overwrite")
            self.assert_kept("result")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.mine, "result"),
                                             tessera.read_matrix(self.path("alone.h5")))
        self.assertLess(os.path.getsize(self.mine), size + 300 * 300 * 8,
                        "the space of what is replaced is used again")
        self.succeed("matmul", "--n", 5, *QUICK, "--out", "mine.h5:/packed", "--overwrite")
        self.before.pop("packed")
        self.assert_kept("packed", "result")
        with h5py.File(self.mine) as file:
            self.assertEqual(file["packed"].shape, (5, 5))

    def test_what_cannot_take_its_place(self):
        whole = tessera.digest(self.mine)
        for path, word in (("deep", "group"), ("soft", "link"), ("soft/C", "link"),
                           ("outside/C", "link"), ("plain/C", "not a group"),
                           ("x", "dimension")):
            self.fail_with(CANNOT_CREATE, *PRODUCT[:-1], f"mine.h5:/{path}", "--overwrite",
                           words=("mine.h5", word))
        self.fail_with(USAGE, *PRODUCT[:-1], "mine.h5:/_tessera/C")
        self.assertEqual(tessera.digest(self.mine), whole)
        self.assert_nothing_beside()

    def test_files_of_every_form(self):
        for name, how in (("userblock", {"userblock_size": 512}),
                          ("new", {"libver": ("v110", "v110")}), ("ordered", {"track_order": True}),
                          ("paged", {"fs_strategy": "page", "fs_persist": True})):
            with self.subTest(name):
                try:
                    write_six(self.mine, **how)
                except (TypeError, ValueError):
                    continue  # this h5py does not support it
                with open(self.mine, "r+b") as file:
                    block = b"notes of somebody" if name == "userblock" else b""
                    file.write(block)
                self.succeed(*PRODUCT)
                self.assert_kept("result")
                self.succeed("verify", "mine.h5")
                with open(self.mine, "rb") as file:
                    self.assertEqual(file.read(len(block)), block)

    def test_netcdf_reads_it(self):
        try:
            import netCDF4
            import xarray
        except ImportError as missing:
            self.skipTest(f"{missing}; apt-get install python3-netcdf4 python3-xarray")
        with netCDF4.Dataset(self.path("n.nc"), "w") as file:
            for name, extent in (("y", 4), ("x", 5)):
                file.createDimension(name, extent)
                file.createVariable(name, "f8", (name,))[:] = numpy.arange(extent) * 0.5
            file.createVariable("t2m", "f4", ("y", "x"))[:] = numpy.arange(20.0).reshape(4, 5)
        self.succeed("stencil", "--shape", "4x5", "--steps", 1, "--out", "n.nc:/u")
        self.succeed("stencil", "--shape", "4x5", "--steps", 2, "--out", "n.nc:/t2m", "--overwrite")
        with netCDF4.Dataset(self.path("n.nc")) as file:
            self.assertEqual(file["t2m"].dimensions, ("y", "x"))
            self.assertEqual(file["u"].shape, (4, 5))
            numpy.testing.assert_array_equal(file["x"][:], numpy.arange(5) * 0.5)
        with xarray.open_dataset(self.path("n.nc")) as data:
            self.assertEqual(data["t2m"].dims, ("y", "x"))
            numpy.testing.assert_array_equal(data["y"], numpy.arange(4) * 0.5)
            self.assertEqual(data["u"].shape, (4, 5))

    def test_an_output_with_something_of_its_user_in_it(self):
        """A changed output counts as a foreign file; an unchanged one is replaced as a whole."""
        for change in (lambda file: file.create_dataset("note", data=[1.0]),
                       lambda file: file.create_group("empty"),
                       lambda file: file.__setitem__("soft", h5py.SoftLink("/u")),
                       lambda file: file.copy("/u", "/copied"),
                       lambda file: file["x"].attrs.__setitem__("units", "m")):
            self.succeed("stencil", "--shape", "20x30", "--steps", 1, "--out", "u.h5:/u",
                         "--overwrite")
            with h5py.File(self.path("u.h5"), "r+") as file:
                self.assertIn("VTKHDF/PointData/u", file)
                change(file)
            before = contents(self.path("u.h5"), without=("u", "VTKHDF/PointData/u"))
            result = self.succeed("stencil", "--shape", "20x30", "--steps", 2, "--out", "u.h5:/u",
                                  "--overwrite")
            self.assertIn("added to the existing file", result.out)
            after = contents(self.path("u.h5"), without=("u", "VTKHDF/PointData/u"))
            self.assertEqual({name: after.get(name) for name in before}, before)
            self.succeed("verify", "u.h5")
            os.unlink(self.path("u.h5"))

    def test_an_output_of_ours_is_replaced_as_a_whole(self):
        for words in (("matmul", "--n", 9, *QUICK, "--out", "c.h5:/C"),
                      ("stencil", "--shape", "20x30", "--steps", 2, "--out", "c.h5:/deep/u"),
                      ("stencil", "--shape", "5x4x3", "--steps", 2, "--out", "c.h5:/u",
                       "--snapshots", "c.h5:/s", "--every", 1)):
            self.succeed(*words, "--overwrite")
            self.fail_with(CANNOT_CREATE, *words, words=("'c.h5'", "whole file"))
        self.succeed("matmul", "--n", 9, *QUICK, "--out", "c.h5:/D", "--overwrite")
        with h5py.File(self.path("c.h5")) as file:
            self.assertEqual(sorted(file), ["D", "_tessera", "col", "row"])


class Untouched(Foreign):
    def test_what_is_no_hdf5(self):
        damaged = tessera.digest(self.mine)
        with open(self.mine, "rb") as file:
            whole = file.read()
        for name, data in (("text.h5", b"notes\n"), ("png.h5", b"\x89PNG\r\n\x1a\n" + bytes(100)),
                           ("cut.h5", whole[:3000]), ("nul.h5", bytes(4096)),
                           ("cdf.nc", b"CDF\x01" + bytes(200))):
            with open(self.path(name), "wb") as file:
                file.write(data)
            for more in ((), ("--overwrite",)):
                for words in (("matmul", "--n", 9, *QUICK, "--out", f"{name}:/C"),
                              ("sort", "--n", 9, "--out", f"{name}:/C"),
                              ("stencil", "--shape", "8x8", "--steps", 2, "--snapshots",
                               f"{name}:/C", "--every", 1)):
                    result = self.fail_with(CANNOT_CREATE, *words, *more,
                                            words=(f"'{name}'", "replaced"))
                    self.assertNotIn("--overwrite", result.err)
            with open(self.path(name), "rb") as file:
                self.assertEqual(file.read(), data)
        self.assertEqual(tessera.digest(self.mine), damaged)
        self.fail_with(BAD_DATA, "matmul", "--n", 9, *QUICK, "--results", "mine.h5",
                       words="is not a results file")

    def test_an_xdmf_file_of_others(self):
        with open(self.path("u.xdmf"), "w") as file:
            file.write("<Xdmf>by hand</Xdmf>\n")
        words = ("stencil", "--shape", "8x8", "--steps", 2, "--xdmf", "--overwrite", "--out")
        self.assertIn("is kept", self.succeed(*words, "u.h5:/u").err)
        with open(self.path("u.xdmf")) as file:
            self.assertEqual(file.read(), "<Xdmf>by hand</Xdmf>\n")
        for _ in range(2):  # Tessera's own file is replaced
            self.assertIn("written: v.xdmf", self.succeed(*words, "v.h5:/u").out)

    def test_results_take_no_datasets(self):
        self.succeed("matmul", "--n", 9, *QUICK, "--results", "r.h5")
        whole = tessera.digest(self.path("r.h5"))
        for more in ((), ("--overwrite",)):
            self.fail_with(CANNOT_CREATE, "matmul", "--n", 9, *QUICK, "--out", "r.h5:/C", *more,
                           words=("'r.h5'", "results"))
        self.assertEqual(tessera.digest(self.path("r.h5")), whole)

    def test_protected_files_and_folders(self):
        whole = tessera.digest(self.mine)
        os.chmod(self.mine, 0o444)
        self.fail_with(CANNOT_CREATE, *PRODUCT, words=("'mine.h5'", "protected"))
        os.chmod(self.mine, 0o644)
        if os.geteuid() != 0:  # root can write to any folder
            os.chmod(self.folder, 0o555)
            self.addCleanup(os.chmod, self.folder, 0o755)
            self.fail_with(CANNOT_CREATE, *PRODUCT, words=("'mine.h5'", "folder"))
        self.assertEqual(tessera.digest(self.mine), whole)

    def test_no_space(self):
        """The copy does not fit: one line, and the file is unchanged."""
        disk = self.path("disk")
        os.mkdir(disk)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk],
                              capture_output=True) if os.geteuid() == 0 else None
        if made is None or made.returncode != 0:
            self.skipTest("only root can mount a small disk, and not everywhere")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        with h5py.File(f"{disk}/big.h5", "w") as file:
            file["big"] = numpy.random.default_rng(1).random(700000)
        whole = tessera.digest(f"{disk}/big.h5")
        for n in (60, 600):
            self.fail_with(CANNOT_CREATE, "matmul", "--n", n, *QUICK, "--out", f"{disk}/big.h5:/C",
                           words=("big.h5", "No space left"))
            self.assertEqual(tessera.digest(f"{disk}/big.h5"), whole)
            self.assertEqual(os.listdir(disk), ["big.h5"])

    def test_names_and_rights_stay(self):
        os.mkdir(self.path("store"))
        os.rename(self.mine, self.path("store/mine.h5"))
        os.symlink("store/mine.h5", self.mine)
        os.link(self.path("store/mine.h5"), self.path("store/second.h5"))
        os.chmod(self.mine, 0o640)
        if os.geteuid() == 0:
            os.chown(self.mine, 12345, 23456)
        marked = False
        try:
            os.setxattr(self.mine, "user.tessera_test", b"a mark")
            marked = True
        except OSError:
            pass  # a file system without them
        second = tessera.digest(self.path("store/second.h5"))
        result = self.succeed(*PRODUCT)
        self.assertIn("2 hard links", result.err)
        self.assertTrue(os.path.islink(self.mine))
        self.assert_kept("result")
        state = os.stat(self.mine)
        self.assertEqual(stat.S_IMODE(state.st_mode), 0o640)
        if os.geteuid() == 0:
            self.assertEqual((state.st_uid, state.st_gid), (12345, 23456))
        if marked:
            self.assertEqual(os.getxattr(self.mine, "user.tessera_test"), b"a mark")
        self.assertEqual(tessera.digest(self.path("store/second.h5")), second)
        self.assertEqual(sorted(os.listdir(self.path("store"))), ["mine.h5", "second.h5"])


if __name__ == "__main__":
    tessera.main()
