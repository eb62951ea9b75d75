/* The file of a key that a task names: opened below one folder, whatever the task or the folder's
 * links say. */
#ifndef LOADTESTER_KEY_FILE_H
#define LOADTESTER_KEY_FILE_H

#include "base/arena.h"
#include "base/err.h"

enum { KEY_FILE_MAX = 64 * 1024 };

/*
 * A regular file; ERR_DENIED when the path or a link leads out of the folder. Links within it are
 * followed, since the files of a Secret's volume are links, where the kernel can hold a path below
 * a folder (openat2); elsewhere none is.
 */
enum err key_file_read(struct arena *arena, const char *dir, const char *path, char **out,
                       struct errinfo *ei) MUST_USE;

#endif
