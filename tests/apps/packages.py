"""jobs/setup.sh: the packages that it would install, with substitutes for dpkg-query and mpicc."""

import os
import subprocess

import tessera

SCRIPT = ('. "$1/jobs/setup.sh"; tessera_find_missing; '
          'printf "%s\\n" "${tessera_missing[@]}"')


class Packages(tessera.Case):
    def write_program(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def missing(self, owner=""):
        """Returns the packages of a machine with none installed, whose mpicc is of the owner."""
        self.write_program("mpicc", "")
        self.write_program("dpkg-query", f'[ "$1" != -S ] || echo "{owner}"\n')
        done = subprocess.run(["bash", "-euc", SCRIPT, "bash", tessera.ROOT], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        return done.stdout.split()

    def test_debians_open_mpi_and_its_hdf5(self):
        found = self.missing("openmpi-bin: /usr/bin/opal_wrapper")
        for package in ("libopenmpi-dev", "libhdf5-openmpi-dev", "cmake"):
            self.assertIn(package, found)

    def test_debians_mpich_and_its_hdf5(self):
        found = self.missing("libmpich-dev: /usr/bin/mpicc.mpich")
        for package in ("libmpich-dev", "mpich", "libhdf5-mpich-dev", "cmake"):
            self.assertIn(package, found)
        self.assertEqual([name for name in found if "openmpi" in name], [])

    def test_the_mpi_of_modules_gets_no_second_one(self):
        found = self.missing("")
        self.assertEqual([name for name in found if "mpi" in name], [])
        self.assertIn("cmake", found)


class Arguments(tessera.Case):
    def test_an_unknown_argument_is_named(self):
        done = subprocess.run(["bash", os.path.join(tessera.ROOT, "jobs", "run.sh"), "--instal"],
                              text=True, capture_output=True, cwd=self.folder, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--instal: unknown argument; usage: bash jobs/run.sh", done.stderr)


if __name__ == "__main__":
    tessera.main()
