"""Many simulated servers, scraped every second, with queries, reloads and failures: nothing missed but what was injected, no growth beyond the samples.

    tests/serve/soak.py [SECONDS]        20 by default; `make soak` runs 600

The last lines say what was measured. Exit status 1 when something was missed.
"""

import os
import random
import re
import signal
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemon  # noqa: E402

REPLICAS, QUERY_THREADS = 64, 2
# A sample in the head is a float64 of a row; series that were alone in a row (a target that failed) have a time and room to grow, too.
HEAD_BYTES, SPARE_BYTES, LONG_SECONDS = 8, 16e6, 300
QUERIES = ["sum(rate(vllm:generation_tokens_total[30s]))", "histogram_quantile(0.99, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[1m])))",
           "count(up == 1)", "topk(3, vllm:num_requests_running)", "sum by (instance) (vllm:num_requests_waiting)"]


def metric(server, name):
    found = re.search(r"^%s (\S+)$" % re.escape(name), server.ask("/metrics").text, re.M)
    return float(found.group(1)) if found else 0.0


class Memory:
    """What the process has resident: the least of some seconds, as each judgement takes much and gives it back."""

    def __init__(self, pid):
        self.pid, self.seen, self.stop = pid, [], threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.stop.wait(0.25):
            try:
                with open("/proc/%d/statm" % self.pid) as f:
                    self.seen.append((time.time(), int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")))
            except (OSError, IndexError):
                return

    def end(self):
        self.stop.set()
        self.thread.join()

    def least(self, start, end):
        return min([size for t, size in self.seen if start <= t <= end], default=0)

    def most(self):
        return max([size for _, size in self.seen], default=0)


class Soak:
    def __init__(self, seconds):
        self.seconds, self.stop, self.errors, self.asked = seconds, False, [], 0
        self.shop = daemon.Workshop()

    def start(self):
        self.sim = self.shop.sim("--self-traffic", "rate=32,prompt=200,output=40", replicas=REPLICAS)
        targets = ", ".join("'127.0.0.1:%d'" % (self.sim.port + i) for i in range(REPLICAS))
        config = self.shop.path("goodput.yml", "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"
                                "scrape_configs: [{job_name: vllm, static_configs: [{targets: [%s]}]}]\n" % targets)
        self.shop.path("rules.yml", "groups:\n- name: g\n  rules:\n  - {record: 'fleet:tokens:rate30s', expr: 'sum(rate(vllm:generation_tokens_total[30s]))'}\n")
        self.server = self.shop.goodput("--config", config, "--store", self.shop.path("samples.goodput"), "--evaluation-interval", "5s")
        self.server.wait(lambda: self.server.value("count(up == 1)") == REPLICAS, timeout=60, what="all targets")

    def ask_on(self, seed):
        r = random.Random(seed)
        while not self.stop:
            now = time.time()
            try:
                query = r.choice(QUERIES)
                if r.random() < 0.5:
                    answer = self.server.api("query", query=query)
                else:
                    answer = self.server.api("query_range", query=query, start=now - 300, end=now, step=15)
                self.asked += 1
                if answer.status != 200:
                    self.errors.append("%s: %s" % (query, answer.text[:200]))
            except OSError as error:
                self.errors.append("%s: %s" % (query, error))
            time.sleep(r.uniform(0.01, 0.2))

    def disturb(self):
        """A reload, a client that goes away, a target that fails for two seconds."""
        self.server.process.send_signal(signal.SIGHUP)
        faulty = random.randrange(REPLICAS)
        self.sim.ask("/goodput/fault", method="POST", body=b"crash:down=2,replica=%d" % faulty)

    def run(self):
        self.start()
        sleeper, start = daemon.side_by_side.Sleeper(self.shop.path("probe")), time.monotonic()
        begin = taken = time.time()
        memory, heads = Memory(self.server.process.pid), [metric(self.server, "goodput_store_head_samples")]
        samples, scrapes = metric(self.server, "goodput_samples_appended_total"), metric(self.server, "goodput_scrapes_total")
        failed = metric(self.server, "goodput_scrapes_failed_total")
        cpu = metric(self.server, "process_cpu_seconds_total")
        threads = [threading.Thread(target=self.ask_on, args=(i,)) for i in range(QUERY_THREADS)]
        for t in threads:
            t.start()
        injected = 0
        while time.time() - begin < self.seconds:
            time.sleep(min(6, max(0.0, self.seconds - (time.time() - begin))))
            heads.append(metric(self.server, "goodput_store_head_samples"))
            if self.seconds - (time.time() - begin) > 4:
                self.disturb()
                injected += 1
        self.stop = True
        for t in threads:
            t.join()
        memory.end()
        elapsed = time.time() - taken
        # What a head has needed is kept for the next one.
        head = max(heads) - heads[0]
        tenths = [memory.least(taken + elapsed * i / 10, taken + elapsed * (i + 1) / 10) for i in range(10)]
        grown = tenths[-1] - tenths[0]
        samples = metric(self.server, "goodput_samples_appended_total") - samples
        scrapes = metric(self.server, "goodput_scrapes_total") - scrapes
        failed = metric(self.server, "goodput_scrapes_failed_total") - failed
        skipped = metric(self.server, "goodput_scrapes_skipped_total")
        cpu = metric(self.server, "process_cpu_seconds_total") - cpu
        lateness = metric(self.server, "goodput_scrape_lateness_seconds_total") / max(1, metric(self.server, "goodput_scrapes_total"))
        print("%.0f s, %d targets at 1 s: %d scrapes, %d failed (%d faults of 2 s), %d skipped, mean lateness %.1f ms" %
              (elapsed, REPLICAS, scrapes, failed, injected, skipped, lateness * 1000))
        print("%d samples, %d queries, %d errors; %.2f CPU" % (samples, self.asked, len(self.errors), cpu / elapsed))
        print("memory grew by %.1f MB, the head by up to %.1f MB (%d samples); the most while judging %.1f MB" %
              (grown / 1e6, head * HEAD_BYTES / 1e6, head, memory.most() / 1e6))
        print("the least in each tenth of the time, MB: %s" % " ".join("%.0f" % (size / 1e6) for size in tenths))
        # In a second in which the machine did not even wake a sleeper in time, or take 4 KiB, all scrapes may be late, and those of the next.
        late = sleeper.late_seconds(start)
        excused = 2 * late * REPLICAS
        if late:
            print("the machine was late in %d seconds" % late)
        if "is late itself" in self.sim.log():
            print("the simulator says that it was late itself: what was missed is not judged")
            excused = REPLICAS * elapsed
        expected = REPLICAS * elapsed
        assert not self.errors, self.errors[:5]
        assert skipped <= injected * 2 + excused, "%d scrapes skipped" % skipped
        assert scrapes >= expected - 2 * REPLICAS - excused, "%d scrapes of %d" % (scrapes, expected)
        assert failed <= injected * 4 + excused, "%d scrapes failed, %d were made to" % (failed, injected * 3)
        # In the first half heads, caches and blocks that are used again fill; after that nothing may grow but what heads need. Short runs do
        # not get there, and sanitizers keep what was freed.
        late = tenths[-1] - tenths[4]
        if self.seconds >= LONG_SECONDS:
            assert late <= head * HEAD_BYTES + SPARE_BYTES, "memory grew by %d bytes in the second half, heads by %d samples" % (late, head)
        status = self.server.end(signal.SIGTERM)
        assert status == 0, self.server.log()


def main():
    soak = Soak(float(sys.argv[1]) if len(sys.argv) > 1 else 20)
    try:
        soak.run()
    except AssertionError as error:
        print("soak: %s" % error)
        return 1
    finally:
        soak.stop = True
        soak.shop.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
