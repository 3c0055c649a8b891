"""Runs the program as a user does."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import side_by_side  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("GOODPUT", "build/goodput"))
COMMANDS = ("bench", "check", "collect", "compare", "demo", "query", "record", "rules", "serve", "signals", "sim", "store", "top", "workload",
            "completion", "man", "help", "version")


class Result:
    def __init__(self, run):
        self.status, self.out, self.err = run.returncode, run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")


def goodput(*args, stdin=b"", env=None, timeout=60):
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LC_ALL", "LANG")}
    environment.update({"LC_ALL": "C.UTF-8"}, **(env or {}))
    return Result(subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, env=environment, timeout=timeout, check=False))


class CliTest(unittest.TestCase):
    def failed(self, result, status, *words):
        """One clear message: the status, the words, and no result on standard output."""
        self.assertEqual(result.status, status, result.err + result.out)
        self.assertTrue(result.err.startswith("goodput"), result.err)
        for word in words:
            self.assertIn(word, result.err)
        self.assertEqual(result.out, "")

    def no_crash(self, result):
        self.assertNotIn("Sanitizer", result.err)
        self.assertGreaterEqual(result.status, 0, result.err)


main = side_by_side.main
