#include "gate/links/link_keys.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "net/file_watch.h"

enum { MAX_FILE = 64 * 1024 };
static const char blanks[] = " \t\r";

/* Result of one reading of the file. */
struct list {
    char *text; /* holds the keys; on the heap, `size` bytes */
    size_t size;
    struct link_key keys[LINK_KEYS_MAX];
    int count;
};

struct link_keys {
    struct file_watch *file_watch;
    char *path;
    struct list list;
};

static void list_fini(struct list *list)
{
    if (list->text)
        OPENSSL_cleanse(list->text, list->size);
    free(list->text);
}

static enum err add_key(struct list *list, const char *text, size_t len, struct errinfo *ei)
{
    if (len < LINK_MIN_KEY)
        return err_set(ei, ERR_INVALID, "a key has %zu characters, expected at least %d", len,
                       LINK_MIN_KEY);
    if (len > LINK_KEY_MAX_LENGTH)
        return err_set(ei, ERR_INVALID, "a key has %zu characters, expected at most %d", len,
                       LINK_KEY_MAX_LENGTH);
    if (list->count == LINK_KEYS_MAX)
        return err_set(ei, ERR_INVALID, "more than %d keys", LINK_KEYS_MAX);
    list->keys[list->count++] = (struct link_key){.text = text, .len = len};
    return ERR_OK;
}

static enum err read_lines(struct list *list, const char *path, struct errinfo *ei)
{
    int number = 0;

    for (const char *line = list->text, *next; *line; line = next) {
        size_t len = strcspn(line, "\n");
        next = line + len + (line[len] == '\n');
        number++;
        size_t before = strspn(line, blanks);
        const char *key = line + before;
        len -= before;
        while (len > 0 && strchr(blanks, key[len - 1]))
            len--;
        if (len == 0 || *key == '#')
            continue;
        enum err err = add_key(list, key, len, ei);
        if (err != ERR_OK)
            return err_wrap(ei, err, "%s:%d", path, number);
    }
    if (list->count == 0)
        return err_set(ei, ERR_INVALID, "%s: there is no key in it", path);
    return ERR_OK;
}

static enum err read_file(struct link_keys *keys, struct errinfo *ei)
{
    struct arena *arena = arena_new();
    struct list list = {0};
    char *text = NULL;
    size_t len = 0;

    enum err err = file_read(arena, keys->path, MAX_FILE, &text, &len, ei);
    if (err == ERR_OK && strlen(text) != len)
        err = err_set(ei, ERR_INVALID, "%s: expected text, found a byte 0", keys->path);
    if (err == ERR_OK) {
        list.size = len + 1;
        list.text = heap_strdup(text);
        err = read_lines(&list, keys->path, ei);
    }
    if (text)
        OPENSSL_cleanse(text, len);
    arena_free(arena);
    if (err != ERR_OK) {
        list_fini(&list);
        return err;
    }
    list_fini(&keys->list);
    keys->list = list;
    return ERR_OK;
}

static bool on_changed(void *arg)
{
    struct link_keys *keys = arg;
    struct errinfo info = {0};

    if (read_file(keys, &info) != ERR_OK) {
        log_warn("link_keys_unread", NULL, info.text);
        return false;
    }
    log_info("link_keys_read", NULL, "the keys of signed links have changed",
             LOG_INT("keys", keys->list.count));
    return true;
}

enum err link_keys_new(struct loop *loop, const char *path, struct link_keys **out,
                       struct errinfo *ei)
{
    struct link_keys *keys = heap_alloc(sizeof(*keys));

    *keys = (struct link_keys){.path = heap_strdup(path)};
    keys->file_watch = file_watch_start(loop, &path, 1, on_changed, keys);
    enum err err = read_file(keys, ei);
    if (err != ERR_OK) {
        link_keys_free(keys);
        return err;
    }
    *out = keys;
    return ERR_OK;
}

void link_keys_stop(struct link_keys *keys)
{
    file_watch_stop(keys->file_watch);
    keys->file_watch = NULL;
}

void link_keys_free(struct link_keys *keys)
{
    if (!keys)
        return;
    file_watch_stop(keys->file_watch);
    list_fini(&keys->list);
    free(keys->path);
    free(keys);
}

const struct link_key *link_keys_list(const struct link_keys *keys, int *count)
{
    *count = keys->list.count;
    return keys->list.keys;
}

void link_keys_poll(struct link_keys *keys)
{
    file_watch_check(keys->file_watch);
}
