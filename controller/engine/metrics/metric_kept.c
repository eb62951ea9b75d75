#include "engine/metrics/metric_kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/table.h"

/* SHORTLY_MS: nothing is shown that ends before an answer comes, by whichever clock. */
enum { MOST = 256, SHORTLY_MS = 60000, KEY_SIZE = 2 * SHA256_DIGEST_LENGTH + 1 };

struct item {
    char key[KEY_SIZE];
    char *url, *body;
    int64_t until_ms; /* monotonic */
};

struct metric_kept {
    struct table items;
};

static void key_of(const void *item, const char **first, const char **second)
{
    *first = ((const struct item *)item)->key;
    *second = NULL;
}

/* All that it was given for. */
static void write_key(const struct metric_question *question, char out[KEY_SIZE])
{
    unsigned char sum[SHA256_DIGEST_LENGTH];
    struct arena *arena = arena_new();
    struct json_object *secret = json_at(question->secret, "data", NULL);
    const char *text =
        arena_printf(arena, "%s\n%s\n%s\n%s", question->backend,
                     question->ambient ? json_text_sorted(arena, question->ambient) : "",
                     question->spec ? json_text_sorted(arena, question->spec) : "",
                     secret ? json_text_sorted(arena, secret) : "");

    SHA256((const unsigned char *)text, strlen(text), sum);
    for (size_t i = 0; i < sizeof(sum); i++)
        snprintf(out + 2 * i, 3, "%02x", sum[i]);
    arena_free(arena);
}

static void item_free(struct item *item)
{
    OPENSSL_cleanse(item->body, strlen(item->body));
    free(item->url);
    free(item->body);
    free(item);
}

static void drop(struct metric_kept *kept, const char *key)
{
    struct item *item = table_take(&kept->items, key, NULL);

    if (item)
        item_free(item);
}

struct metric_kept *metric_kept_new(void)
{
    struct metric_kept *kept = heap_alloc(sizeof(*kept));

    *kept = (struct metric_kept){.items = {.key = key_of}};
    return kept;
}

void metric_kept_free(struct metric_kept *kept)
{
    struct item *item;

    if (!kept)
        return;
    for (size_t i = 0; (item = table_next(&kept->items, &i));)
        item_free(item);
    table_fini(&kept->items);
    free(kept);
}

bool metric_kept_find(struct metric_kept *kept, struct arena *arena,
                      const struct metric_question *question, struct metric_kept_reply *out)
{
    char key[KEY_SIZE];

    write_key(question, key);
    const struct item *item = table_get(&kept->items, key, NULL);
    if (!item)
        return false;
    if (item->until_ms <= clock_monotonic_ms()) {
        drop(kept, key);
        return false;
    }
    *out = (struct metric_kept_reply){.url = arena_strdup(arena, item->url),
                                      .body = arena_strdup(arena, item->body)};
    return true;
}

/* The one that ends first makes room. */
static void make_room(struct metric_kept *kept)
{
    struct item *item, *first = NULL;

    if (kept->items.count < MOST)
        return;
    for (size_t i = 0; (item = table_next(&kept->items, &i));) {
        if (!first || item->until_ms < first->until_ms)
            first = item;
    }
    drop(kept, first->key);
}

void metric_kept_put(struct metric_kept *kept, const struct metric_question *question,
                     const struct metric_kept_reply *reply, int64_t lasts_ms)
{
    if (lasts_ms <= SHORTLY_MS)
        return;
    struct item *item = heap_alloc(sizeof(*item));
    *item = (struct item){.url = heap_strdup(reply->url),
                          .body = heap_strdup(reply->body),
                          .until_ms = clock_monotonic_ms() + lasts_ms - SHORTLY_MS};
    write_key(question, item->key);
    drop(kept, item->key);
    make_room(kept);
    (void)table_put(&kept->items, item);
}

void metric_kept_forget(struct metric_kept *kept, const struct metric_question *question)
{
    char key[KEY_SIZE];

    write_key(question, key);
    drop(kept, key);
}
