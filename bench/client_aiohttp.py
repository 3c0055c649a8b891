#!/usr/bin/env python3
"""client_aiohttp PORT STREAMS SECONDS COUNT_FILE: a client that reads as the Python benchmark tools do: aiohttp, whatever arrived, split at blank
lines, json.loads of every event, a clock read for each.

Prints: events CPU-seconds of the last SECONDS, then P50 and P99 of stamp - send time in microseconds.
"""
import asyncio
import json
import resource
import struct
import sys
import time

import aiohttp

PORT, STREAMS, SECONDS, COUNT = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
lags = []
recording = False


def sent():
    with open(COUNT, 'rb') as file:
        return struct.unpack('=Q', file.read(8))[0]


def cpu():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


async def stream(session):
    async with session.post('http://127.0.0.1:%d/v1/chat/completions' % PORT, data=b'{}') as answer:
        rest = b''
        async for piece in answer.content.iter_any():
            rest += piece
            while (end := rest.find(b'\n\n')) >= 0:
                event, rest = rest[:end], rest[end + 2:]
                stamp = time.time_ns()
                data = json.loads(event[6:])
                if data['choices'][0]['delta'].get('content') and recording:
                    lags.append(stamp - data['created'])


async def main():
    global recording
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=3600), read_bufsize=1 << 20) as session:
        tasks = [asyncio.ensure_future(stream(session)) for _ in range(STREAMS)]
        await asyncio.sleep(3)
        recording = True
        events, used = sent(), cpu()
        await asyncio.sleep(SECONDS)
        events, used = sent() - events, cpu() - used
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    lags.sort()
    print(events, '%.6f' % used, lags[len(lags) // 2] // 1000, lags[int(len(lags) * 0.99)] // 1000)


asyncio.run(main())
