#include "net/file_watch.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

enum { MAX_PATHS = 4 };

struct file_watch {
    struct arena *arena;
    struct loop *loop;
    struct timer *timer;
    const char *paths[MAX_PATHS];
    int count;
    file_watch_fn fn;
    void *arg;
    unsigned char accepted[EVP_MAX_MD_SIZE]; /* digest of the accepted content; zero if none */
};

/* Adds the digest of a file to the digest of all. Returns false if it cannot be read. */
static bool add_file(struct arena *arena, EVP_MD_CTX *all, const char *path)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    char *text;
    size_t len;

    if (file_read(arena, path, FILE_WATCH_MAX_FILE, &text, &len, NULL) != ERR_OK)
        return false;
    EVP_Digest(text, len, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_cleanse(text, len);
    EVP_DigestUpdate(all, digest, sizeof(digest));
    return true;
}

static bool digest_all(const struct file_watch *watch, unsigned char out[EVP_MAX_MD_SIZE])
{
    struct arena *arena = arena_new();
    EVP_MD_CTX *all = EVP_MD_CTX_new();
    bool read = true;

    memset(out, 0, EVP_MAX_MD_SIZE);
    EVP_DigestInit_ex(all, EVP_sha256(), NULL);
    for (int i = 0; read && i < watch->count; i++)
        read = add_file(arena, all, watch->paths[i]);
    if (read)
        EVP_DigestFinal_ex(all, out, NULL);
    EVP_MD_CTX_free(all);
    arena_free(arena);
    return read;
}

void file_watch_check(struct file_watch *watch)
{
    unsigned char now[EVP_MAX_MD_SIZE];

    if (digest_all(watch, now) && memcmp(now, watch->accepted, sizeof(now)) == 0)
        return;
    /* The digest was made before fn reads: a write in between is noticed at the next check. */
    if (watch->fn(watch->arg))
        memcpy(watch->accepted, now, sizeof(now));
}

static void on_check(void *arg)
{
    file_watch_check(arg);
}

struct file_watch *file_watch_start(struct loop *loop, const char *const *paths, int n,
                                    file_watch_fn fn, void *arg)
{
    struct file_watch *watch = heap_alloc(sizeof(*watch));

    *watch = (struct file_watch){.arena = arena_new(), .loop = loop, .fn = fn, .arg = arg};
    assert(n <= MAX_PATHS);
    for (int i = 0; i < n; i++) {
        if (paths[i])
            watch->paths[watch->count++] = arena_strdup(watch->arena, paths[i]);
    }
    (void)digest_all(watch, watch->accepted); /* a failure is reported by the first reader of the
                                               * files */
    watch->timer = timer_start(loop, FILE_WATCH_MS, FILE_WATCH_MS, on_check, watch);
    loop_on_hangup(loop, on_check, watch);
    return watch;
}

void file_watch_stop(struct file_watch *watch)
{
    if (!watch)
        return;
    timer_stop(watch->timer);
    loop_off_hangup(watch->loop, on_check, watch);
    arena_free(watch->arena);
    free(watch);
}
