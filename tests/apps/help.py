"""Help, version and lists."""

import os
import re

import tessera

COMMANDS = ("matmul", "transpose", "stencil", "sort", "locality", "scalability", "forkjoin",
            "memory", "info", "list", "machine", "verify", "study", "report", "compare", "rerun",
            "export", "doctor", "slurm", "help")


class Help(tessera.Case):
    def test_examples_come_last(self):
        for words in (("--help",), ("-h",), ("help",), (),
                      *((command, how) for command in COMMANDS for how in ("-h", "--help"))):
            result = self.succeed(*words)
            lines = result.out.splitlines()
            self.assertTrue(lines[2].startswith("Usage: tessera"), str(result))
            self.assertIn("\nExamples:\n  ", result.out)
            self.assertNotIn("\n\n", result.out.split("\nExamples:\n")[1], str(result))
            self.assertEqual(result.err, "")

    def test_lines_fit_80_columns(self):
        for command in COMMANDS:
            for how in ("-h", "--help"):
                for line in self.succeed(command, how).out.splitlines():
                    self.assertLessEqual(len(line), 80, f"{command} {how}")
        for line in self.succeed("--help").out.splitlines():
            self.assertLessEqual(len(line), 80)

    def test_an_option_has_a_summary_of_one_line(self):
        """The first sentence fits behind the name, begins with a verb, and is no riddle."""
        page = self.succeed("help", "--format", "zsh").out
        for command in COMMANDS:
            text = page.split(f"    {command})\n")[1].split(";;")[0]
            for name, about in re.findall(r"'--([\w-]+)=?\[((?:\\.|[^]\\])*)\]", text):
                about = about.replace("\\", "")
                with self.subTest(command=command, option=name):
                    self.assertLessEqual(len(about), 53)
                    self.assertRegex(about, r"^[A-Z][a-z]+ ")
                    self.assertNotRegex(about, r"^(What|Which|Where|How|Whether|Only|That|Of) ")
                    self.assertFalse(about.endswith("."), about)
                    self.assertNotRegex(about, r"so many|stands|nobody|beside|told")

    def test_general_help_names_every_command(self):
        out = self.succeed("--help").out
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", out)

    def test_the_examples_are_right(self):
        """The options parse every example of the help."""
        for command in ("matmul", "list", "machine", "verify", "report"):
            for line in self.succeed(command, "--help").out.split("\nExamples:\n")[1].splitlines():
                words = line.split("#")[0].split()
                words = words[words.index("tessera") + 1:]
                with self.subTest(line=line):
                    result = self.run_tessera(*words[:1], *words[1:],
                                              *(["--plan"] if words[0] == "matmul" else []))
                    self.assertNotEqual(result.code, tessera.USAGE, str(result))

    def test_help_of_a_command(self):
        self.assertEqual(self.succeed("help", "sort").out, self.succeed("sort", "--help").out)
        self.assertEqual(self.succeed("help").out, self.succeed("--help").out)
        self.fail_with(tessera.USAGE, "help", "srot", words="sort")

    def test_help_of_a_topic(self):
        topics = re.search(r"(?s)explains (.*?)\.\n", self.succeed("--help").out)[1]
        topics = re.split(r",\s+", topics)
        self.assertIn("exit-codes", topics)
        for topic in topics:
            text = self.succeed("help", topic).out
            lines = text.splitlines()
            self.assertLessEqual(len(lines), 40, text)
            self.assertLessEqual(max(map(len, lines)), 80, text)
            page = lines[-1].split("/")[-1]
            self.assertTrue(os.path.exists(os.path.join(tessera.ROOT, "apps/manual", page)), text)
        self.assertIn("\n   76  ", self.succeed("help", "exit-codes").out)

    def test_exit_codes_are_those_of_the_program(self):
        with open(os.path.join(tessera.ROOT, "src/base/error.hpp")) as file:
            declared = re.search(r"(?s)enum class ExitCode.*?};", file.read())[0]
        codes = re.findall(r"= (\d+),", declared)
        out = self.succeed("help", "exit-codes").out
        for code in codes:
            self.assertRegex(out, rf"(?m)^ +{code}  \w")

    def test_short_help_fits_a_screen_and_leads_to_the_rest(self):
        for command in ("matmul", "transpose", "stencil", "sort"):
            brief = self.succeed(command, "-h").out
            self.assertEqual(len(re.findall(r"^  --", brief, re.M)), 10, brief)
            most = brief.split("Most used:\n")[1].split("\n\n")[0]
            self.assertEqual(len(most.splitlines()), 10, brief)
            whole = self.succeed(command, "--help").out
            self.assertEqual(whole, self.succeed(command, "--help", "all").out)
            names = re.findall(r"^  (--[a-z][\w-]*)", whole, re.M)
            self.assertEqual(len(names), len(set(names)), "an option occurs twice")
            self.assertIn(f"lists all {len(names)} options", " ".join(brief.split()))
            group = self.succeed(command, "--help", "measuring").out
            self.assertIn("\n  --warmups", group)
            self.assertNotIn("\n  --out", group)
        self.fail_with(tessera.USAGE, "sort", "--help", "nothing", words="Measuring")

    def test_help_promises_what_the_command_has(self):
        """Help mentions lists and files of options only if there are some."""
        self.assertNotIn("--config", self.succeed("verify", "--help").out)
        self.assertNotIn("[list]", self.succeed("verify", "--help").out)
        self.assertIn("--config", self.succeed("sort", "--help").out)
        self.assertIn("85", self.succeed("--help").out)

    def test_version(self):
        with open(os.path.join(tessera.ROOT, "src/base/version.hpp")) as file:
            version = ".".join(re.findall(r"^#define TESSERA_VERSION_\w+ (\d+)$", file.read(),
                                          re.MULTILINE))
        lines = self.succeed("--version").out.splitlines()
        self.assertEqual(lines[0], f"tessera {version}")
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["commit", "compiler", "MPI", "HDF5", "SIMD", "CUDA", "BLAS"])
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("avx2 selected",
                      self.succeed("--version", environment={"TESSERA_ISA": "avx2"}).out)

    def test_list(self):
        out = self.succeed("list").out
        for name in ("naive", "transposed", "tiled", "transposed_tiled", "column", "zigzag",
                     "cache_oblivious", "recursive",
                     "summa"):
            self.assertIn(f" {name} ", out)

    def test_many_ranks_speak_once(self):
        for words in (("list",), ("--help",), ("--version",), ("matmul", "--help")):
            self.assertEqual(self.succeed(*words, ranks=3).out, self.succeed(*words).out)


if __name__ == "__main__":
    tessera.main()
