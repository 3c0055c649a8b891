"""The page in Debian's Chromium: a daemon on made-up servers, one that simulates, and web/tests/ that looks at both.

    tests/page/test_page.py [--shots FOLDER] [NAME...]
"""

import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
sys.path.insert(0, os.path.join(ROOT, "tests", "page"))
import daemon  # noqa: E402
from recorded import Recorded  # noqa: E402

SKIPPED = 77  # Meson's


def config(shop, port, paths):
    jobs = "\n".join("- {job_name: %s, metrics_path: /%s/metrics, static_configs: [{targets: ['127.0.0.1:%d'], labels: {instance: %s}}]}" % (p, p, port, p) for p in paths)
    return shop.path("goodput.yml", "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n" + jobs + "\n")


def main(args):
    chromium = shutil.which("chromium")
    if not chromium or not os.path.isdir(os.path.join(ROOT, "web", "node_modules", "playwright-core")):
        print("skipped: no chromium, or no packages of web/ (make deps)")
        return SKIPPED
    shop = daemon.Workshop()
    try:
        pages = shop.serve_pages()
        recorded = Recorded(pages, {"pod-a": {}, "pod-b": {"kv": 0.4}, "pod-c": {"kv": 0.97, "waiting": 9}})
        fixed = shop.goodput("--config", config(shop, pages.port, ["pod-a", "pod-b", "pod-c", "pod-down"]), "--evaluation-interval", "2s", "--window", "20s")
        sim = shop.sim("--self-traffic", "rate=9,prompt=600,output=80", replicas=3)
        live = shop.goodput("--scrape-interval", "1s", "--evaluation-interval", "2s", "--window", "20s",
                            *["127.0.0.1:%d" % (sim.port + i) for i in range(3)])
        empty = shop.goodput("--scrape-interval", "1h", "127.0.0.1:1")
        fixed.ask("/api/goodput/v1/annotations", method="POST", headers={"Content-Type": "application/json"}, body='{"text":"acme 2.0 rolled out","tags":["deploy"]}')

        def events(server):
            fleet = server.ask("/api/goodput/v1/readings", {"kind": "fleet", "signal": "e2e_p99"}).json["data"]["scopes"][0]
            return (fleet["readings"]["e2e_p99"].get("events") or 0) >= 20

        for server in (fixed, live):
            server.wait(lambda s=server: events(s), timeout=60, what="some seconds of data")
        what = {"chromium": chromium, "fixed": fixed.url, "live": live.url, "empty": empty.url, "sim": sim.url, "livePid": live.process.pid, "args": args}
        done = subprocess.run(["node", os.path.join(ROOT, "web", "tests", "run.mjs"), json.dumps(what)], check=False)
        recorded.close()
        return done.returncode
    finally:
        shop.close()


sys.exit(main(sys.argv[1:]))
