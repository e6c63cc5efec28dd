"""tessera doctor: creates problems, checks that they are found, and applies the fixes."""

import os
import re
import shutil
import stat
import subprocess

import tessera
from tessera import OK, USAGE


def hurts(result):
    return [line for line in result.out.splitlines() if line.startswith("problem")]


class Doctor(tessera.Case):
    def setUp(self):
        super().setUp()
        self.root = self.machine("quiet")

    def machine(self, name, **files):
        """Returns a substitute for /proc, /sys and /dev of a machine without problems, with these
        files added."""
        root = self.path(name)
        for path, text in {"proc/loadavg": "0.00 0.00 0.00 1/1 1", "proc/self/cgroup": "0::/",
                           **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        os.makedirs(os.path.join(root, "dev/shm"), exist_ok=True)
        return root

    def doctor(self, *words, root=None, environment=None, program=None):
        """Runs the doctor; checks that every problem has a fix below it."""
        result = self.run_tessera("doctor", "--root", root or self.root, *words, program=program,
                                  environment={"OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                                               **(environment or {})})
        self.assertIn(result.code, (0, 1), str(result))
        lines = result.out.splitlines()
        for line, after in zip(lines, lines[1:]):
            if line.startswith("problem"):
                self.assertRegex(after, "^ +fix: .", str(result))
        self.assertEqual(result.code, 1 if hurts(result) else 0, str(result))
        return result

    def baseline(self):
        return set(hurts(self.doctor()))

    def assert_hurts(self, words, cure, *arguments, **how):
        """Expects that the situation adds one problem with all the words, and its fix."""
        before = self.baseline()
        result = self.doctor(*arguments, **how)
        fresh = [line for line in hurts(result) if line not in before]
        self.assertEqual(len(fresh), 1, str(result))
        for word in (words,) if isinstance(words, str) else words:
            self.assertIn(word, fresh[0])
        lines = result.out.splitlines()
        self.assertIn(cure, lines[lines.index(fresh[0]) + 1])
        return result

    def cores(self):
        return int(
            subprocess.run([tessera.PROGRAM, "machine", "--show"], capture_output=True, text=True,
                           check=True, env={**os.environ, **tessera.MPI_ENVIRONMENT}).stdout.split(
                               " "
                               "cores")[0].split()[-1])

    # --- OpenMP, ranks, launcher ---

    def test_findings_fit_eighty_columns(self):
        """Sentences break below their beginning; a path or a setting stays whole."""
        for words in ((), ("--ranks", 8 * self.cores()), ("--ranks", 1, "--threads", 1)):
            lines = self.run_tessera("doctor", "--root", self.root, *words,
                                     environment={"COLUMNS": None}).out.splitlines()
            for line in lines:
                if len(line) > 80:
                    self.assertEqual(len(line[21:].split()), 1, line)
            broken = [line for line in lines if line.startswith(" " * 22)]
            self.assertTrue(broken, lines)
            self.assertFalse([line for line in broken if line[22] == " "], broken)

    def test_more_threads_than_cores(self):
        self.assert_hurts(("OMP_NUM_THREADS=4096", "threads share cores"),
                          f"OMP_NUM_THREADS={self.cores()}",
                          environment={"OMP_NUM_THREADS": "4096"})

    def test_threads_that_share_the_one_core_of_a_rank(self):
        if self.cores() < 2 or not shutil.which("taskset"):
            self.skipTest("needs two cores and taskset")
        script = self.path("bound")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec taskset -c {min(os.sched_getaffinity(0))} "
                       f"{tessera.PROGRAM} \"$@\"\n")
        os.chmod(script, stat.S_IRWXU)
        self.assert_hurts("OMP_NUM_THREADS=2 on 1 core", f"mpirun {self.launch_options(1, 2)}",
                          program=script,
                          environment={"OMP_NUM_THREADS": "2"})

    def test_openmp_variables_that_say_nothing_good(self):
        self.assert_hurts("OMP_NUM_THREADS=many is not a number", "export OMP_NUM_THREADS=",
                          environment={"OMP_NUM_THREADS": "many"})
        self.assert_hurts("OMP_STACKSIZE=64K", "OMP_STACKSIZE=8M",
                          environment={"OMP_STACKSIZE": "64K"})
        self.assert_hurts("OMP_STACKSIZE=100", "unset", environment={"OMP_STACKSIZE": "100"})  # KiB
        self.doctor(environment={"OMP_STACKSIZE": "nonsense"})
        self.assert_hurts("OMP_THREAD_LIMIT=0", "unset OMP_THREAD_LIMIT",
                          environment={"OMP_THREAD_LIMIT": "0"})
        self.assertIn("note    OpenMP", self.doctor(environment={"OMP_DYNAMIC": "true"}).out)

    def test_ranks_and_threads_of_a_planned_job(self):
        cores = self.cores()
        self.assert_hurts("threads share cores",
                          f"{self.launch_options(8 * cores, 1)}, or at most", "--ranks", 8 * cores)
        self.assert_hurts("threads share cores", self.launch_options(cores, 1), "--ranks", cores,
                          "--threads", 3)
        self.assertIn("fine    binding", self.doctor("--ranks", cores, "--threads", 1).out)

    def test_refusals_of_open_mpi(self):
        if tessera.mpi_family() != "Open MPI":
            self.skipTest("the mpirun of another MPI library refuses nothing")
        cores = self.cores()
        self.assert_hurts("not enough slots", self.launch_options(8 * cores, 1), "--ranks",
                          8 * cores,
                          environment={"OMPI_MCA_rmaps_base_oversubscribe": "",
                                       "PRTE_MCA_rmaps_default_mapping_policy": ""})
        self.assert_hurts("binding more processes than cpus", self.launch_options(cores, 1),
                          "--ranks", cores, "--threads", 3)
        if cores >= 2:
            self.assert_hurts("by default, mpirun binds each rank to one core",
                              self.launch_options(1, cores), "--ranks", 1, "--threads", cores,
                              environment={"OMPI_MCA_hwloc_base_binding_policy": "",
                                           "PRTE_MCA_hwloc_default_binding_policy": ""})

    def launch_words(self, ranks, threads, launcher="mpirun"):
        script = os.path.join(tessera.ROOT, "jobs", "launch.sh")
        return subprocess.run(["bash", script, "--words", str(ranks), str(threads)], check=True,
                              text=True, stdout=subprocess.PIPE,
                              env={**os.environ, "TESSERA_LAUNCHER": launcher}).stdout.strip()

    def launch_options(self, ranks, threads, launcher="mpirun"):
        return self.launch_words(ranks, threads, launcher).removeprefix(f"{launcher} -n {ranks} ")

    def test_launch_lines_are_those_of_jobs(self):
        self.assertIn(self.launch_words(1, 1), self.doctor("--ranks", 1, "--threads", 1).out)
        crowd = 8 * self.cores()
        self.assertIn(f"fix: {self.launch_words(crowd, 1)}, or at most",
                      self.doctor("--ranks", crowd, "--threads", 1).out)

    def test_options_of_every_library_are_those_of_jobs(self):
        with open(os.path.join(tessera.ROOT, "apps", "tools", "doctor_mpi.cpp"),
                  encoding="utf-8") as file:
            source = file.read()
        for version in ("mpirun (Open MPI) 5.0.7", "HYDRA build details:",
                        "Intel(R) MPI Library for Linux* OS, Version 2021.18"):
            self.fake_mpirun(f"echo '{version}'\n")
            mpirun = self.path("bin/mpirun")
            crowd = 8 * self.cores()
            bound, crowded = (self.launch_options(ranks, 1, mpirun) for ranks in (1, crowd))
            bound = re.sub(r"(PE=|core:|DOMAIN )1", r"\1{}", bound)
            for options in (bound, crowded):
                self.assertIn(f'"{options}"', source, version)

    def fake_mpirun(self, script):
        os.makedirs(self.path("bin"), exist_ok=True)
        with open(self.path("bin/mpirun"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script)
        os.chmod(self.path("bin/mpirun"), 0o755)
        return {"PATH": self.path("bin") + ":" + os.environ["PATH"]}

    def test_an_mpirun_of_another_library(self):
        others = {"Open MPI": "HYDRA build details:"}
        other = others.get(tessera.mpi_family(), "mpirun (Open MPI) 5.0.7")
        self.assert_hurts((f"reports '{other}'", "the only one"), "first in the PATH",
                          environment=self.fake_mpirun(f"echo '{other}'\n"))

    def test_an_mpirun_that_says_nothing_and_stays(self):
        result = self.assert_hurts("reports 'no version'", "PATH",
                                   environment=self.fake_mpirun("exec sleep 1000\n"))
        self.assertLess(result.seconds, 30)

    def test_no_mpirun_at_all(self):
        os.makedirs(self.path("empty"))
        packages = {"Open MPI": "openmpi-bin", "MPICH": "mpich", "Intel(R) MPI": "oneapi"}
        self.assert_hurts("not in the PATH", packages[tessera.mpi_family()],
                          environment={"PATH": self.path("empty")})

    def test_root_without_leave(self):
        if os.geteuid() != 0 or tessera.mpi_family() != "Open MPI":
            self.skipTest("only Open MPI's mpirun refuses root")
        self.assert_hurts("refuses to run as root", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                          environment={"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": ""})

    def test_a_temporary_folder_that_is_too_long_or_not_there(self):
        deep = os.path.join(self.folder, *["deeper" * 3] * 5)
        os.makedirs(deep)
        self.assert_hurts("characters", "export TMPDIR=/tmp", environment={"TMPDIR": deep})
        self.assert_hurts("is not writable", "export TMPDIR=/tmp",
                          environment={"TMPDIR": self.path("gone")})

    def test_slurm_jobs_that_lose_their_cores(self):
        job = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "4", "SLURM_MPI_TYPE": "pmix"}
        self.assert_hurts("ignores sbatch's --cpus-per-task",
                          "SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", environment=job)
        cured = self.doctor(environment={**job, "SRUN_CPUS_PER_TASK": "4"})
        self.assertEqual(set(hurts(cured)), self.baseline())
        self.assertIn("fine    Slurm         job 7", cured.out)
        type_ = "pmix" if tessera.mpi_family() == "Open MPI" else "pmi2"
        words = self.doctor(environment={**job, "SLURM_MPI_TYPE": "none"}).out
        self.assertIn(f"srun --mpi={type_}", words)

    # --- the machine ---

    def test_a_control_group_with_less_time_than_cores(self):
        half = {"sys/fs/cgroup/cpu.max": "50000 100000"}
        result = self.assert_hurts("allows 0.5 of", "export OMP_NUM_THREADS=1",
                                   root=self.machine("v2", **half))
        self.assertIn("ranks x threads = 1", result.out)
        parent = {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "25000 100000",
                  "sys/fs/cgroup/a/b/cpu.max": "max 100000"}
        self.assert_hurts("allows 0.25 of", "docker run --cpus=",
                          root=self.machine("nested", **parent))
        colons = {"proc/self/cgroup": "0::/pods:cri:1",
                  "sys/fs/cgroup/pods:cri:1/cpu.max": "25000 100000"}
        self.assert_hurts("allows 0.25 of", "OMP_NUM_THREADS=1",
                          root=self.machine("colons", **colons))
        first = {"proc/self/cgroup": "4:cpu,cpuacct:/x\n3:memory:/y",
                 "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "75000",
                 "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000"}
        self.assert_hurts("allows 0.75 of", "OMP_NUM_THREADS=1",
                          root=self.machine("v1", **first))
        free = self.doctor(root=self.machine("free", **{"sys/fs/cgroup/cpu.max": "max 100000"}))
        self.assertEqual(set(hurts(free)), self.baseline())

    def test_clocks_that_wander(self):
        name = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
        slow = self.machine("slow", **{name.format(c): "powersave" for c in range(3)})
        self.assert_hurts("powersave on 3 cpus", "cpupower frequency-set -g performance", root=slow)
        steering = self.machine("steering", **{name.format(0): "powersave",
                                               name.format(0).replace("governor",
                                                                      "driver"): "intel_pstate"})
        self.assertIn("note    frequency     governor powersave on 1 cpu",
                      self.doctor(root=steering).out)
        mixed = self.machine("mixed", **{name.format(0): "performance",
                                         name.format(1): "schedutil"})
        self.assertIn("note    frequency     governor performance on 1 cpu, schedutil on 1 cpu",
                      self.doctor(root=mixed).out)
        fast = self.machine("fast", **{name.format(0): "performance"})
        self.assertIn("fine    frequency     governor performance", self.doctor(root=fast).out)

    def test_others_at_work_and_huge_pages_off(self):
        busy = self.machine("busy", **{"proc/loadavg": "900.1 1 1 1/1 1",
                                       "sys/kernel/mm/transparent_hugepage/enabled":
                                       "always madvise [never]"})
        words = self.doctor(root=busy).out
        self.assertIn("note    load          900.1 programs run", words)
        self.assertIn("note    huge pages", words)

    def test_small_limits(self):
        for flag, value, words in (("-n", 256, "open files (ulimit -n): 256"),
                                   ("-s", 512, "stack (ulimit -s): 512 KiB"),
                                   ("-f", 2048, "file size (ulimit -f)"),
                                   ("-v", 3000000, "address space (ulimit -v)")):
            with self.subTest(flag):
                if flag == "-v" and tessera.SANITIZED:
                    self.skipTest("sanitizers need all the address space there is")
                script = self.path("limited")
                with open(script, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/bash\nulimit {flag} {value}\nexec {tessera.PROGRAM} "
                               f"\"$@\"\n")
                os.chmod(script, stat.S_IRWXU)
                self.assert_hurts(words, f"ulimit {flag} ", program=script)

    def mount(self, path, size):
        os.makedirs(path, exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
                              capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("cannot mount a tmpfs here")
        self.addCleanup(subprocess.run, ["umount", path], check=True)

    def test_shared_memory_that_is_small_full_or_missing(self):
        root = self.machine("small")
        self.mount(os.path.join(root, "dev/shm"), "1m")
        self.assert_hurts("too small", "docker run --shm-size=1g", root=root)
        root = self.machine("full")
        self.mount(os.path.join(root, "dev/shm"), "400m")
        subprocess.run(["fallocate", "-l", "399m",
                        os.path.join(root, "dev/shm/vader_segment.left")], check=True)
        self.assert_hurts("full, possibly with files of killed jobs", "vader_segment", root=root)
        root = self.machine("missing")
        os.rmdir(os.path.join(root, "dev/shm"))
        self.assert_hurts("/dev/shm      is missing", "mount -t tmpfs", root=root)

    # --- files and the rest ---

    def test_a_folder_without_room(self):
        self.mount(self.path("tiny"), "2m")
        self.assert_hurts("2 MiB free", "exit code 73", "--at", self.path("tiny"))

    def test_a_folder_without_names_left(self):
        self.mount(self.path("names"), "2g,nr_inodes=50")
        self.assert_hurts("inodes left", "remove files", "--at", self.path("names"))

    def test_a_folder_that_cannot_be_written_or_is_not_there(self):
        result = self.doctor("--at", "/proc")
        self.assertTrue([line for line in hurts(result)
                         if "folder '/proc' is not writable" in line], str(result))
        self.assert_hurts("No such file", "mkdir -p", "--at", self.path("nowhere"))

    def test_a_gpu_that_this_program_cannot_use(self):
        if "GPUs          none" not in self.doctor().out:
            self.skipTest("GPUs are here")
        self.assert_hurts("this program cannot use the GPU", "nvcc",
                          root=self.machine("gpu", **{"dev/nvidia0": ""}))

    def test_variables_that_stand_for_options_are_named(self):
        words = self.doctor(environment={"TESSERA_TILE": "8"}).out
        self.assertIn("TESSERA_TILE=8: sets an option of every command", words)
        self.assertNotIn("TESSERA_ISA", self.doctor(environment={"TESSERA_ISA": "avx2"}).out)

    def test_what_reports_need_is_looked_for(self):
        words = self.doctor(environment={"TESSERA_PYTHON": "/nonexistent/python"}).out
        self.assertIn("note    Python        without h5py", words)

    def test_quiet_shows_only_what_hurts(self):
        result = self.doctor("--quiet", environment={"OMP_NUM_THREADS": "4096"})
        self.assertNotIn("fine ", result.out)
        self.assertNotIn("note ", result.out)

    def test_ranks_of_a_job_say_it_once(self):
        result = self.run_tessera("doctor", "--root", self.root, ranks=2)
        self.assertEqual(result.out.count("fine    machine"), 1, str(result))

    def test_wrong_requests_end_with_64(self):
        self.fail_with(USAGE, "doctor", "--rank", 2, words="did you mean 'ranks'")
        self.assertEqual(self.succeed("doctor", "--help").code, OK)



if __name__ == "__main__":
    tessera.main()
