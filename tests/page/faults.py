"""Scripted faults at 64 simulated replicas: each must be told in the page's first viewport at 1440 x 900, and by `goodput top` at
80 x 24: cause, pool, replica, onset and first action.

    tests/page/faults.py [--shots FOLDER] [FAULT...]

Not part of `make check`: each fault takes a minute or two, as it has to show in a window. Exit status 1 when one is not told.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "serve"))
import daemon  # noqa: E402

REPLICAS, BAD = 64, 5
# fault: findings of which one must be there
FAULTS = {
    "stall": ("engine-stalled",),
    "slow:factor=6": ("slow-replica",),
    "preemption-storm:rate=4": ("kv-thrash", "preemptions"),
    "kv-leak:blocks=300": ("kv-leak",),
    "memory-leak:kib=512": ("rss-leak",),
    "gc-pauses": ("gc-pauses",),
    "crash:down=120": ("scrape-partial",),
    "http-500:share=0.5": ("http-errors", "error-rate-high", "success-low"),
    "slow-streams": ("slow-replica",),
    "cut-streams:share=0.6": ("aborts-not-counted",),
    "acceptance": ("acceptance-outlier",),
    "transfer-failure": ("kv-transfer-failure",),
    "stale-gauges": ("stale-gauges",),
    "missing-families:match=vllm:": ("engine-families-missing",),
    "upgrade:to=0.11,down=1": ("restart",),
}
# What the simulator needs besides: options, and requests a second of one replica with the tokens of an answer.
OPTIONS = {
    "acceptance": ["--speculative-config", '{"method":"eagle3","num_speculative_tokens":3,"acceptance":0.75}'],
    "transfer-failure": ["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}'],
    "upgrade:to=0.11,down=1": ["--mimic", "0.8"],
}
TRAFFIC = {"kv-leak:blocks=300": (0.25, 20)}  # idle now and then: the leak shows then


def findings(server):
    answer = server.ask("/api/goodput/v1/findings")
    return [f for f in answer.json["data"]["findings"] if not f["suppressed_by"] and not f["undecided"]] if answer.status == 200 else []


def top_tells(server, found, replica):
    """Does the first frame tell all of it?"""
    for _ in range(12):  # its window is another one than the daemon's: it may come to it a little later
        lacking = top_lacks(server, found, replica)
        if not lacking:
            return True
        time.sleep(5)
    print("top does not tell %s" % lacking, flush=True)
    return False


def top_lacks(server, found, replica):
    run = subprocess.run([daemon.PROGRAM, "top", "--once", server.url], capture_output=True, text=True, timeout=120, check=False,
                         env=dict(os.environ, LINES="24", COLUMNS="80", LC_ALL="C.UTF-8"))
    frame = " ".join(run.stdout.split())
    words = max(re.split(r"[^A-Za-z -]*[0-9:({][^ ]*", found["title"]), key=len)  # figures move
    wanted = {"cause": words.strip()[:30], "pool": found.get("pool", ""), "replica": replica, "onset": " since ",
              "action": found["actions"][0]["text"][:30] if found["actions"] else ""}
    lacking = ["%s (%s)" % (name, text) for name, text in wanted.items() if text not in frame]
    return "%s:\n%s" % (", ".join(lacking), run.stdout) if lacking else ""


def one(fault, wanted, shots):
    shop = daemon.Workshop()
    try:
        rate, output = TRAFFIC.get(fault, (2, 160))
        sim = shop.sim("--self-traffic", "rate=%g,prompt=300,output=%d" % (REPLICAS * rate, output), *OPTIONS.get(fault, []), replicas=REPLICAS)
        server = shop.goodput("--scrape-interval", "2s", "--evaluation-interval", "4s", "--window", "40s",
                              *["127.0.0.1:%d" % (sim.port + i) for i in range(REPLICAS)])
        server.wait(lambda: server.value("count(up == 1)") == REPLICAS, timeout=120, what="all targets")
        sim.ask("/goodput/fault", method="POST", body="%s%sreplica=%d@20s" % (fault, "," if ":" in fault else ":", BAD))
        found = server.wait(lambda: [f for f in findings(server) if f["id"] in wanted], timeout=240, what="one of %s, found %s" % (wanted, [f["id"] for f in findings(server)]))
        what = {"module": "./first.mjs", "chromium": shutil.which("chromium"), "url": server.url, "finding": found[0]["id"], "replica": "127.0.0.1:%d" % (sim.port + BAD),
                "args": ["--shots", shots] if shots else []}
        told = subprocess.run(["node", os.path.join(ROOT, "web", "tests", "run.mjs"), json.dumps(what)], check=False, env=dict(os.environ, GOODPUT_FINDING=fault)).returncode == 0
        return top_tells(server, found[0], "127.0.0.1:%d" % (sim.port + BAD)) and told
    except AssertionError as problem:
        print("%s  FAILED: %s" % (fault, str(problem)[:600]), flush=True)
        return False
    finally:
        shop.close()


def main(args):
    shots = args[args.index("--shots") + 1] if "--shots" in args else None
    names = [a for a in args if a in FAULTS] or list(FAULTS)
    told = [one(name, FAULTS[name], shots) for name in names]
    print("%d passed, %d failed" % (sum(told), len(told) - sum(told)))
    return 0 if all(told) else 1


sys.exit(main(sys.argv[1:]))
