/*
 * A resourceVersion as one number, its mark: two versions of an object are the same if their marks
 * are. So long as the API's versions are numbers, as those of Kubernetes are, the mark is that
 * number, and tells which one is newer. Of any other text it is a hash.
 */
#ifndef KUBE_VERSION_H
#define KUBE_VERSION_H

#include <stdint.h>

/* Never 0. NULL counts as "", which stands for an object that is not there. */
uint64_t version_mark(const char *text);
/* The version itself; 0: it is no number, and cannot be compared with others. */
uint64_t version_number(uint64_t mark);

#endif
