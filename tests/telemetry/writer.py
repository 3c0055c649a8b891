"""The same as metric_writer.c, by prometheus_client: writer.py PREFIX ROUTES."""
import os
import sys

from prometheus_client import Counter, Gauge, Histogram, Summary

prefix, routes = sys.argv[1], int(sys.argv[2])
requests = Counter(prefix + "_requests", 'Requests "answered".', ["route", "method"], registry=None)
seconds = Histogram(prefix + "_seconds", "Time.", buckets=(1, 2.5, 5, 10), registry=None)
size = Summary(prefix + "_bytes", "Bytes.", registry=None)
gauges = [Gauge(prefix + "_" + mode, "Updates.", multiprocess_mode=mode, registry=None) for mode in ("all", "min", "max", "sum", "livesum", "liveall")]
done = 0


def run(begin, end):
    for k in range(begin, end):
        requests.labels("/v1/models/meta-llama-Llama-3.1-8B-Instruct/route/%d" % (k % routes), "POST").inc()
        seconds.observe(k % 13)
        size.observe(k % 13)
    for gauge in gauges:
        gauge.set(end)


print("pid %d" % os.getpid(), flush=True)
for line in iter(sys.stdin.readline, ""):
    word, count = line.split()
    if word == "run":
        run(done, done + int(count))
        done += int(count)
        print("done %d failures 0" % done, flush=True)
