"""Monitoring of a stencil run: probes and norms."""

import tessera
from tessera import h5py, numpy


class Watching(tessera.Case):
    def test_probes_and_norms_are_those_of_the_field(self):
        self.succeed("stencil", "--shape", "6x11x8", "--steps", 25, "--probe", "7,10,5;0,0,0",
                     "--norms", "--probe-every", 10,
                     "--results", "r.h5", "--snapshots", "s.h5:/u", "--every", 10, ranks=4)
        with h5py.File(self.path("s.h5")) as file, h5py.File(self.path("r.h5")) as results:
            u, table = file["u"][:], results["stencil_0001/series"]
            rows = list(zip(table["step"][:], table["quantity"].asstr()[:], table["value"][:]))
            self.assertEqual(len(rows), 4 * 6)
            self.assertEqual(table["step"].attrs["units"], "steps")
        for frame, step in zip(u, (0, 10, 20, 25)):
            found = {quantity: value for at, quantity, value in rows if at == step}
            self.assertEqual((found["7,10,5"], found["0,0,0"]), (frame[5, 10, 7], frame[0, 0, 0]))
            self.assertEqual((found["min"], found["max"]), (frame.min(), frame.max()))
            self.assertAlmostEqual(found["sum"], frame.sum(), places=10)
            self.assertAlmostEqual(found["l2"], numpy.sqrt((frame**2).sum()), places=10)

    def test_refusals(self):
        for more, message in [
                (("--probe", "1,2", "--results", "r.h5", "--shape", "5"), "write x,"),
                (("--probe", "5,2", "--results", "r.h5", "--shape", "5x5"), "not a point"),
                (("--probe", "1,1"), "--results"),
                (("--norms",), "--results"),
                (("--every", "5"), "--snapshots")]:
            with self.subTest(words=more):
                self.fail_with(tessera.USAGE, "stencil", *more, words=message)


if __name__ == "__main__":
    tessera.main()
