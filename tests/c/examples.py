"""examples.py KMEANS PART HEAT LAUNCHER...: runs the installed examples on ranks; compares k-means
with numpy; heat compares itself with the solution. HEAT is "-" without a Fortran compiler."""

import os
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

KMEANS, PART, HEAT, *LAUNCHER = sys.argv[1:]


def launched(ranks, *command):
    return subprocess.run([*LAUNCHER, str(ranks), *command], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def kmeans(points, k, steps):
    centroids = points[:k].copy()
    for _ in range(steps):
        labels = numpy.argmax(points @ centroids.T - (centroids**2).sum(axis=1) / 2, axis=1)
        centroids = numpy.array([points[labels == j].mean(axis=0) for j in range(k)])
    return centroids


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tessera-examples-")
        self.addCleanup(folder.cleanup)
        self.file, self.out = (os.path.join(folder.name, name) for name in ("in.h5", "out.h5"))
        random = numpy.random.default_rng(1)
        centres = random.uniform(-10, 10, (5, 7))
        self.points = centres[numpy.arange(203) % 5] + random.normal(size=(203, 7))
        with h5py.File(self.file, "w") as file:
            file["points"] = self.points

    def test_kmeans(self):
        want = kmeans(self.points, 5, 6)
        for ranks in 1, 3, 4:
            done = launched(ranks, KMEANS, self.file, "/points", "5", "6", f"{self.out}{ranks}")
            self.assertEqual(done.returncode, 0, done.stdout)
            with h5py.File(f"{self.out}{ranks}", "r") as file:
                got = file["centroids"][()]
            numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)

    def test_kmeans_on_a_part_of_the_ranks(self):
        want = kmeans(self.points, 5, 6)
        for ranks, everybody in (1, 2), (3, 4), (4, 6), (6, 8):
            done = launched(everybody, PART, str(ranks), self.file, "/points", "5", "6",
                            f"{self.out}{ranks}")
            self.assertEqual(done.returncode, 0, done.stdout)
            with h5py.File(f"{self.out}{ranks}", "r") as file:
                got = file["centroids"][()]
            numpy.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)

    def test_kmeans_explains_errors(self):
        done = launched(2, KMEANS, self.file, "/nothing", "5", "6", self.out)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("kmeans: ", done.stdout)
        self.assertIn("/nothing", done.stdout)

    @unittest.skipIf(HEAT == "-", "no Fortran compiler")
    def test_heat(self):
        for ranks in 1, 3, 4:
            done = launched(ranks, HEAT, "200")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("largest difference", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
