"""Exact figures of all requests of hey's logs (-o csv), beside those of a load tester.

percentiles.py FIGURES.json LOG...     exits with 1 if a percentile is not that of all samples within 5 %, or a count is another
"""
import json
import math
import sys

with open(sys.argv[1], encoding='utf-8') as text:
    figures = json.load(text)
samples, failures = [], 0
for name in sys.argv[2:]:
    with open(name, encoding='utf-8') as log:
        for line in log.read().splitlines()[1:]:
            fields = line.split(',')
            samples.append(float(fields[0]) * 1000)
            failures += not 200 <= int(fields[6]) < 400
samples.sort()
good = figures['requests'] == len(samples) and figures['failures'] == failures
for percent in (50, 90, 95, 99):
    exact = samples[math.ceil(percent / 100 * len(samples)) - 1]
    found = figures['p%d' % percent]
    print('p%d: %.4f ms, exactly %.4f ms' % (percent, found, exact))
    good = good and exact * (1 - 1e-9) <= found <= exact * 1.05 * (1 + 1e-9)
print('%d requests in %d logs, %d failures' % (len(samples), len(sys.argv) - 2, failures))
sys.exit(0 if good and samples else 1)
