"""What the page is made of, without a browser: its files, and the routes that only it asks."""

import gzip
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import daemon  # noqa: E402
from recorded import Recorded  # noqa: E402


def files(server):
    plain = server.ask("/")
    packed = server.ask("/", headers={"Accept-Encoding": "gzip"})
    assert plain.status == packed.status == 200, plain.status
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["Content-Encoding"] == "gzip" and plain.headers["Content-Encoding"] is None
    for answer in (plain, packed):
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'"), answer.headers
        assert answer.headers["Cache-Control"] == "no-cache" and answer.headers["Vary"] == "Accept-Encoding"
    assert server.ask("/latency").body == plain.body
    for path in ("/assets/", "/assets/none.js", "/assets/../index.html", "/index.html", "/nowhere"):
        assert server.ask(path).status == 404, path
    for path in re.findall(r'(?:href|src)="(/assets/[^"]+)"', plain.text):
        answer = server.ask(path)
        assert answer.status == 200 and "immutable" in answer.headers["Cache-Control"], path
        assert answer.body and answer.headers["Content-Type"] != "application/octet-stream", path


def choice(server):
    everything = server.ask("/api/goodput/v1/readings").json["data"]
    some = server.ask("/api/goodput/v1/readings", [("signal", "running"), ("signal", "e2e_p99"), ("kind", "target")]).json["data"]
    assert {s["kind"] for s in some["scopes"]} == {"target"} and len(some["scopes"]) == 2
    assert all(set(s["readings"]) == {"running", "e2e_p99"} for s in some["scopes"])
    assert len(everything["scopes"]) > 3 and len(everything["scopes"][0]["readings"]) > 200
    assert server.ask("/api/goodput/v1/readings", {"signal": "none"}).json["data"]["scopes"][0]["readings"] == {}


def signals(server):
    data = server.ask("/api/goodput/v1/signals", {"window": "7s", "matchers": 'instance="pod-a"'}).json["data"]
    assert len(data["signals"]) > 200 and all(s["id"] and s["title"] for s in data["signals"])
    (engine,) = data["engines"]
    assert sorted(engine["targets"]) == ["pod-a", "pod-b"]
    assert engine["metrics"]["running"] == "vllm:num_requests_running"
    assert engine["promql"]["requests_per_s"] == 'sum(rate(vllm:request_success_total{instance="pod-a"}[7s]))'
    assert "tpot_p99" not in engine["promql"]  # not exported here
    for name, text in engine["promql"].items():
        answer = server.api("query", query=text)
        assert answer.status == 200, (name, text, answer.text)


def main():
    shop = daemon.Workshop()
    try:
        pages = shop.serve_pages()
        recorded = Recorded(pages, {"pod-a": {}, "pod-b": {"waiting": 90}})
        jobs = "".join("- {job_name: %s, metrics_path: /%s/metrics, static_configs: [{targets: ['127.0.0.1:%d'], labels: {instance: %s}}]}\n" % (p, p, pages.port, p)
                       for p in ("pod-a", "pod-b"))
        server = shop.goodput("--config", shop.path("c.yml", "global: {scrape_interval: 1s}\nscrape_configs:\n" + jobs), "--evaluation-interval", "1s", "--window", "10s")
        assert server.ask("/api/goodput/v1/signals").status in (200, 503)
        found = server.wait(lambda: [f for f in server.ask("/api/goodput/v1/findings").json["data"]["findings"] if f["id"] == "queue-backlog"], timeout=60, what="a finding")
        assert found[0]["pool"] == "acme/chat", found[0]
        files(server)
        choice(server)
        signals(server)
        recorded.close()
        print("3 passed, 0 failed")
    finally:
        shop.close()


main()
