#!/usr/bin/env python3
"""page_shape.py PAGE: what does not change from scrape to scrape of a metrics page: one line a family with its type, label names,
values of labels with few of them, bounds, and help. Of pages generated from vLLM's sources these lines are kept in shapes/."""
import sys

from simlib import parse_series

CONSTANT = {'finished_reason', 'reason', 'sleep_state', 'source', 'position', 'generation'}


def number(text):
    return '%g' % float(text) if text != '+Inf' else text


def shape(page):
    """{family: (type, label names, label values, bounds, help)}"""
    families, current, seen = {}, None, {}
    for line in page.split('\n'):
        if line.startswith('# HELP '):
            current = line.split(' ', 3)[2]
            families[current] = [None, None, [], [], line.split(' ', 3)[3]]
            seen[current] = set()
        elif line.startswith('# TYPE '):
            families[current][0] = line.split()[3]
        elif line and not line.startswith('#') and current:
            name, labels = parse_series(line.rsplit(' ', 1)[0])
            family = families[current]
            names = ','.join(k for k in labels if k != 'le')
            if family[1] is None:
                family[1] = names
            for key in labels:
                if key in CONSTANT and (key, labels[key]) not in seen[current]:
                    seen[current].add((key, labels[key]))
                    family[2].append(labels[key])
            if 'le' in labels and number(labels['le']) not in family[3]:
                family[3].append(number(labels['le']))
    return {name: (f[0], f[1] or '', ','.join(f[2]), ' '.join(f[3]), f[4]) for name, f in families.items()}


if __name__ == '__main__':
    with open(sys.argv[1], encoding='utf-8') as file:
        for family, parts in shape(file.read()).items():
            print('\t'.join((family,) + parts))
