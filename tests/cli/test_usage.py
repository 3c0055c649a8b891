#!/usr/bin/env python3
"""Options, help, completion, man pages: what comes from the option tables."""

import os
import re
import shutil
import subprocess
import tempfile

from program import COMMANDS, PROGRAM, CliTest, goodput, main


class Usage(CliTest):
    def test_alone(self):
        result = goodput()
        self.assertEqual(result.status, 64)
        for command in COMMANDS:
            self.assertIn(f"  {command}", result.err)

    def test_commands_without_operands_say_what_to_do(self):
        for command in ("check", "record", "query", "completion"):
            result = goodput(command)
            self.failed(result, 64, f"usage: goodput {command}", "--help")

    def test_unknown_command(self):
        self.failed(goodput("chekc"), 64, "did you mean goodput check?")
        self.failed(goodput("localhost:8000"), 64, "goodput check localhost:8000")
        self.failed(goodput("zzzz"), 64, "goodput help")

    def test_unknown_actions(self):
        for command, word, nearest in (("workload", "frezee", "freeze"), ("rules", "chek", "check"), ("store", "stat", "stats"),
                                       ("collect", "foldd", "fold")):
            self.failed(goodput(command, word, "x"), 64, f'{command}: unknown action "{word}"', f"did you mean goodput {command} {nearest}?")
        self.failed(goodput("workload", "melt", "x"), 64, 'unknown action "melt"', "freeze, show, diff", "goodput workload --help")
        self.failed(goodput("bench", "reprot", "x.jsonl"), 64, "did you mean goodput bench report?")

    def test_closed_output(self):
        """goodput ... >&-: no socket takes the number of standard output."""
        for command in (["bench", "127.0.0.1:1", "--no-probe", "-m", "m", "-n", "2", "-q", "--no-scrape"], ["check", "127.0.0.1:1", "-w", "100ms"],
                        ["version"]):
            done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&-', PROGRAM, *command], stderr=subprocess.PIPE, timeout=60, check=False)
            self.assertEqual((done.returncode, b"cannot write the result" in done.stderr), (70, True), (command, done.stderr))

    def test_record_for_no_time(self):
        with tempfile.TemporaryDirectory() as folder:
            result = goodput("record", "--for", "0", "--every", "1h", folder, "127.0.0.1:1")
            self.assertEqual(result.status, 69, result.err)
            self.assertIn("1 scrape in 1 round", result.err)

    def test_unknown_options(self):
        self.failed(goodput("check", "--windwo", "5s", "x:1"), 64, "unknown option --windwo", "--window")
        self.failed(goodput("check", "-Z", "x:1"), 64, "unknown option -Z")
        self.failed(goodput("--jsn", "check"), 64, "--json")

    def test_abbreviations_are_refused(self):
        self.failed(goodput("check", "--mark", "x:1"), 64, "unknown option --mark", "--markdown")

    def test_values(self):
        self.failed(goodput("check", "x:1", "--window"), 64, "needs a value")
        self.failed(goodput("check", "x:1", "--timeout", "soon"), 64, "duration", "soon")
        self.failed(goodput("check", "x:1", "--timeout=0"), 64, "too small")
        self.failed(goodput("check", "x:1", "--color", "pink"), 64, "auto, always, never")
        self.failed(goodput("check", "x:1", "--max-body", "12 parsecs"), 64, "size")
        self.failed(goodput("check", "x:1", "--all=yes"), 64, "takes no value")
        self.failed(goodput("check", "x:1", "--no-window"), 64, "unknown option --no-window")

    def test_forms(self):
        for flags in (("--max-body=64MiB",), ("--max-body", "64MiB"), ("-q", "--no-quiet"), ("-qv",), ("--no-all",), ("-w1s",), ("-w", "1s"), ("--window=1s",)):
            result = goodput("check", "127.0.0.1:1", *flags)
            self.assertEqual(result.status, 3, (flags, result.err))
        self.failed(goodput("check", "--", "--all"), 65, "--all") if os.path.exists("--all") else None
        self.assertEqual(goodput("--json", "version").out[0], "{")
        self.assertEqual(goodput("version", "--json").out[0], "{")

    def test_combinations(self):
        self.failed(goodput("check", "x:1", "--prometheus", "http://127.0.0.1:1"), 64, "--prometheus")
        self.failed(goodput("check", "x:1", "--match", "{a='b'}"), 64, "--match")
        self.failed(goodput("signals", "--promql"), 64, "target")
        self.failed(goodput("signals", "--group", "nosuch"), 64, "latency")
        self.failed(goodput("signals", "ttft_p98"), 64, "did you mean ttft_p9")
        self.failed(goodput("help", "nosuch"), 64, "nosuch")
        self.failed(goodput("completion", "tcsh"), 64, "bash, zsh and fish")

    def test_what_would_be_ignored_is_refused(self):
        for args, word in ((("check", "x:1", "--json", "--markdown"), "not both"), (("check", "x:1", "--window", "5m", "--since", "1h"), "not both"),
                           (("check", "x:1", "--window", "a..b", "--at", "now"), "--at"), (("query", "up", "x:1", "--step", "5s"), "--since"),
                           (("query", "up", "x:1", "--since", "1h", "--window", "5s"), "not both"),
                           (("check", "--prometheus", "http://127.0.0.1:1", "--targets", "fleet.txt"), "live targets"),
                           (("signals", "--promql", "--coverage", "x:1"), "not both"), (("signals", "--coverage", "--group", "latency", "x:1"), "--group"),
                           (("signals", "--coverage", "ttft_p99", "x:1"), "ids"), (("signals", "--group", "latency", "ttft_p99"), "not both"),
                           (("signals", "--promql", "kv-thrash", "x:1"), "is a finding"), (("man", "--json"), "--json"), (("--json", "man"), "no JSON"),
                           (("record", "x", "y:1", "--json"), "--json"), (("check", "x:1", "--timeout", "101y"), "100 years")):
            self.failed(goodput(*args), 64, word)


class Help(CliTest):
    def test_help_of_each_command(self):
        for command in COMMANDS:
            for args in ((command, "--help"), (command, "-h"), ("help", command), ("--help", command)):
                result = goodput(*args)
                self.assertEqual((result.status, result.err), (0, ""), args)
                self.assertIn("Examples:", result.out)
                self.assertLess(result.out.index("Examples:"), result.out.index("Common options:"))
                for line in result.out.splitlines():
                    if not line.startswith("  goodput"):  # a command to copy is one line
                        self.assertLessEqual(len(line), 80, line)

    def test_overview(self):
        for args in (("--help",), ("-h",), ("help",)):
            result = goodput(*args)
            self.assertEqual(result.status, 0)
            self.assertTrue(all(len(line) <= 80 for line in result.out.splitlines()), result.out)

    def test_version(self):
        for args in (("--version",), ("version",), ("check", "--version")):
            result = goodput(*args)
            self.assertEqual((result.status, result.err), (0, ""))
            self.assertRegex(result.out, r"^goodput \d+\.\d+")
            self.assertIn("vLLM", result.out)

    def test_examples_name_known_options(self):
        for command in COMMANDS:
            text = goodput(command, "--help").out
            known = set(re.findall(r"--[a-z][a-z-]*", text[text.index("Common options:"):])) | set(
                re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))
            for line in text.splitlines():
                if line.startswith(f"  goodput {command}"):
                    for option in re.findall(r"--[a-z][a-z-]*", re.split(r" && | \| ", line)[0]):
                        self.assertIn(option.replace("--no-", "--"), known, line)


class Generated(CliTest):
    def test_completion_syntax(self):
        for shell in ("bash", "zsh", "fish"):
            result = goodput("completion", shell)
            self.assertEqual((result.status, result.err), (0, ""))
            if not shutil.which(shell):
                continue
            with tempfile.NamedTemporaryFile("w", suffix=shell) as script:
                script.write(result.out)
                script.flush()
                check = subprocess.run([shell, "-n", script.name], capture_output=True, check=False)
                self.assertEqual((check.returncode, check.stderr), (0, b""), shell)

    def complete(self, *words):
        script = goodput("completion", "bash").out + "\n" + "COMP_WORDS=({}); COMP_CWORD={}; _goodput; printf '%s\\n' \"${{COMPREPLY[@]}}\"".format(
            " ".join(f"'{w}'" for w in words), len(words) - 1)
        return subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout.decode().split()

    def test_completion_in_bash(self):
        self.assertEqual(self.complete("goodput", "che"), ["check"])
        self.assertEqual(self.complete("goodput", "check", "--mark"), ["--markdown"])
        self.assertEqual(self.complete("goodput", "check", "--color", "al"), ["always"])
        self.assertEqual(self.complete("goodput", "completion", "z"), ["zsh"])
        self.assertIn("signals", self.complete("goodput", "help", ""))
        for command, action in (("collect", "mark-dead"), ("store", "verify"), ("workload", "diff"), ("rules", "check"), ("bench", "report")):
            self.assertEqual(self.complete("goodput", command, action[:-1]), [action])
            self.assertIn("/dev/null", self.complete("goodput", command, action, "/dev/nul"), command)

    def test_man_pages(self):
        for command in ("", *COMMANDS):
            result = goodput("man", *([command] if command else []))
            self.assertEqual((result.status, result.err), (0, ""))
            self.assertIn(".Sh EXIT STATUS", result.out)
            if not shutil.which("mandoc"):
                continue
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=result.out.encode(), capture_output=True, check=False)
            self.assertEqual((lint.returncode, lint.stdout), (0, b""), command)

    def test_every_option_is_everywhere(self):
        fish, bash = goodput("completion", "fish").out, goodput("completion", "bash").out
        for command in COMMANDS:
            page = goodput("man", command).out.replace("\\-", "-")
            for option in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", goodput(command, "--help").out, re.M):
                self.assertIn(f"Fl Fl {option}", page, command)
                self.assertIn(f"-l {option}", fish)
                self.assertIn(f"--{option} ", bash)


if __name__ == "__main__":
    assert os.access(PROGRAM, os.X_OK), PROGRAM
    main()
