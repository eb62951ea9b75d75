"""Exact figures of all requests of the logs of hey (-o csv) or k6 (--out json), beside those of a load tester.

percentiles.py FIGURES.json LOG...     exits with 1 if a percentile is not that of all samples within 5 %, or a count is another
"""
import json
import math
import sys


def of_hey(lines):
    """Of each request: milliseconds, and whether it failed."""
    for line in lines[1:]:
        fields = line.split(',')
        yield float(fields[0]) * 1000, not 200 <= int(fields[6]) < 400


def of_k6(lines):
    points = [json.loads(line) for line in lines if line.startswith('{"')]
    values = {name: [point['data']['value'] for point in points if point['type'] == 'Point' and point['metric'] == name]
              for name in ('http_req_duration', 'http_req_failed')}
    return zip(values['http_req_duration'], (value > 0 for value in values['http_req_failed']), strict=True)


with open(sys.argv[1], encoding='utf-8') as text:
    figures = json.load(text)
samples, failures = [], 0
for name in sys.argv[2:]:
    with open(name, encoding='utf-8') as log:
        lines = log.read().splitlines()
    for milliseconds, failed in (of_k6 if any(line.startswith('{"') for line in lines) else of_hey)(lines):
        samples.append(milliseconds)
        failures += failed
samples.sort()
good = figures['requests'] == len(samples) and figures['failures'] == failures
for percent in (50, 90, 95, 99):
    exact = samples[math.ceil(percent / 100 * len(samples)) - 1]
    found = figures['p%d' % percent]
    print('p%d: %.4f ms, exactly %.4f ms' % (percent, found, exact))
    good = good and exact * (1 - 1e-9) <= found <= exact * 1.05 * (1 + 1e-9)
print('%d requests in %d logs, %d failures' % (len(samples), len(sys.argv) - 2, failures))
sys.exit(0 if good and samples else 1)
