"""Two MPI libraries in one process, as with an HDF5 that was built with another one."""

import os

import tessera
from tessera import INTERNAL

OTHER = {"LD_PRELOAD": os.environ["TESSERA_OTHER_MPI"]}
WORDS = ("two MPI libraries", "libmpich.so", "HDF5_ROOT")


class TwoLibraries(tessera.Case):
    def test_a_process_names_both(self):
        self.fail_with(INTERNAL, "matmul", "--n", 8, environment=OTHER, words=WORDS)

    def test_ranks_name_both_once(self):
        self.fail_with(INTERNAL, "sort", "--n", 50, ranks=2, environment=OTHER, words=WORDS)

    def test_answers_need_no_mpi(self):
        self.succeed("list", environment=OTHER)


if __name__ == "__main__":
    tessera.main()
