#!/usr/bin/env python3
"""What a stranger meets: mistakes of every kind, and what each command says to them."""

import re
import subprocess
import tempfile

from program import COMMANDS, PROGRAM, CliTest, goodput, main


class Help(CliTest):
    def test_each_thing_is_said_once(self):
        for command in COMMANDS:
            text = " ".join(goodput(command, "--help").out.split())
            self.assertNotRegex(text.lower(), r"can be given again\W+can be given again", command)
            self.assertNotIn(".;", text, command)
            options = re.findall(r"^(?: {6}|  -\w, )(--[a-z0-9-]+)", goodput(command, "--help").out, re.M)
            self.assertEqual(sorted(options), sorted(set(options)), command)

    def test_version_fits(self):
        for line in goodput("version", env={"COLUMNS": "80"}).out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.failed(goodput("version", "x"), 64, "no operands")


class Mistakes(CliTest):
    def test_did_you_mean(self):
        self.failed(goodput("help", "chek"), 64, "did you mean check?")
        self.failed(goodput("man", "bnch"), 64, "did you mean bench?")

    def test_groups_once(self):
        result = goodput("signals", "--group", "nosuch")
        groups = result.err.split("groups: ")[1].strip().split(", ")
        self.assertEqual(len(groups), len(set(groups)), groups)

    def test_nothing_to_send(self):
        self.failed(goodput("bench", "http://127.0.0.1:1", "-n", "0"), 64, "--num-prompts", "at least 1")
        self.failed(goodput("bench", "http://127.0.0.1:1", "-d", "0"), 64, "--duration")

    def test_webhook(self):
        self.failed(goodput("serve", "127.0.0.1:1", "-p", "0", "--webhook", "alerts"), 64, "--webhook \"alerts\"", "http://")


class Collect(CliTest):
    def test_action_alone(self):
        for action in ("init", "clean", "fold"):
            self.failed(goodput("collect", action), 64, "which directory?")
        self.failed(goodput("collect", "mark-dead"), 64, "mark-dead DIR PID")

    def test_listens_on_this_machine_only(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([PROGRAM, "collect", "--listen", ":0", folder], stderr=subprocess.PIPE, text=True)
            try:
                line = process.stderr.readline()
                self.assertIn("http://127.0.0.1:", line)
            finally:
                process.terminate()
                process.communicate(timeout=60)


if __name__ == "__main__":
    main()
