#include "net/rotation.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

enum { MAX_PATHS = 4 };

struct rotation {
    struct arena *arena;
    struct loop *loop;
    struct timer *timer;
    const char *paths[MAX_PATHS];
    int count;
    rotation_fn fn;
    void *arg;
    unsigned char taken[EVP_MAX_MD_SIZE]; /* zero: nothing is */
};

/* The digest of one file goes into that of all. False: it cannot be read. */
static bool add_file(struct arena *arena, EVP_MD_CTX *all, const char *path)
{
    unsigned char digest[EVP_MAX_MD_SIZE] = {0};
    char *text;
    size_t len;

    if (file_read(arena, path, ROTATION_MAX_FILE, &text, &len, NULL) != ERR_OK)
        return false;
    EVP_Digest(text, len, digest, NULL, EVP_sha256(), NULL);
    OPENSSL_cleanse(text, len);
    EVP_DigestUpdate(all, digest, sizeof(digest));
    return true;
}

static bool digest_all(const struct rotation *rotation, unsigned char out[EVP_MAX_MD_SIZE])
{
    struct arena *arena = arena_new();
    EVP_MD_CTX *all = EVP_MD_CTX_new();
    bool read = true;

    memset(out, 0, EVP_MAX_MD_SIZE);
    EVP_DigestInit_ex(all, EVP_sha256(), NULL);
    for (int i = 0; read && i < rotation->count; i++)
        read = add_file(arena, all, rotation->paths[i]);
    if (read)
        EVP_DigestFinal_ex(all, out, NULL);
    EVP_MD_CTX_free(all);
    arena_free(arena);
    return read;
}

void rotation_look(struct rotation *rotation)
{
    unsigned char now[EVP_MAX_MD_SIZE];

    if (digest_all(rotation, now) && memcmp(now, rotation->taken, sizeof(now)) == 0)
        return;
    /* Taken before it is read: what is written in between is noticed at the next look. */
    if (rotation->fn(rotation->arg))
        memcpy(rotation->taken, now, sizeof(now));
}

static void on_look(void *arg)
{
    rotation_look(arg);
}

struct rotation *rotation_start(struct loop *loop, const char *const *paths, int n, rotation_fn fn,
                                void *arg)
{
    struct rotation *rotation = heap_alloc(sizeof(*rotation));

    *rotation = (struct rotation){.arena = arena_new(), .loop = loop, .fn = fn, .arg = arg};
    assert(n <= MAX_PATHS);
    for (int i = 0; i < n; i++) {
        if (paths[i])
            rotation->paths[rotation->count++] = arena_strdup(rotation->arena, paths[i]);
    }
    (void)digest_all(rotation, rotation->taken); /* else whoever reads them complains */
    rotation->timer = timer_start(loop, ROTATION_LOOK_MS, ROTATION_LOOK_MS, on_look, rotation);
    loop_on_hangup(loop, on_look, rotation);
    return rotation;
}

void rotation_stop(struct rotation *rotation)
{
    if (!rotation)
        return;
    timer_stop(rotation->timer);
    loop_off_hangup(rotation->loop, on_look, rotation);
    arena_free(rotation->arena);
    free(rotation);
}
