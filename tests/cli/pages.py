"""Servers and recordings for tests of the command line."""

import http.server
import os
import threading
import time

BUCKETS = (0.1, 0.5, 1.0, 2.5, 10.0)


def vllm_page(step, waiting=0, start=1768440000.0, kv=0.2):
    """A small vLLM page; counters grow with `step`."""
    labels = 'engine="0",model_name="acme/chat"'
    lines = []

    def family(name, kind, rows):
        lines.append(f"# TYPE {name} {kind}")
        lines.extend(rows)

    family("process_start_time_seconds", "gauge", [f"process_start_time_seconds {start}"])
    for name, value in (("num_requests_running", 4), ("num_requests_waiting", waiting), ("kv_cache_usage_perc", kv)):
        family(f"vllm:{name}", "gauge", [f"vllm:{name}{{{labels}}} {value}"])
    for name, each in (("prompt_tokens", 9000), ("generation_tokens", 4000), ("num_preemptions", 0)):
        family(f"vllm:{name}_total", "counter", [f"vllm:{name}_total{{{labels}}} {each * step}"])
    family("vllm:request_success_total", "counter",
           [f'vllm:request_success_total{{{labels},finished_reason="{r}"}} {n * step}' for r, n in (("stop", 39), ("length", 1), ("abort", 0))])
    for name, counts in (("time_to_first_token_seconds", (20, 38, 40, 40, 40)), ("e2e_request_latency_seconds", (0, 0, 4, 30, 40)),
                         ("iteration_tokens_total", (0, 0, 10, 20, 400))):
        total = counts[-1] * step
        rows = [f'vllm:{name}_bucket{{{labels},le="{b}"}} {c * step}' for b, c in zip(BUCKETS, counts)]
        rows += [f'vllm:{name}_bucket{{{labels},le="+Inf"}} {total}', f"vllm:{name}_count{{{labels}}} {total}",
                 f"vllm:{name}_sum{{{labels}}} {total * 0.3}"]
        family(f"vllm:{name}", "histogram", rows)
    return "\n".join(lines) + "\n"


def recording(folder, moments=3, every=30, pods=("pod-a",), down=()):
    """Writes a recording; `down` lists (pod, moment) that did not answer."""
    os.makedirs(folder, exist_ok=True)
    rows = ["when\ttarget\ttime_unix\tfile\thttp_status\tcontent_type\tduration_s"]
    for i in range(moments):
        for pod in pods:
            t = 1768446000 + every * i
            if (pod, i) in down:
                rows.append(f"t{i}\t{pod}\t{t}.000\t-\t0\t-\t10.000")
                continue
            with open(os.path.join(folder, f"{pod}.t{i}.prom"), "w", encoding="utf-8") as f:
                f.write(vllm_page(100 + i))
            rows.append(f"t{i}\t{pod}\t{t}.000\t{pod}.t{i}.prom\t200\ttext/plain; version=0.0.4\t0.010")
    with open(os.path.join(folder, "scrapes.tsv"), "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + "\n")
    return folder


class Server:
    """Answers every GET by answer(path, count) -> (status, content type, body). Listens on a free port of 127.0.0.1."""

    def __init__(self, answer):
        self.count = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.count += 1
                status, kind, body = answer(self.path, outer.count)
                body = body.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass

            do_POST = do_GET

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.server.shutdown()
        self.server.server_close()


def slow(path, count):
    time.sleep(5)
    return 200, "text/plain", vllm_page(1)
