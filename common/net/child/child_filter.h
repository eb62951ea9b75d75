/*
 * System calls that no load test needs: those of administrators (mounts, modules, clocks, kexec),
 * of debuggers (ptrace, reading other processes' memory) and those through which containers have
 * been left (namespaces, keyrings, bpf, io_uring, userfaultfd). They fail with EPERM. Programs of
 * another machine type or of the x32 ABI are ended.
 */
#ifndef NET_CHILD_FILTER_H
#define NET_CHILD_FILTER_H

/* For this process and all it starts; needs no_new_privs. 0, or -1 with errno (ENOSYS: this machine
 * type has no filter). */
int child_filter_apply(void);

#endif
