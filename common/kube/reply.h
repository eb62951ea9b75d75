/* The text of an answer or an event of the API as a tree, within bounds: whoever may write an
 * object must not decide how much memory reading it takes. */
#ifndef KUBE_REPLY_H
#define KUBE_REPLY_H

#include "base/json.h"

/*
 * An object is at most 1.5 MB of text (etcd), which as people write it takes some 20 times as much
 * as a tree. A list is asked for in smaller pages when its tree takes more.
 */
enum { REPLY_MAX_TEXT = 8 * 1024 * 1024, REPLY_MAX_TREE = 40 * 1024 * 1024 };

/* *outline: the whole takes more memory than REPLY_MAX_TREE, and only its outline was read
 * (json_parse_within()): of each object its kind and the plain values of its metadata. */
enum err reply_parse(struct arena *arena, const char *text, size_t len, struct json_object **out,
                     bool *outline, struct errinfo *ei) MUST_USE;

#endif
