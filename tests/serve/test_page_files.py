"""What the page is made of, without a browser: its files, and the routes that only it asks."""

import gzip
import html
import json
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
        assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Vary"] == "Accept-Encoding"
    for path in ("/assets/", "/assets/none.js", "/assets/../index.html", "/index.html", "/nowhere"):
        assert server.ask(path).status == 404, path
    for path in re.findall(r'(?:href|src)="(/assets/[^"]+)"', plain.text):
        answer = server.ask(path)
        assert answer.status == 200 and "immutable" in answer.headers["Cache-Control"], path
        assert answer.body and answer.headers["Content-Type"] != "application/octet-stream", path


def view_names():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../web/src/views.ts"), encoding="utf-8") as file:
        return re.findall(r"\['(/\w*)', '([^']+)'\]", file.read())


def first_words(server):
    """Verdict, place, onset and first action are in the first answer, in every view; findings where they are shown."""
    found = server.ask("/api/goodput/v1/findings").json["data"]
    causes = [f for f in found["findings"] if not f["suppressed_by"]]
    for path, title in view_names():
        text = server.ask(path).text
        links = re.findall(r'<a href="(/\w*)"( aria-current="page")?>([^<]+)</a>', text)
        assert [(at, html.unescape(name)) for at, _, name in links] == view_names(), links
        assert [at for at, current, _ in links if current] == [path], links
        assert '<h1 class="hidden">%s</h1>' % html.escape(title) in text, path
        assert re.search(r'<div class="verdict \w+" role="status" data-severity="\w+" data-time="\d+\.\d{3}"', text), path
        assert ('class="findings"' in text) == (path == "/"), path
        assert "<!--" not in text, path
    text = server.ask("/").text
    article = re.search(r'<article class="finding \w+"((?:(?!</article>).)*queue-backlog.*?)</article>', text, re.DOTALL).group(1)
    (finding,) = [f for f in causes if f["id"] == "queue-backlog"]
    first = [a for a in finding["actions"] if a["grade"] == "now"] or finding["actions"]
    for words in (finding["title"], first[0]["text"], "pool <b>acme/chat</b>"):
        assert words in html.unescape(article), (words, article)
    link = re.search(r'href="/\?from=(\d+)&amp;to=(\d+)&amp;pool=acme%2Fchat"', article)
    assert link and abs(int(link.group(1)) + 900 - finding["onset"]) < 60, article
    # What a filter leaves is not known here; the verdict is of all.
    text = server.ask("/?from=now-5m&pool=acme/chat").text
    assert 'class="verdict' in text and "finding" not in text


def escaped(text):
    return html.escape(text).replace("&#x27;", "&#39;")


def hostile(shop, pages):
    """Names are text, whatever is in them: of targets, of models, of labels."""
    evil = "</p><script>alert(1)</script><img src=x onerror='alert(2)'>"

    class Hostile(Recorded):
        def tell(self):
            super().tell()
            pages.pages["/evil/metrics"] = pages.pages["/evil/metrics"].replace("acme/chat", evil)

    recorded = Hostile(pages, {"evil": {"waiting": 90}})
    jobs = "".join("- {job_name: %s, metrics_path: /%s/metrics, static_configs: [{targets: ['127.0.0.1:%d'], labels: {instance: %s}}]}\n" % (p, p, pages.port, json.dumps(evil + p))
                   for p in ("evil", "gone"))
    server = shop.goodput("--config", shop.path("evil.yml", "global: {scrape_interval: 1s}\nscrape_configs:\n" + jobs), "--evaluation-interval", "1s", "--window", "10s")
    before = server.ask("/").text
    assert "Not judged yet" in before or "data-time" in before
    text = server.wait(lambda: next((t for t in [server.ask("/").text] if "queue-backlog" in t and "scrape-partial" in t), None), timeout=60, what="findings")
    assert escaped(evil + "gone") in text.split("</p>")[0], text  # in the verdict
    assert "pool <b>%s</b>" % escaped(evil) in text and escaped(evil + "gone") + "</b></dd>" in text
    assert "<img" not in text and "onerror=&#" in text
    assert all(re.fullmatch(r'(?: \w+="[\w-]*")* src="/assets/[\w.-]+"', tag) for tag in re.findall(r"<script([^>]*)>", text)), text
    # Every value stays inside its attribute.
    assert re.search(r'&amp;pool=(?:[\w.-]|%[0-9A-F]{2})+" title=', text), text
    recorded.close()


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
        first_words(server)
        choice(server)
        signals(server)
        recorded.close()
        hostile(shop, pages)
        print("5 passed, 0 failed")
    finally:
        shop.close()


main()
