"""Verified files, and their modifications."""

import random

import tessera
from tessera import BAD_DATA, OK, VERIFICATION, h5py, numpy

QUICK = ("--repetitions", 2, "--warmups", 0)


class Verify(tessera.Case):
    def setUp(self):
        super().setUp()
        self.succeed("matmul", "--m", 50, "--n", 40, "--k", 9, "--out", "c.h5:/C", *QUICK, ranks=2)
        self.file = self.path("c.h5")

    def test_a_good_file(self):
        result = self.succeed("verify", "c.h5")
        self.assertIn("/C  50 x 40", result.out)
        self.assertIn("matches", result.out)
        self.assertIn("complete, verified", result.out)
        self.assertEqual(self.succeed("verify", "c.h5", ranks=3).out, result.out)

    def test_every_flipped_byte_of_the_data_is_found(self):
        with h5py.File(self.file) as file:
            begin, size = file["C"].id.get_offset(), 50 * 40 * 8
        rng = random.Random(tessera.SEED)
        for at in [0, size - 1] + [rng.randrange(size) for _ in range(10)]:
            with open(self.file, "r+b") as file:
                file.seek(begin + at)
                byte = file.read(1)[0]
                file.seek(begin + at)
                file.write(bytes([byte ^ 1 << rng.randrange(8)]))
            result = self.run_tessera("verify", "c.h5")
            self.assertEqual(result.code, VERIFICATION, f"byte {at}\n{result}")
            self.assertIn("DIFFERS", result.out)
            with open(self.file, "r+b") as file:
                file.seek(begin + at)
                file.write(bytes([byte]))
        self.succeed("verify", "c.h5")

    def test_exchanged_elements_are_found(self):
        with h5py.File(self.file, "r+") as file:
            file["C"][3, :] = file["C"][3, :][::-1]
        self.assertEqual(self.run_tessera("verify", "c.h5").code, VERIFICATION)

    def test_an_incomplete_file(self):
        with h5py.File(self.file, "r+") as file:
            file["_tessera"].attrs["state"] = "incomplete"
        result = self.run_tessera("verify", "c.h5")
        self.assertEqual(result.code, VERIFICATION)
        self.assertIn("incomplete", result.out)

    def test_an_incomplete_file_is_no_input(self):
        with h5py.File(self.file, "r+") as file:
            file["_tessera"].attrs["state"] = "incomplete"
        self.fail_with(BAD_DATA, "matmul", "--a", "c.h5:/C", "--trans-a", "T", "--b", "c.h5:/C",
                       words=("c.h5", "incomplete"))

    def test_a_foreign_file(self):
        tessera.write_matrix(self.path("x.h5"), numpy.ones((3, 3)))
        self.fail_with(BAD_DATA, "verify", "x.h5", words=("x.h5", "not written by Tessera"))

    def test_a_damaged_file_of_ours(self):
        """Truncation anywhere: never verified, no crash."""
        with open(self.file, "rb") as file:
            whole = file.read()
        for cut in (100, 2000, len(whole) // 2, len(whole) - 1):
            with open(self.path("cut.h5"), "wb") as file:
                file.write(whole[:cut])
            self.fail_with(BAD_DATA, "verify", "cut.h5", words="cut.h5")

    def test_results_files_say_that_they_have_no_checksums(self):
        self.succeed("matmul", "--n", 8, "--results", "r.h5", *QUICK)
        self.fail_with(BAD_DATA, "verify", "r.h5", words=("r.h5", "results file", "no checksums"))

    def test_a_missing_checksum_is_no_match(self):
        """A file without any remaining dataset of Tessera contains nothing verified."""
        with h5py.File(self.file, "r+") as file:
            del file["C"]
        self.assertNotEqual(self.run_tessera("verify", "c.h5").code, OK)


if __name__ == "__main__":
    tessera.main()
