#!/usr/bin/env python3
"""Asks /healthz of a daemon again and again while it is attacked, until SIGTERM; then prints, of all answers, the slowest in
milliseconds, the most that the daemon's loop has worked while one was waited for (which other work of the machine does not
lengthen), the daemon's memory at most in KiB, and how many there were. Ends with the shell that has started it.

    beside.py PID URL [FILE]    FILE is made after the first answer
"""
import os
import signal
import socket
import sys
import time
import urllib.parse

if len(sys.argv) not in (3, 4) or not sys.argv[1].isdigit():
    sys.stderr.write('usage: beside.py PID URL [FILE]\n')
    sys.exit(2)
pid, url = sys.argv[1], urllib.parse.urlsplit(sys.argv[2])
parent = os.getppid()
ended = False


def end(*_):
    global ended
    ended = True


def worked_ms():
    """Of the first thread, which runs the loop."""
    with open(f'/proc/{pid}/task/{pid}/schedstat') as stat:
        return int(stat.read().split()[0]) / 1e6


def peak_kib():
    with open(f'/proc/{pid}/status') as status:
        return next((int(line.split()[1]) for line in status if line.startswith('VmHWM')), 0)


def ask():
    with socket.create_connection((url.hostname, url.port), 5) as conn:
        conn.settimeout(5)
        conn.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
        return conn.recv(4096).startswith(b'HTTP/1.1 200')


signal.signal(signal.SIGTERM, end)
slowest = most = peak = count = 0
while not ended and os.getppid() == parent:
    try:
        before, began = worked_ms(), time.monotonic()
        good = ask()
        took, work = (time.monotonic() - began) * 1000, worked_ms() - before
        if good:
            slowest, most, count = max(slowest, took), max(most, work), count + 1
            peak = max(peak, peak_kib())
            if count == 1 and len(sys.argv) > 3:
                open(sys.argv[3], 'w').close()
    except socket.timeout:
        slowest = max(slowest, 5000)
    except (OSError, IndexError, ValueError):
        pass  # it ends, or refuses for a moment
    time.sleep(0.02)
print(int(slowest), int(most), peak, count)
