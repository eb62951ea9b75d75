"""Becomes the process of a pod: another root, no capabilities but those that are named, another user. See test/lib/pod.

ROOT "UID GID FSGROUP" "CAPABILITY..." NO-NEW-PRIVILEGES NAME=VALUE... -- COMMAND ARGUMENT...
"""
import ctypes
import os
import sys
import warnings  # pylint: disable=unused-import; os.execvpe imports it, and finds nothing in another root

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
NAMES = 'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID'.split()

root, who, added, no_more = sys.argv[1:5]
rest = sys.argv[5:]
at = rest.index('--')
environment = dict(text.split('=', 1) for text in rest[:at])
command = rest[at + 1:]
ids = [int(text) for text in who.split()]
libc = ctypes.CDLL(None, use_errno=True)
keep = {NAMES.index(name) for name in added.split()}
os.chroot(root)
os.chdir('/')
for number in range(64):
    if number not in keep and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 and ctypes.get_errno() != 22:
        raise OSError(ctypes.get_errno(), 'capability %d stays' % number)
if no_more == 'true' and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
    raise OSError(ctypes.get_errno(), 'privileges may still grow')
os.setgroups(ids[2:])
os.setgid(ids[1])
os.setuid(ids[0])
os.execvpe(command[0], command, environment)
