/* Runs a fuzz target over the files of the folders that are named, each also cut at every eighth of
 * its length. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fuzz.h"

enum { LARGEST = 1024 * 1024 };

/* In memory of its exact size, so that a sanitizer sees a read beyond. */
static void run(const char *data, size_t len)
{
    uint8_t *tight = heap_alloc(len);
    if (len > 0)
        memcpy(tight, data, len);
    LLVMFuzzerTestOneInput(tight, len);
    free(tight);
}

static int replay_file(const char *path)
{
    struct arena *arena = arena_new();
    struct errinfo ei;
    char *data;
    size_t len;
    int count = 0;
    if (file_read(arena, path, LARGEST, &data, &len, &ei) != ERR_OK) {
        fprintf(stderr, "%s\n", ei.text);
        exit(1);
    }
    for (size_t eighth = 0; eighth <= 8; eighth++, count++)
        run(data, len * eighth / 8);
    arena_free(arena);
    return count;
}

static int replay_folder(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char *file = heap_printf("%s/%s", path, entry->d_name);
        count += replay_file(file);
        free(file);
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
