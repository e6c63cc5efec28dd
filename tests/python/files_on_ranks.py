"""mpirun -n ALL python3 files_on_ranks.py RANKS: datasets of tessera.DistArray, read by h5py."""

import os
import subprocess
import sys
import tempfile

from package import numpy, tessera
from part import COMM, OnRanks, layouts, run, whole_numbers

READ_BY_H5PY = """
import sys
try:
    import h5py
except ImportError as missing:
    sys.exit(print(f"not compared with h5py: {missing}; apt-get install python3-h5py"))
import numpy
with h5py.File(sys.argv[1]) as file:
    numpy.save(sys.argv[3], file[sys.argv[2]][...])
"""


def read_by_h5py(file, dataset):
    """Returns the dataset as another process, outside of MPI, reads it; None without h5py."""
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("OMPI_", "PMIX_", "PMI_", "HYDRA_"))}
    copy = file + ".npy"
    read = subprocess.run([sys.executable, "-c", READ_BY_H5PY, file, dataset, copy], env=plain,
                          capture_output=True, text=True)
    print(read.stdout, read.stderr, end="", file=sys.stderr)
    if read.stdout:
        return None
    array = numpy.load(copy)
    os.remove(copy)
    return array


class Files(OnRanks):
    def test_files(self):
        folder = COMM.bcast(tempfile.mkdtemp() if COMM.rank == 0 else None)
        name = os.path.join(folder, "x.h5") + ":/group/data"
        for number, dtype in enumerate(("f8", "f4", "i4", "u8", "c16", "i1", "i2", "u1", "u2", "f2",
                                        ">i2", ">f8", "c8")):
            whole = whole_numbers(self.values, (13, 4, 5), dtype if "u" not in dtype else "i4")
            whole = (abs(whole) if "u" in dtype else whole).astype(dtype)
            if dtype == "f2":
                whole[3, 1] = numpy.nan
            self.placed(whole).to_h5(name, overwrite=number > 0)
            self.check(tessera.DistArray.from_h5(name, COMM, layouts(self.rng, 3, COMM.size)),
                       whole.astype(whole.dtype.newbyteorder("=")))
            self.check(tessera.DistArray.from_h5(name, COMM, dtype=dtype), whole)
            read = COMM.bcast(read_by_h5py(*name.split(":")) if COMM.rank == 0 else None)
            if read is not None:
                numpy.testing.assert_array_equal(read, whole)
                self.assertEqual(read.dtype, whole.dtype.newbyteorder("="))
        with self.assertRaisesRegex(OSError, "exists"):
            self.placed(whole).to_h5(name)
        self.check(tessera.DistArray.from_h5(name, COMM, dtype="c16"), whole.astype("c16"))
        COMM.barrier()
        if COMM.rank == 0:
            os.remove(name.split(":")[0])
            os.rmdir(folder)


if __name__ == "__main__":
    run()
