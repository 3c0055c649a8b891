#!/usr/bin/env python3
"""goodput rules check: exit statuses and messages."""

import json
import os
import tempfile

from program import CliTest, goodput, main

GOOD = "groups:\n- name: g\n  rules:\n  - record: job:up:sum\n    expr: sum by (job) (up)\n  - alert: Down\n    expr: up == 0\n    for: 2m\n"
WRONG = "groups:\n- name: g\n  rules:\n  - alert: Down\n    expr: up = 0\n"
TWINS = "groups:\n- name: g\n  rules:\n  - record: a\n    expr: up\n  - record: a\n    expr: up * 2\n"


class RulesTest(CliTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in (("good", GOOD), ("wrong", WRONG), ("twins", TWINS)):
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)

    def path(self, name):
        return os.path.join(self.folder.name, name + ".yml")

    def test_good(self):
        r = goodput("rules", "check", self.path("good"))
        self.assertEqual((r.status, r.err), (0, ""))
        self.assertIn("SUCCESS: 2 rules found in 1 group\n", r.out)

    def test_wrong_says_where_and_the_others_are_checked_too(self):
        r = goodput("rules", "check", self.path("wrong"), self.path("good"))
        self.assertEqual(r.status, 65)
        self.assertIn("wrong.yml:5:14: parse error", r.err)
        self.assertIn("SUCCESS: 2 rules", r.out)
        self.assertIn("FAILED", r.out)

    def test_twins_warn(self):
        r = goodput("rules", "check", self.path("twins"))
        self.assertEqual(r.status, 1)
        self.assertIn("twins.yml:6:5: record a has the name and labels of the rule in line 4", r.out)

    def test_json(self):
        r = goodput("rules", "check", "--json", self.path("good"), self.path("wrong"))
        self.assertEqual(r.status, 65)
        good, wrong = json.loads(r.out)["files"]
        self.assertEqual((good["ok"], good["rules"]), (True, 2))
        self.assertEqual((wrong["ok"], wrong["line"], wrong["column"]), (False, 5, 14))

    def test_patterns_and_missing_files(self):
        self.assertIn("4 rules found in 2 groups", goodput("rules", "check", os.path.join(self.folder.name, "[gt]*.yml")).out)
        r = goodput("rules", "check", os.path.join(self.folder.name, "none.yml"))
        self.assertNotEqual(r.status, 0)
        self.assertIn("none.yml", r.err)
        self.assertEqual(goodput("rules", "check", os.path.join(self.folder.name, "nothing*.yml")).status, 65)
        r = goodput("rules", "check", os.path.join(self.folder.name, "nothing*.yml"), "--json")
        self.assertEqual((json.loads(r.out)["files"][0]["ok"], r.status), (False, 65))

    def test_usage(self):
        self.failed(goodput("rules"), 64, "check")
        self.failed(goodput("rules", "check"), 64, "which rule files?")


if __name__ == "__main__":
    main()
