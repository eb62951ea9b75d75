/* The shortest list of edits that still breaks a rule: delta debugging. */
#ifndef EDITS_SHRINK_H
#define EDITS_SHRINK_H

#include "random_edits/edit.h"

/*
 * Removes lines as long as `breaks` says that the rest still does; it is asked at most `tries`
 * times. Lines keep their order. Returns how many are left, at the beginning of the array.
 */
size_t shrink(struct line *lines, size_t count, int tries,
              bool (*breaks)(void *arg, const struct line *lines, size_t count), void *arg);

#endif
