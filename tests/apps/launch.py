"""jobs/launch.sh: the command line for every launcher, with substitutes for the launchers."""

import os
import subprocess

import tessera

SCRIPT = os.path.join(tessera.ROOT, "jobs", "launch.sh")
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.18"


class Launch(tessera.Case):
    def write_launcher(self, name, version):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho '{version}' $SLURM_MPI_TYPE\n")
        os.chmod(path, 0o755)
        return path

    def words(self, launcher):
        return subprocess.run(["bash", SCRIPT, "--words", "1", "1"], check=True, text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "TESSERA_LAUNCHER": launcher}).stdout.split()

    def test_binding_is_asked_for_in_the_words_of_each(self):
        for version, option in (("mpirun (Open MPI) 5.0.7", "--bind-to"),
                                ("HYDRA build details:", "-bind-to"), (INTEL, "I_MPI_PIN_DOMAIN")):
            launcher = self.write_launcher("mpirun", version)
            words = self.words(launcher)
            self.assertEqual(words[:3], [launcher, "-n", "1"])
            self.assertIn(option, words)

    def test_intels_script_is_passed_over(self):
        """Its mpirun would keep the signal that stops a job in time from the ranks."""
        mpirun = self.write_launcher("mpirun", INTEL)
        hydra = self.write_launcher("mpiexec.hydra", INTEL)
        self.assertEqual(self.words(mpirun)[0], hydra)

    def test_proxies_of_hydra_need_no_pmix_of_slurm(self):
        for version, type_ in (("HYDRA build details:", " none"), ("mpirun (Open MPI) 4.1.4", "")):
            launcher = self.write_launcher("mpirun", version)
            done = subprocess.run(["bash", SCRIPT, "1", "1", "true"], check=True, text=True,
                                  stdout=subprocess.PIPE,
                                  env={**os.environ, "TESSERA_LAUNCHER": launcher,
                                       "SLURM_JOB_ID": "7"})
            self.assertEqual(done.stdout.splitlines()[-1], version + type_)


if __name__ == "__main__":
    tessera.main()
