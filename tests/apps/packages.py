"""jobs/setup.sh: the packages that it would install, and how it names what is missing, with
substitutes for dpkg-query, mpicc, id, sudo and apt-get."""

import os
import shutil
import subprocess

import tessera

SCRIPT = ('. "$1/jobs/setup.sh"; tessera_add_packages reader; tessera_find_missing; '
          'printf "%s\\n" "${tessera_missing[@]}"')


MANAGERS = ("apt", "dnf", "Spack", "conda")
FMT = ("libfmt-dev", "fmt-devel", "fmt", "fmt")


class Substitutes(tessera.Case):
    def write_program(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def run_script(self, script, path=None):
        """Runs lines of bash after setup.sh, in the test's folder; returns code and output."""
        done = subprocess.run([shutil.which("bash"), "-euc", f'. "$1/jobs/setup.sh"; {script}',
                               "bash", tessera.ROOT], text=True, cwd=self.folder, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "LC_ALL": "C",
                                   "PATH": path or f"{self.folder}:{os.environ['PATH']}"})
        return done.returncode, done.stdout


class Packages(Substitutes):
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
        for package in ("libopenmpi-dev", "libhdf5-openmpi-dev", "python3-mpi4py", "python3-vtk9",
                        "cmake"):
            self.assertIn(package, found)

    def test_debians_mpich_and_its_hdf5(self):
        found = self.missing("libmpich-dev: /usr/bin/mpicc.mpich")
        for package in ("libmpich-dev", "mpich", "libhdf5-mpich-dev", "cmake"):
            self.assertIn(package, found)
        self.assertEqual([n for n in found if "openmpi" in n or "mpi4py" in n], [])
        self.assertNotIn("python3-vtk9", found)  # requires python3-mpi4py

    def test_the_mpi_of_modules_gets_no_second_one(self):
        found = self.missing("")
        self.assertEqual([name for name in found if "mpi" in name], [])
        self.assertIn("cmake", found)

    def assert_row(self, output, *names):
        """A line ends with the names."""
        self.assertTrue(any(line.split()[-len(names):] == list(names)
                            for line in output.split("\n")), f"{names} end no line of\n{output}")

    def test_without_rights_it_names_them_and_continues(self):
        self.write_program("cmake", "exit 1\n")  # finds nothing
        self.write_program("dpkg-query", "")
        self.write_program("apt-get", "echo apt-get was called\n")
        self.write_program("id", "echo 1000\n")
        self.write_program("sudo", "exit 1\n")
        code, output = self.run_script("tessera_install; echo continued")
        self.assertEqual(code, 0, output)
        self.assert_row(output, *MANAGERS)
        self.assert_row(output, *FMT)
        self.assertNotIn("apt-get was called", output)
        self.assertTrue(output.endswith("continued\n"), output)

    def test_offline_it_names_them_and_ends(self):
        self.write_program("cmake", "exit 1\n")  # finds nothing
        self.write_program("dpkg-query", "")
        self.write_program("apt-get", "echo could not resolve; exit 100\n")
        self.write_program("id", "echo 0\n")
        code, output = self.run_script("tessera_install; echo continued")
        self.assertEqual(code, 1, output)
        self.assertIn("could not resolve", output)
        self.assert_row(output, *FMT)
        self.assertIn("--no-install", output)

    def test_without_cmake_every_need_is_named(self):
        for name in ("awk", "dirname"):
            os.symlink(shutil.which(name), self.path(name))
        code, output = self.run_script("tessera_require_tools", path=self.folder)
        self.assertEqual(code, 1, output)
        self.assertIn("CMake not found", output)
        self.assert_row(output, "ninja-build", "ninja-build", "ninja", "ninja")
        self.assert_row(output, *FMT)

    def test_what_cmake_does_not_find_is_named_at_once(self):
        hidden = " ".join(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                          for name in ("fmt", "CLI11", "tomlplusplus", "HDF5", "GTest"))
        code, output = self.run_script(
            f'cmake -G Ninja -S "$1" -B build -DTESSERA_CUDA=OFF {hidden} >log 2>&1 && exit 3;'
            " tessera_show_and_fail configuring log")
        self.assertEqual(code, 1, output)
        self.assertIn("not found: fmt GoogleTest CLI11 toml++ HDF5\n", output)
        self.assert_row(output, *FMT)
        self.assert_row(output, "libtomlplusplus-dev", "tomlplusplus-devel", "tomlplusplus",
                        "tomlplusplus")


class Provided(Substitutes):
    """What modules, conda or the user provide is not asked for: commands, modules of Python, and
    what CMake finds."""

    COMMANDS = ("c++", "ninja", "pkg-config", "mpicc", "mpirun", "gfortran")

    def asked_for(self, cmake, python="exit 1"):
        """Returns the packages that apt would install on a machine that has none of them, with
        substitutes for cmake and for the only Python."""
        self.write_program("dpkg-query", '[ "$1" != -S ] || echo openmpi-bin: /usr/bin/mpicc\n')
        for name in self.COMMANDS:
            self.write_program(name, "")
        self.write_program("cmake", cmake)
        self.write_program("python3", python)
        self.write_program("id", "echo 0\n")
        self.write_program("apt-get", '[ "$1" != install ] || { echo "$*"; exit 100; }\n')
        code, output = self.run_script("tessera_python() { echo python3; }; tessera_install")
        if code == 0:
            return set()
        (line,) = [line for line in output.split("\n") if line.startswith("install ")]
        return set(line.split()) - {"git"}

    LIBRARIES = {"libfmt-dev", "libhwloc-dev", "libcli11-dev", "libhdf5-openmpi-dev",
                 "libopenmpi-dev", "zlib1g-dev", "libtomlplusplus-dev", "nlohmann-json3-dev",
                 "libgtest-dev"}
    TOOLS = {"g++", "cmake", "ninja-build", "pkg-config", "openmpi-bin", "gfortran"}

    def test_only_what_cmake_does_not_find(self):
        asked = self.asked_for("echo ' Packages were not found: fmt HDF5'; exit 1\n")
        self.assertEqual(asked & self.LIBRARIES, {"libfmt-dev", "libhdf5-openmpi-dev"})
        self.assertEqual(asked & self.TOOLS, set())
        self.assertIn("python3-h5py", asked)
        self.assertIn("libdeflate-dev", asked)

    def test_nothing_that_cmake_finds(self):
        asked = self.asked_for("echo '--   Found libdeflate, version 1.14'\n")
        self.assertEqual(asked & (self.LIBRARIES | self.TOOLS | {"libdeflate-dev"}), set())

    def test_modules_of_the_python_that_is_used(self):
        asked = self.asked_for("echo 'Tessera: Python package for it'\n",
                               "case $2 in *mpi4py*) exit 1 ;; esac\n")
        self.assertEqual([n for n in asked if n.startswith("python3-")], ["python3-mpi4py"])

    def test_everything_where_cmake_fails_for_another_reason(self):
        asked = self.asked_for("echo 'no working compiler'; exit 1\n")
        self.assertLessEqual(self.LIBRARIES | {"g++"}, asked)

    def test_libraries_named_by_variables_reach_cmake(self):
        """test.sh unsets variables of jobs, and those of HDF5 that change what it does."""
        shutil.copytree(os.path.join(tessera.ROOT, "jobs"), self.path("tree/jobs"))
        for name in self.COMMANDS:
            self.write_program(name, "")
        self.write_program("cmake", "env; exit 1\n")
        done = subprocess.run(["bash", self.path("tree/jobs/test.sh"), "--no-install"], text=True,
                              capture_output=True, cwd=self.folder, check=False,
                              env={"PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": "/",
                                   "HDF5_ROOT": "/opt/hdf5", "MPI_HOME": "/opt/mpi",
                                   "CMAKE_PREFIX_PATH": "/opt/fmt", "HDF5_USE_FILE_LOCKING": "no"})
        self.assertEqual(done.returncode, 1, done.stderr)
        found = set(done.stderr.split("\n"))
        self.assertLessEqual({"HDF5_ROOT=/opt/hdf5", "MPI_HOME=/opt/mpi",
                              "CMAKE_PREFIX_PATH=/opt/fmt"}, found)
        self.assertNotIn("HDF5_USE_FILE_LOCKING=no", found)


class Arguments(tessera.Case):
    def test_an_unknown_argument_is_named(self):
        done = subprocess.run(["bash", os.path.join(tessera.ROOT, "jobs", "run.sh"), "--instal"],
                              text=True, capture_output=True, cwd=self.folder, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--instal: unknown argument; usage: bash jobs/run.sh", done.stderr)


if __name__ == "__main__":
    tessera.main()
