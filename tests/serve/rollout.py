"""A rollout of 64 simulated replicas from vLLM 0.10 to 0.11, in waves, with new instance names, told by an annotation; then one slow replica.

    tests/serve/rollout.py

The rollout may raise nothing above info, signals must be there throughout, and the slow replica gives exactly one alert. Takes some eight
minutes, as findings are held before they fire. Exit status 1 when it is otherwise.
"""

import json
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemon  # noqa: E402

REPLICAS, WAVES, WAVE_S, CALM_S, SLOW_S = 64, 8, 8, 130, 190
ARGS = ["--self-traffic", "rate=96,prompt=300,output=60", "--max-model-len", "8192"]


def alerts(server):
    return [a for a in server.api("alerts").json["data"]["alerts"] if a["labels"]["severity"] != "info"]


def main():
    shop = daemon.Workshop()
    try:
        return run(shop)
    finally:
        shop.close()


def run(shop):
    old = shop.sim("--mimic", "0.10", *ARGS, replicas=REPLICAS)
    new = shop.sim("--mimic", "0.11", *ARGS, replicas=REPLICAS)

    def targets(moved):
        ports = [(new if i < moved else old).port + i for i in range(REPLICAS)]
        shop.path("targets.json", json.dumps([{"targets": ["127.0.0.1:%d" % p for p in ports]}]))

    targets(0)
    config = shop.path("goodput.yml", "global: {scrape_interval: 2s}\nscrape_configs: [{job_name: vllm, file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]}]\n")
    server = shop.goodput("--config", config, "--evaluation-interval", "5s", "--window", "1m")
    server.wait(lambda: server.value("count(up == 1)") == REPLICAS, timeout=60, what="all targets")
    time.sleep(CALM_S)
    before = alerts(server)
    print("before: %s" % [(a["labels"]["alertname"], a["state"]) for a in before])
    server.ask("/api/goodput/v1/annotations", method="POST", headers={"Content-Type": "application/json"}, body='{"text":"vLLM 0.11","tags":["deploy"]}')
    seen, unknown = set(), 0
    for wave in range(WAVES):
        targets(REPLICAS * (wave + 1) // WAVES)
        end = time.time() + WAVE_S
        while time.time() < end:
            time.sleep(2)
            seen |= {(a["labels"]["alertname"], a["state"]) for a in alerts(server)}
            answer = server.ask("/api/goodput/v1/readings")
            if answer.status == 200:
                readings = answer.json["data"]["scopes"][0]["readings"]
                unknown += any(readings[s]["kind"] == "unknown" for s in ("running", "waiting") if s in readings)
    end = time.time() + CALM_S
    while time.time() < end:
        time.sleep(2)
        seen |= {(a["labels"]["alertname"], a["state"]) for a in alerts(server)}
    firing = sorted(n for n, state in seen if state == "firing")
    print("rollout: alerts seen %s; readings unknown %d times" % (sorted(seen), unknown))
    new.ask("/goodput/fault", method="POST", body=b"slow:factor=6,replica=7")
    end, fired = time.time() + SLOW_S, {}
    while time.time() < end:
        time.sleep(2)
        for a in alerts(server):
            if a["state"] == "firing":
                fired[a["labels"]["alertname"]] = a["annotations"].get("summary", "")
    print("slow replica: %s" % fired)
    return 0 if not firing and not unknown and len(fired) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
