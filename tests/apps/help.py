"""Help, version and lists."""

import os

import tessera

COMMANDS = ("matmul", "list", "machine", "verify", "report")


class Help(tessera.Case):
    def test_examples_come_first(self):
        for words in (("--help",), ("-h",), ("help",), (),
                      *((command, "--help") for command in COMMANDS)):
            result = self.succeed(*words)
            lines = result.out.splitlines()
            self.assertEqual(lines[2], "Examples:", str(result))
            self.assertIn("tessera", lines[3], str(result))
            self.assertEqual(result.err, "")
            self.assertLessEqual(max(map(len, lines)), 200, str(result))

    def test_general_help_names_every_command(self):
        out = self.succeed("--help").out
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", out)

    def test_the_examples_are_right(self):
        """The options parse every example of the help."""
        for command in COMMANDS:
            for line in self.succeed(command, "--help").out.split("\n\n")[1].splitlines()[1:]:
                words = line.split("#")[0].split()
                words = words[words.index("tessera") + 1:]
                with self.subTest(line=line):
                    result = self.run_tessera(*words[:1], *words[1:],
                                              *(["--plan"] if words[0] == "matmul" else []))
                    self.assertNotEqual(result.code, tessera.USAGE, str(result))

    def test_help_of_a_command(self):
        self.assertEqual(self.succeed("help", "sort").out, self.succeed("sort", "--help").out)

    def test_short_help_fits_a_screen_and_leads_to_the_rest(self):
        for command in ("matmul", "transpose", "stencil", "sort"):
            brief = self.succeed(command, "-h").out
            lines = brief.split("Most used:")[1].splitlines()
            self.assertLessEqual(max(map(len, lines)), 80, brief)
            self.assertEqual(sum(line.startswith("  --") for line in lines), 10, brief)
            whole = self.succeed(command, "--help").out
            self.assertEqual(whole, self.succeed(command, "--help", "all").out)
            names = [line.split()[0] for line in whole.splitlines() if line.startswith("  --")]
            self.assertEqual(len(names), len(set(names)), "an option stands twice")
            self.assertIn(f"lists all {len(names)} options", brief)
            group = self.succeed(command, "--help", "measuring").out
            self.assertEqual(group, self.succeed("help", command, "Measuring").out)
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
        with open(os.path.join(tessera.ROOT, "CMakeLists.txt")) as file:
            version = file.read().split("VERSION ")[2].split()[0]
        self.assertEqual(self.succeed("--version").out, f"tessera {version}\n")

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
