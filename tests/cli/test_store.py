#!/usr/bin/env python3
"""goodput store, and query on a store: from outside."""

import json
import os
import shutil
import sqlite3
import tempfile

from program import CliTest, goodput, main

PAGE = """# TYPE requests_total counter
requests_total{instance="a",job="x"} 1 1768435200000
requests_total{instance="a",job="x"} 4 1768435205000
requests_total{instance="a",job="x"} 2.5 1768435210000
# TYPE depth gauge
depth{path="a\\\\b \\"c\\" \\n"} -0.125 1768435200000
depth{path="a\\\\b \\"c\\" \\n"} +Inf 1768435210000
"""


class Store(CliTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "s.db")
        self.addCleanup(shutil.rmtree, self.folder)

    def fill(self, page=PAGE):
        result = goodput("store", "import", self.path, "-", stdin=page.encode())
        self.assertEqual(result.status, 0, result.err)
        return result

    def test_import_and_dump_are_inverse(self):
        self.assertIn("5 samples imported, 0 refused", self.fill().out)
        out = goodput("store", "dump", self.path).out
        self.assertEqual(sorted(out.splitlines()), sorted(PAGE.splitlines()))
        again = goodput("store", "import", self.path + "2", "-", stdin=out.encode())
        self.assertEqual(again.status, 0, again.err)
        self.assertEqual(goodput("store", "dump", self.path + "2").out, out)

    def test_openmetrics(self):
        self.fill('a{b="c"} 1 1.5\na{b="c"} 2 2.5\n# EOF\n')
        self.assertEqual(goodput("store", "dump", self.path).out, 'a{b="c"} 1 1500\na{b="c"} 2 2500\n')
        out = goodput("store", "dump", "--format", "openmetrics", self.path).out
        self.assertEqual(out, 'a{b="c"} 1 1.500\na{b="c"} 2 2.500\n# EOF\n')

    def test_older_is_refused_and_told(self):
        self.fill()
        result = goodput("store", "import", self.path, "-", stdin=b"depth{path=\"new\"} 1 5\nrequests_total{instance=\"a\",job=\"x\"} 1 1768435204000\n")
        self.assertEqual(result.status, 0)
        self.assertIn("1 samples imported, 1 refused", result.out)
        self.assertIn("refused", result.err)

    def test_dump_selects(self):
        self.fill()
        out = goodput("store", "dump", "--match", '{job="x"}', "--since", "1768435205", "--until", "1768435209", self.path).out
        self.assertEqual(out, '# TYPE requests_total counter\nrequests_total{instance="a",job="x"} 4 1768435205000\n')
        self.failed(goodput("store", "dump", "--match", "rate(x[5m])", self.path), 64, "selector")
        self.failed(goodput("store", "dump", "--since", "soon", self.path), 64, "--since", "no time")
        self.failed(goodput("store", "stats", "--match", "x", self.path), 64, "for dump")

    def test_stats_and_verify(self):
        self.fill()
        self.assertIn("whole", goodput("store", "verify", self.path).out)
        stats = json.loads(goodput("store", "stats", "--json", self.path).out)
        self.assertEqual((stats["series"], stats["samples"]), (2, 5))
        self.assertIn("2026-01-15 00:00:00Z", goodput("store", "stats", self.path).out)

    def test_query(self):
        self.fill()
        self.assertEqual(goodput("query", "requests_total", self.path).out.split()[-1], "2.5")
        result = json.loads(goodput("query", "--json", "increase(requests_total[11s])", self.path, "--at", "2026-01-15T00:00:10Z").out)
        self.assertEqual(result["status"], "success")
        self.assertEqual(goodput("query", "depth", self.path, "--at", "-8s").out.split()[-1], "-0.125")
        self.failed(goodput("query", "up", self.path, "--at", "soon"), 64, "--at")

    def test_samples_without_times(self):
        self.failed(goodput("store", "import", self.path, "-", stdin=b"a 1 5\nb 2\n"), 65, "-:2", "time")

    def test_usage(self):
        self.failed(goodput("store"), 64, "verify, stats, dump or import")
        self.failed(goodput("store", "stats"), 64, "which file")
        self.failed(goodput("store", "import", "x"), 64, "import what")
        self.failed(goodput("store", "vacuum", "x"), 64, 'unknown action "vacuum"', "verify, stats, dump, import")
        self.failed(goodput("store", "verfiy", "x"), 64, 'unknown action "verfiy"', "did you mean goodput store verify?")

    def test_files_that_are_no_stores(self):
        for action in ("verify", "stats", "dump"):
            self.failed(goodput("store", action, self.path), 65, "No such file", "goodput serve --store " + self.path)
        with open(self.path, "w") as file:
            file.write("hello, this is no database at all\n" * 50)
        self.failed(goodput("store", "stats", self.path), 65, "no SQLite file", "hint")
        os.unlink(self.path)
        db = sqlite3.connect(self.path)
        db.execute("CREATE TABLE t (x)")
        db.commit()
        db.close()
        self.failed(goodput("store", "stats", self.path), 65, "another program")
        self.failed(goodput("store", "import", self.path, "-", stdin=b"a 1 5\n"), 65, "another program")

    def test_damage(self):
        self.fill("".join("a %d %d\n" % (i, 1000 * i) for i in range(1, 3000)))
        db = sqlite3.connect(self.path)
        self.assertGreater(db.execute("SELECT count(*) FROM sections").fetchone()[0], 0)
        db.execute("UPDATE sections SET data = zeroblob(length(data)) WHERE id = (SELECT min(id) FROM sections)")
        db.commit()
        db.close()
        result = goodput("store", "verify", self.path)
        self.assertEqual(result.status, 65)
        self.assertIn("checksum", result.err)
        self.assertIn("store dump", result.err)
        # What is whole is still written out.
        dump = goodput("store", "dump", self.path)
        self.assertIn("checksum", dump.err)
        self.assertGreater(len(dump.out.splitlines()), 1000)

    def test_truncated_file(self):
        self.fill("".join("a %d %d\n" % (i * i % 1009, 1000 * i) for i in range(1, 200000)))
        size = os.path.getsize(self.path)
        with open(self.path, "r+b") as file:
            file.truncate(size // 2)
        for action in ("verify", "stats", "dump"):
            result = goodput("store", action, self.path)
            self.no_crash(result)
            if action == "verify":
                self.assertEqual(result.status, 65, result.err)


if __name__ == "__main__":
    main()
