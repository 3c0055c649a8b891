#!/usr/bin/env python3
"""The metrics page against the shapes of pages that were generated from vLLM's sources, family by family."""
import os

from page_shape import shape
from simlib import Sim, main, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = ['--speculative-config', '{"method":"eagle3","num_speculative_tokens":3}']
NIXL = ['--kv-transfer-config', '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}']
# Families of options that the stand-in does not have.
NOT_MIMICKED = {'vllm:corrupted_requests_total', 'vllm:kv_block_lifetime_seconds', 'vllm:kv_block_idle_before_evict_seconds',
                'vllm:kv_block_reuse_gap_seconds', 'vllm:lora_requests_info'}


def read_shape(name):
    with open(os.path.join(HERE, 'shapes', name + '.tsv'), encoding='utf-8') as file:
        rows = [line.rstrip('\n').split('\t') for line in file]
    return {row[0]: tuple(row[1:]) for row in rows}


def own(family):
    return family.startswith(('goodput_', 'http_'))


def compare(name, release, *options):
    wanted = {k: v for k, v in read_shape(name).items() if k.replace('_created', '').replace('_total', '') not in
              {n.replace('_total', '') for n in NOT_MIMICKED}}
    with Sim('--mimic', release, '--self-traffic', 'rate=40,prompt=100,output=5', *options) as sim:
        assert wait_for(lambda: (sim.value('vllm:e2e_request_latency_seconds_count') or 0) >= 3), 'no traffic'
        got = {k: v for k, v in shape(sim.page()[0]).items() if not own(k)}
    problems = ['missing: ' + k for k in wanted if k not in got] + ['unexpected: ' + k for k in got if k not in wanted]
    for family, parts in wanted.items():
        for what, expected, found in zip(('type', 'labels', 'label values', 'bounds', 'help'), parts, got.get(family, parts)):
            if expected != found:
                problems.append('%s: %s: expected %r, found %r' % (family, what, expected, found))
    assert not problems, '\n'.join(problems)
    return '%d families' % len(wanted)


def test_0_6():
    return compare('vllm-0.6.6-v0-multiproc', '0.6', *SPEC)


def test_0_8():
    return compare('vllm-0.8.5-v1', '0.8', *SPEC)


def test_0_9_two_engines():
    return compare('vllm-0.9.2-v1-dp2-api2-multiproc', '0.9', '--data-parallel-size', '2', '--api-server-count', '2')


def test_0_10():
    return compare('vllm-0.10.1.1-v1', '0.10.1.1')


def test_0_11():
    return compare('vllm-0.11.2-v1-nixl', '0.11', *NIXL)


def test_0_13():
    return compare('vllm-0.13.0-v1-kvmetrics', '0.13')


def test_0_16():
    return compare('vllm-0.16.0-v1-spec', '0.16', *SPEC)


def test_0_19():
    return compare('vllm-0.19.0-v1-mfu', '0.19')


def test_0_24():
    return compare('vllm-0.24.0-v1-full', '0.24', *SPEC, *NIXL)


def test_latest():
    return compare('vllm-main-2026-08-17-v1', 'latest')


def test_latest_two_engines():
    return compare('vllm-main-2026-08-17-v1-dp2-api2-multiproc', 'latest', '--data-parallel-size', '2')


def test_openmetrics():
    """The same families by Accept, a counter's TYPE without _total, # EOF at the end."""
    with Sim('--self-traffic', 'rate=40,prompt=100,output=5') as sim:
        wait_for(lambda: (sim.value('vllm:e2e_request_latency_seconds_count') or 0) >= 3)
        page, kind = sim.page('application/openmetrics-text;version=1.0.0,text/plain;q=0.5')
        text = shape(sim.page()[0])
    assert kind.startswith('application/openmetrics-text; version=1.0.0'), kind
    assert page.endswith('# EOF\n')
    found = shape(page)
    assert found['vllm:prompt_tokens'][0] == 'counter' and 'vllm:prompt_tokens_total{' in page
    for family, parts in text.items():
        if not family.endswith('_created'):
            base = family[:-6] if parts[0] == 'counter' else family
            assert base in found, family


if __name__ == '__main__':
    main(globals())
