"""Job scripts from plans: `tessera slurm` and the scripts of jobs/."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import machine_file
import tessera
from tessera import h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)


class Scripts(tessera.Case):
    def setUp(self):
        super().setUp()
        self.tools = tempfile.mkdtemp(prefix="tessera-tools-")
        self.addCleanup(shutil.rmtree, self.tools)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{self.tools}:{path}"
        self.nodes("exit 1")  # no cluster of this machine

    def nodes(self, script):
        """Replaces sinfo by a script."""
        with open(os.path.join(self.tools, "sinfo"), "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(file.name, 0o755)

    def script(self, *words):
        return self.succeed("slurm", *words).out

    def test_the_script_holds_the_resources_and_one_launch_line(self):
        text = self.script("matmul", "--n", "64,128", "--nodes", 2, "--gpus", 4, "--cpus-per-task",
                           2, "--time", "1:00:00",
                           "--partition", "gpu", "--results", "my file.h5")
        for line in ("--nodes=2", "--ntasks-per-node=4", "--cpus-per-task=2", "--gpus-per-node=4",
                     "--time=1:00:00",
                     "--partition=gpu", "--signal=B:USR1@120", "--requeue"):
            self.assertIn(f"#SBATCH {line}\n", text)
        self.assertIn("# 2 points on 8 ranks x 2 threads", text)
        self.assertIn("export TESSERA_DEVICE=${TESSERA_DEVICE:-gpu}\n", text)
        self.assertTrue(text.splitlines()[-1].endswith("matmul --n 64,128 --results 'my file.h5' "
                                                       "--resume auto"), text)

    def test_no_word_of_a_user_becomes_a_line_of_the_script(self):
        text = self.script("sort", "--time", 5, "--out", "a\ntouch oops\n'b$(c)'.h5:/x", "--in",
                           self.events())
        self.assertFalse([line for line in text.splitlines()[:-3] if line.startswith("touch")],
                         text)
        with open(self.path("job.sh"), "w") as file:
            file.write("tessera_job() { printf '%s|' \"$@\"; }\n"
                       + text[text.index("tessera_job"):])
        done = subprocess.run(["bash", "job.sh"], cwd=self.folder, capture_output=True, text=True)
        self.assertIn("|--out|a\ntouch oops\n'b$(c)'.h5:/x|", done.stdout, text)

    def events(self):
        with h5py.File(self.path("t.h5"), "w") as file:
            file["keys"] = numpy.arange(10)
        return "t.h5:/keys"

    def measured(self, rates=("fma_f64", "copy")):
        """Returns the environment with a machine of 1 GFLOP/s and 1 GB/s."""
        return machine_file.write(self.path("m.toml"), dict.fromkeys(rates, 1))

    def test_the_plan_counts_the_repetitions_as_the_script_does(self):
        environment = self.measured()
        for words in (("matmul", "--n", 1000), ("transpose", "--n", 10000),
                      ("sort", "--n", 10**8), ("stencil", "--shape", "8000x8000", "--steps", 9)):
            with self.subTest(words=words):
                words = (*words, "--threads", 1, "--repetitions", 9, "--warmups", 2)
                plan = self.succeed(*words, "--plan", environment=environment).out
                script = self.succeed("slurm", *words, "--tasks-per-node", 1, "--cpus-per-task", 1,
                                      environment=environment).out
                self.assertIn("11 times, 2 of them to warm up\n", plan)
                told = re.search("predicted time of the run: ([^ ]+) s", plan)[1]
                asked = re.search("predicted ([^ ]+) s on nodes like", script)[1]
                # The starts of the two commands differ.
                self.assertLess(abs(float(told) - float(asked)), 0.1 * float(told) + 2)

    def test_a_plan_of_a_job_that_runs_once_counts_once(self):
        plan = self.succeed("matmul", "--n", 1000, "--out", "c.h5:/C", "--plan",
                            environment=self.measured()).out
        self.assertNotIn("times", plan)

    RATES = ("fma_f64", "copy", "touch", "generate", "hash", "sort", "encode", "decode",
             "file_write", "file_read")

    def phases(self, *words):
        """Returns the planned seconds by phase on a machine of 1 GFLOP/s and 1 GB/s."""
        out = self.succeed(*words, "--threads", 1, "--plan", "--json",
                           environment=self.measured(self.RATES)).out
        plan = json.loads(out)["plans"][0]
        self.assertEqual(plan["unknown"], [])
        self.assertAlmostEqual(plan["seconds"], sum(plan["phases"].values()))
        return plan["phases"]

    def expect(self, got, **seconds):
        for phase, value in seconds.items():
            self.assertLess(abs(got.get(phase.replace("_", "-"), 0) - value), 0.06 * value + 2e-3,
                            (phase, got))

    def test_the_plan_counts_what_a_run_does_once(self):
        once = self.phases("matmul", "--n", 2000, "--out", "c.h5:/C")
        self.expect(once, read=0.064, repetitions=16, warm_up=0, verify=0.096, write=0.032)
        many = self.phases("matmul", "--n", 2000, "--repetitions", 3, "--warmups", 2)
        self.expect(many, read=0.064, repetitions=48, warm_up=32, write=0)
        turned = self.phases("transpose", "--n", 4000, "--out", "t.h5:/T", "--compress", "gzip:4")
        self.expect(turned, allocate=0.256, read=0.128, repetitions=0.256, verify=0.256,
                    write=0.256)
        self.expect(self.phases("transpose", "--n", 4000, "--no-verify"), verify=0, warm_up=0.256)
        field = self.phases("stencil", "--shape", "2000x2000", "--steps", 4, "--repetitions", 4,
                            "--warmups", 0)
        self.expect(field, read=0.032, prepare=0.096)
        keys = self.phases("sort", "--n", 10**7, "--out", "k.h5:/k")
        self.expect(keys, read=0.08, prepare=0, verify=0.16, write=0.08)

    def test_the_plan_counts_files(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"] = numpy.zeros((1500, 2000))
            file.create_dataset("Z", data=numpy.zeros((1500, 2000)), chunks=(100, 100),
                                compression="gzip")
        words = ("--out", "t.h5:/T", "--no-verify")
        self.expect(self.phases("transpose", "--in", "in.h5:/A", *words), read=0.024, write=0.024)
        self.expect(self.phases("transpose", "--in", "in.h5:/Z", *words), read=0.048)
        self.expect(self.phases("transpose", "--in", "in.h5:/A", *words, "--out-of-core", "always",
                                "--memory", "8MiB"), read=0.024, write=0.024)

    def test_a_plan_names_the_phases_whose_rates_are_unknown(self):
        out = self.succeed("transpose", "--n", 1000, "--plan", environment=self.measured()).out
        self.assertIn("\nwithout allocate, read, verify, whose rates are unknown: run `tessera "
                      "machine` once\n", out)

    def test_every_long_phase_of_a_run_is_in_its_plan(self):
        """Whatever takes 5 % of a run, by its own account."""
        once = {"plan", "results", "close", "look at inputs", "open input", "open results",
                "create output"}
        named = {**dict.fromkeys(once, "start"), "publish": "write"}
        work = {"compute", "exchange", "sort", "split", "merge", "waiting", "in flight"}
        for words in (("matmul", "--n", 700), ("transpose", "--n", 2000),
                      ("stencil", "--shape", "1000x1000", "--steps", 20), ("sort", "--n", 10**6)):
            for more in (("--out", f"{words[0]}.h5:/x"), ("--repetitions", 3)):
                with self.subTest(words=(*words, *more)):
                    planned = self.phases(*words, *more)
                    out = self.succeed(*words, *more, "--threads", 1).out
                    took = re.search(r"^time: (\S+) (m?s): (.*)", out, re.MULTILINE)
                    unit = {"ms": 1e-3, "s": 1}
                    total = float(took[1]) * unit[took[2]]
                    for phase, value, of in re.findall(r"([a-z ]+?) ([0-9.]+) (m?s)", took[3]):
                        phase = phase.strip()
                        if float(value) * unit[of] > 0.05 * total:
                            name = "repetitions" if phase in work else named.get(phase, phase)
                            self.assertIn(name, planned, out)

    def test_memory_and_time_come_from_the_plan(self):
        measured = self.measured()
        text = self.succeed("slurm", "matmul", "--n", 4096, "--tasks-per-node", 1,
                            "--cpus-per-task", 1, *QUICK,
                            environment=measured).out
        # 137 GFLOP at 1 GFLOP/s, times three, plus ten minutes
        self.assertIn("#SBATCH --time=0:17:00\n", text)
        mebibytes = int(re.search(r"--mem=(\d+)M", text)[1])
        self.assertGreater(mebibytes, 3 * 128)
        self.assertLess(mebibytes, 2000)
        larger = self.script("sort", "--n", 10**9, "--nodes", 2, "--tasks-per-node", 2, "--time", 5)
        # two ranks per node, with twice a quarter of the keys each, or 1.13 times that in rounds
        mebibytes = int(re.search(r"--mem=(\d+)M", larger)[1])
        self.assertGreater(mebibytes, 7700)
        self.assertLess(mebibytes, 12000)
        self.script("sort", "--n", 10**9, "--nodes", 2, "--tasks-per-node", 2, "--time", 5,
                    "--mem", "6000M")
        self.fail_with(tessera.USAGE, "slurm", "sort", "--n", 10**9, "--nodes", 2,
                       "--tasks-per-node", 2, "--time", 5, "--mem", "4000M", words="--mem gives")
        self.fail_with(tessera.USAGE, "slurm", "matmul", "--n", 10,
                       words=("not measured", "--time"),
                       environment={"TESSERA_MACHINE_FILE": self.path("none.toml")})

    # Two large nodes and a small one; a partition of others that is not asked for.
    MIXED = """case "$*" in
*--partition=fat*) echo 'fat|2|2|16|128000' ;;
*) echo 'debug*|2|2|8|64000'; echo 'fat|2|2|16|128000'; echo 'debug*|1|1|4|3000' ;;
esac"""

    def test_the_smallest_node_of_the_partition_counts(self):
        self.nodes(self.MIXED)
        text = self.script("matmul", "--n", 64, "--time", 5, "--tasks-per-node", 1)
        self.assertIn("#SBATCH --cpus-per-task=4\n", text)
        self.assertIn("# the partition has 1 node of 4 cores and 3000 MiB, 2 nodes of 16 cores and "
                      "64000 MiB: 3 suffice for 4 cores and ", text)
        self.assertIn("#SBATCH --cpus-per-task=2\n",
                      self.script("matmul", "--n", 64, "--time", 5, "--tasks-per-node", 2))
        fat = self.script("matmul", "--n", 64, "--time", 5, "--tasks-per-node", 1, "--partition",
                          "fat")
        self.assertIn("#SBATCH --cpus-per-task=32\n", fat)
        self.assertNotIn("the partition has", fat)  # its nodes are alike

    def test_nodes_that_do_not_suffice_are_named(self):
        self.nodes(self.MIXED)
        words = ("slurm", "matmul", "--n", 20000, "--time", 5, "--tasks-per-node", 1)
        result = self.succeed(*words, "--nodes", 2)
        self.assertIn(": 2 suffice for 4 cores and ", result.out)
        self.assertEqual(result.err, "")
        result = self.succeed(*words, "--cpus-per-task", 8, "--nodes", 3)
        self.assertIn("note: the partition has 1 node of 4 cores and 3000 MiB, 2 nodes of 16 cores "
                      "and 64000 MiB: 2 suffice for 8 cores and ", result.err)
        self.assertIn("sbatch rejects --nodes 3", result.err)
        self.nodes("echo 'debug*|4|1|2|1000'")
        result = self.succeed(*words)
        self.assertIn("note: the partition has 4 nodes of 2 cores and 1000 MiB: 0 suffice for 2 "
                      "cores and ", result.err)

    def test_sorts_take_less_memory_on_small_nodes(self):
        words = ("sort", "--n", 10**9, "--time", 5, "--nodes", 2, "--tasks-per-node", 1)
        for mebibytes, asked in ((64000, range(8000, 12001)), (7000, (7000,))):
            self.nodes(f"echo 'debug*|2|1|2|{mebibytes}'")
            text = self.script(*words)
            self.assertIn(int(re.search(r"--mem=(\d+)M", text)[1]), asked)
            self.assertNotIn("0 suffice", text)

    def test_without_an_answer_of_sinfo_this_machine_counts(self):
        words = ("matmul", "--n", 64, "--time", 5, "--tasks-per-node", 1)
        here = self.script(*words)
        for answer in ("echo slurm_load_partitions: Unable to contact slurm controller; exit 1",
                       "echo 'debug*|few|1|2|1000'", "echo 'debug*|0|1|2|1000'", "echo '||||'",
                       "echo 'other|4|1|2|1000'", "kill -9 $$"):
            with self.subTest(answer=answer):
                self.nodes(answer)
                self.assertEqual(self.script(*words), here)

    def test_no_script_is_replaced_silently(self):
        write = ("slurm", "sort", "--time", 5, "--script", "s.sbatch")
        self.assertEqual(self.succeed(*write, "--n", 10).out, "written: s.sbatch\n")
        self.succeed(*write, "--n", 10)  # equal
        self.fail_with(tessera.CANNOT_CREATE, *write, "--n", 20, words=("s.sbatch", "--overwrite"))
        with open(self.path("s.sbatch")) as file:
            self.assertIn("--n 10", file.read())
        self.succeed(*write, "--n", 20, "--overwrite")
        with open(self.path("s.sbatch")) as file:
            self.assertIn("--n 20", file.read())
        for own in ("#!/bin/bash\necho mine\n", "mine", ""):
            with open(self.path("own.sh"), "w") as file:
                file.write(own)
            self.fail_with(tessera.CANNOT_CREATE, "slurm", "sort", "--time", 5, "--script",
                           "own.sh", "--overwrite", words="own.sh")
            with open(self.path("own.sh")) as file:
                self.assertEqual(file.read(), own)

    def site(self, text):
        """Writes a site file where the program looks for it; returns the environment."""
        os.makedirs(self.path("config/tessera"), exist_ok=True)
        with open(self.path("config/tessera/site.toml"), "w") as file:
            file.write(text)
        return {"XDG_CONFIG_HOME": self.path("config"), "TESSERA_SITE": None}

    SITE = """partition = "long"
account = 'physics'
modules = "gcc/12 openmpi/4.1"  # as the program was built
sbatch = "--mail-type=END --exclusive"
gpu-option = "--gres=gpu:a100:N"
prologue = "before.sh"
"""

    def test_a_site_is_described_once(self):
        environment = self.site(self.SITE)
        with open(self.path("config/tessera/before.sh"), "w") as file:
            file.write("ulimit -l unlimited")
        lines = self.succeed("slurm", "matmul", "--n", 64, "--time", 5, "--gpus", 2,
                             environment=environment).out.splitlines()
        for line in ("--partition=long", "--account=physics", "--mail-type=END --exclusive",
                     "--gres=gpu:a100:2"):
            self.assertIn(f"#SBATCH {line}", lines)
        self.assertFalse([line for line in lines if "gpus-per-node" in line])
        at = lines.index("module load gcc/12 openmpi/4.1")
        self.assertEqual(lines[at + 1:at + 3], ["ulimit -l unlimited", "set -euo pipefail"])
        self.assertTrue(lines[at - 1].startswith("#SBATCH "), lines)

    def test_flags_and_variables_come_before_the_site_file(self):
        environment = self.site(self.SITE.replace('prologue = "before.sh"\n', ""))
        text = self.succeed("slurm", "matmul", "--n", 64, "--time", 5, "--partition", "short",
                            environment={**environment, "TESSERA_ACCOUNT": "chemistry"}).out
        self.assertIn("--partition=short\n", text)
        self.assertIn("--account=chemistry\n", text)
        with open(self.path("other.toml"), "w") as file:
            file.write('partition = "other"\n')
        for words, named in ((("--site", "other.toml"), {}), ((), {"TESSERA_SITE": "other.toml"})):
            text = self.succeed("slurm", "matmul", "--n", 64, "--time", 5, *words,
                                environment={**environment, **named}).out
            self.assertIn("--partition=other\n", text)
            self.assertNotIn("physics", text)

    def test_wrong_sites_are_refused(self):
        words = ("slurm", "matmul", "--n", 64, "--time", 5)
        for text, said in (('partitoin = "a"\n', ("site.toml:1:1", "partition")),
                           ("partition = \n", "site.toml:1"),
                           ('modules = "a; rm -r x"\n', "--modules"),
                           ('partition = """a\nb"""\n', "spans lines"),
                           ('gpu-option = "--gres"\n', "--gpu-option")):
            self.fail_with(tessera.USAGE, *words, words=said, environment=self.site(text))
        self.fail_with(tessera.MISSING, *words, words="none.toml",
                       environment={"TESSERA_SITE": "none.toml"})
        self.fail_with(tessera.MISSING, *words, words="before.sh",
                       environment=self.site('prologue = "before.sh"\n'))

    def test_batch_scripts_read_the_site_file(self):
        """With the functions of jobs/env.sh, and stand-ins for module and sbatch."""
        environment = {**os.environ, **self.site(self.SITE)}
        del environment["TESSERA_SITE"]
        with open(self.path("config/tessera/before.sh"), "w") as file:
            file.write('echo "prologue $UNSET"; false\n')
        script = (f". {tessera.ROOT}/jobs/env.sh; module() {{ echo \"module $*\"; }}; "
                  "sbatch() { printf '%s\\n' \"$@\"; }; set -euo pipefail; "
                  "tessera_site; echo after; tessera_sbatch --nodes 2 'my script'")
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True,
                              text=True)
        self.assertEqual(done.stdout.splitlines(),
                         ["module load gcc/12 openmpi/4.1", "prologue ", "after",
                          "--partition=long", "--account=physics", "--mail-type=END",
                          "--exclusive", "--nodes", "2", "my script"], done.stderr)
        environment["XDG_CONFIG_HOME"] = "/nonexistent"
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True,
                              text=True)
        self.assertEqual(done.stdout.splitlines(), ["after", "--nodes", "2", "my script"],
                         done.stderr)

    def test_batch_scripts_request_gpus_as_the_site_does(self):
        """Of the number in the script, whose own form of the request is not submitted."""
        environment = {**os.environ, **self.site('gpu-option = "--gres=gpu:NVL:N"\n')}
        del environment["TESSERA_SITE"]
        command = (f". {tessera.ROOT}/jobs/env.sh; sbatch() {{ grep SBATCH \"$3\"; echo \"$4\"; "
                   "return 3; }; set -euo pipefail; code=0; "
                   f"tessera_sbatch --nodes 2 {tessera.ROOT}/jobs/slurm/SCRIPT.sbatch 'my config' "
                   "|| code=$?; echo $code; ls -A $TMPDIR")
        os.mkdir(self.path("tmp"))
        environment["TMPDIR"] = self.path("tmp")
        for script, lines in (("matmul_gpu", ["#SBATCH --gres=gpu:NVL:1"]), ("matmul", [])):
            done = subprocess.run(["bash", "-c", command.replace("SCRIPT", script)],
                                  env=environment, capture_output=True, text=True)
            out = done.stdout.splitlines()
            self.assertEqual([line for line in out if "gpu:" in line or "gpus" in line], lines)
            self.assertEqual(out[-2:], ["my config", "3"], done.stderr)

    def test_what_cannot_be_is_refused(self):
        for words, code, said in (
                ((), tessera.USAGE, "workload"), (("nope",), tessera.USAGE, "nope"),
                (("matmul", "--n", "x"), tessera.USAGE, "--n"),
                (("matmul", "--bogus", 1, "--time", 5), tessera.USAGE, "bogus"),
                (("sort", "--time", "soon"), tessera.USAGE, "soon"),
                (("matmul", "--time", 5, "--gpus", 2, "--tasks-per-node", 3), tessera.USAGE,
                 "2 GPUs"),
                (("sort", "--time", 5, "--n", "1e9", "--memory", "1MiB"), tessera.USAGE,
                 "--memory"),
                (("sort", "--time", 5, "--mem", "10MiB"), tessera.USAGE, "--mem"),
                (("sort", "--time", 5, "--array", 5), tessera.USAGE, "--array"),
                (("sort", "--time", 5, "--threads", 64, "--cpus-per-task", 2), tessera.USAGE,
                 "--cpus-per-task"),
                (("sort", "--time", 5, "--ranks", 4), tessera.USAGE, "--nodes"),
                (("sort", "--time", 5, "--again"), tessera.USAGE, "--again"),
                (("sort", "--time", 5, "--job-name", "a b"), tessera.USAGE, "--job-name"),
                (("sort", "--time", 5, "--sbatch=--mem=4G"), tessera.USAGE, "--sbatch"),
                (("sort", "--time", 5, "--sbatch=echo"), tessera.USAGE, "--sbatch"),
                (("sort", "--time", 5, "--sbatch=-x\ntouch"), tessera.USAGE, "--sbatch"),
                (("sort", "--time", 5, "--prologue", "no.sh"), tessera.MISSING, "no.sh"),
                (("matmul", "--time", 5, "--grid", "2x2", "--algorithm", "summa",
                  "--tasks-per-node", 3), tessera.USAGE, "--grid"),
                (("matmul", "--time", 5, "--a", "no.h5:/A", "--b", "no.h5:/B"), tessera.MISSING,
                 "no.h5"),
                (("collect",), tessera.USAGE, "collect"),
                (("collect", "no.h5", "--results", "a.h5"), tessera.MISSING, "no.h5"),
                (("collect", "no.h5"), tessera.USAGE, "--results"),
                (("collect", "no.h5", "--results", "a.h5", "--nodes", 3), tessera.USAGE,
                 "--nodes conflicts with collect")):
            with self.subTest(words=words):
                self.fail_with(code, "slurm", *words, words=said)
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_sbatch_it_is_said(self):
        self.fail_with(tessera.USAGE, "slurm", "sort", "--time", 5, "--submit",
                       words=("sbatch is not in the PATH", "tessera-sort.sbatch"),
                       environment={"PATH": "/nonexistent"})


if __name__ == "__main__":
    tessera.main()
