#define _GNU_SOURCE /* FNM_EXTMATCH */
#include "real/compare.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "real/difference.h"

enum { SANDBOX, REAL, N_SIDES, AGAIN_MS = 100, LONGEST_MS = 20 * 1000 };

struct side {
    struct compare *compare;
    const struct kube_config *config;
    struct json_object *saved;  /* object: name -> text */
    struct json_object *answer; /* {code, body}; NULL while it is awaited */
};

struct compare {
    struct loop *loop;
    struct http_client *http;
    struct compare_options options;
    struct arena *arena;
    struct side sides[N_SIDES];
    size_t at; /* the request under way */
    struct timer *again;
    int64_t since_ms;
    bool *used; /* rows of allowed */
    size_t found, explained;
};

static struct json_object *request_of(const struct compare *compare)
{
    return json_elem(compare->options.requests, compare->at);
}

/* ${name}: as it was saved. */
static const char *filled(struct side *side, const char *text)
{
    struct arena *arena = side->compare->arena;
    struct buf out;
    buf_init(&out, JSON_MAX_BYTES);
    for (const char *start, *end; (start = strstr(text, "${")) && (end = strchr(start, '}'));
         text = end + 1) {
        const char *name = arena_strndup(arena, start + 2, (size_t)(end - start - 2));
        const char *value = json_str_at(side->saved, name, NULL);
        buf_add(&out, text, (size_t)(start - text));
        buf_puts(&out, value ? value : "(nothing was saved)");
    }
    buf_puts(&out, text);
    const char *copy = arena_strndup(arena, out.data, out.len);
    buf_fini(&out);
    return copy;
}

/* What a path such as "metadata.uid" or "items.0.metadata.name" leads to. */
static struct json_object *walk(struct arena *arena, struct json_object *tree, const char *path)
{
    while (*path && tree) {
        size_t len = strcspn(path, ".");
        const char *key = arena_strndup(arena, path, len);
        if (json_object_get_type(tree) == json_type_array)
            tree = json_elem(tree, (size_t)strtol(key, NULL, 10));
        else
            tree = json_at(tree, key, NULL);
        path += len + (path[len] == '.');
    }
    return tree;
}

static void save(struct side *side, struct json_object *body)
{
    struct json_object *wanted = json_at(request_of(side->compare), "save", NULL);
    if (!wanted)
        return;
    json_object_object_foreach(wanted, name, path)
    {
        struct json_object *value = walk(side->compare->arena, body, json_object_get_string(path));
        json_set_str(side->saved, name, value ? json_object_get_string(value) : "(missing)");
    }
}

/* --- answers */

static struct json_object *lines_of(struct arena *arena, const char *text)
{
    struct json_object *lines = json_own(arena, json_object_new_array());
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        struct json_object *line = NULL;
        if (json_parse(arena, text, (size_t)(end - text), JSON_MAX_BYTES, &line, NULL) == ERR_OK)
            json_object_array_add(lines, json_object_get(line));
    }
    return lines;
}

static struct json_object *body_of(struct side *side, const struct http_result *result)
{
    struct arena *arena = side->compare->arena;
    struct json_object *body = NULL;
    if (json_bool_at(request_of(side->compare), false, "stream", NULL) && result->status == 200)
        return lines_of(arena, result->body);
    if (json_parse(arena, result->body, result->body_len, JSON_MAX_BYTES, &body, NULL) == ERR_OK)
        return body;
    return json_own(arena, json_object_new_string(result->body));
}

static void next(struct compare *compare);
static void judge(struct compare *compare);

static void on_answer(void *arg, const struct http_result *result)
{
    struct side *side = arg;
    struct compare *compare = side->compare;
    side->answer = json_own(compare->arena, json_object_new_object());
    if (result->err == ERR_OK) {
        struct json_object *body = body_of(side, result);
        json_set_int(side->answer, "code", result->status);
        json_set(side->answer, "body", body);
        save(side, body);
    } else {
        json_set_str(side->answer, "failed", result->info->text);
    }
    if (compare->sides[SANDBOX].answer && compare->sides[REAL].answer)
        judge(compare);
}

static const char *type_of(struct json_object *request, const char *method)
{
    const char *type = json_str_at(request, "type", NULL);
    if (type)
        return type;
    return strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json";
}

static void send_to(struct side *side)
{
    struct compare *compare = side->compare;
    struct arena *arena = compare->arena;
    struct json_object *request = request_of(compare), *body = json_at(request, "body", NULL);
    const char *method = json_str_at(request, "method", NULL);
    const char *accept = json_str_at(request, "accept", NULL);
    const char *token = json_str_at(request, "token", NULL);
    method = method ? method : "GET";
    const char *text = "";
    if (body)
        text = json_object_get_type(body) == json_type_string ? json_object_get_string(body)
                                                              : json_text(arena, body);
    const struct http_header headers[] = {
        {"Accept", accept ? accept : "application/json"},
        {"Authorization", arena_printf(arena, "Bearer %s", token ? token : side->config->token)},
        {"Content-Type", body ? type_of(request, method) : "application/json"},
        {"User-Agent", "flagger-testcompare"},
        {NULL, NULL}};
    text = filled(side, text);
    side->answer = NULL;
    http_send(compare->http,
              &(struct http_request){
                  .method = method,
                  .url = arena_printf(arena, "%s%s", side->config->server,
                                      filled(side, json_str_at(request, "path", NULL))),
                  .headers = headers,
                  .body = body ? text : NULL,
                  .body_len = body ? strlen(text) : 0,
                  .tls = &side->config->tls,
                  .proxy = "",
                  .timeout_ms = LONGEST_MS},
              on_answer, side);
}

static void on_again(void *arg)
{
    struct compare *compare = arg;
    compare->again = NULL;
    for (int i = 0; i < N_SIDES; i++)
        if (i != REAL || !compare->options.recorded)
            send_to(&compare->sides[i]);
        else
            compare->sides[i].answer = json_elem(compare->options.recorded, compare->at);
}

/* --- the verdict */

static bool is_allowed(struct compare *compare, const char *name, const char *path)
{
    for (size_t i = 0; i < json_len(compare->options.allowed); i++) {
        struct json_object *row = json_elem(compare->options.allowed, i);
        const char *requests = json_str_at(row, "request", NULL);
        const char *paths = json_str_at(row, "path", NULL);
        if (fnmatch(requests ? requests : "*", name, FNM_EXTMATCH) == 0 &&
            fnmatch(paths ? paths : "*", path, FNM_EXTMATCH) == 0) {
            compare->used[i] = true;
            return true;
        }
    }
    return false;
}

static void on_difference(void *arg, const char *path, const char *one, const char *other)
{
    struct compare *compare = arg;
    const char *name = json_str_at(request_of(compare), "name", NULL);
    bool allowed = is_allowed(compare, name, path);
    if (allowed)
        compare->explained++;
    else
        compare->found++;
    if (!allowed || compare->options.verbose)
        printf("%s%s: %s\n    sandbox %s\n    real    %s\n", allowed ? "(explained) " : "", name,
               path, one, other);
}

/* What each of them keeps about who wrote which field is a story of its own. */
static void drop_managed(struct json_object *tree)
{
    if (json_object_get_type(tree) == json_type_array)
        for (size_t i = 0; i < json_len(tree); i++)
            drop_managed(json_elem(tree, i));
    if (json_object_get_type(tree) != json_type_object)
        return;
    json_object_object_del(tree, "managedFields");
    json_object_object_foreach(tree, key, value)
    {
        (void)key;
        drop_managed(value);
    }
}

static struct json_object *plain_answer(struct side *side)
{
    struct json_object *plain = difference_plain(side->compare->arena, side->answer);
    drop_managed(plain);
    return plain;
}

static void judge(struct compare *compare)
{
    struct json_object *request = request_of(compare);
    int64_t until = json_int_at(request, 0, "until", NULL);
    bool reached = true;
    for (int i = 0; i < N_SIDES; i++)
        reached &= json_int_at(compare->sides[i].answer, 0, "code", NULL) == until;
    if (until && !reached && clock_monotonic_ms() - compare->since_ms < LONGEST_MS) {
        compare->again = timer_start(compare->loop, AGAIN_MS, 0, on_again, compare);
        return;
    }
    struct json_object *real = compare->options.recorded ? compare->sides[REAL].answer
                                                         : plain_answer(&compare->sides[REAL]);
    difference_find(compare->arena, plain_answer(&compare->sides[SANDBOX]), real, on_difference,
                    compare);
    if (compare->options.record)
        json_object_array_add(compare->options.record, json_object_get(real));
    compare->at++;
    next(compare);
}

static void next(struct compare *compare)
{
    if (!request_of(compare)) {
        loop_drain(compare->loop);
        return;
    }
    compare->since_ms = clock_monotonic_ms();
    compare->again = timer_start(compare->loop, 0, 0, on_again, compare);
}

struct compare *compare_new(struct loop *loop, struct http_client *http,
                            const struct compare_options *options)
{
    struct compare *compare = heap_alloc(sizeof(*compare));
    *compare =
        (struct compare){.loop = loop, .http = http, .options = *options, .arena = arena_new()};
    for (int i = 0; i < N_SIDES; i++)
        compare->sides[i] =
            (struct side){.compare = compare,
                          .config = i == REAL ? options->real : options->sandbox,
                          .saved = json_own(compare->arena, json_object_new_object())};
    compare->used = arena_array(compare->arena, json_len(options->allowed) + 1, sizeof(bool));
    next(compare);
    return compare;
}

size_t compare_report(struct compare *compare)
{
    size_t stale = 0;
    for (size_t i = 0; i < json_len(compare->options.allowed); i++) {
        struct json_object *row = json_elem(compare->options.allowed, i);
        if (compare->used[i] || json_bool_at(row, false, "sometimes", NULL))
            continue;
        printf("no longer true: %s, %s: %s\n", json_str_at(row, "request", NULL),
               json_str_at(row, "path", NULL), json_str_at(row, "why", NULL));
        stale++;
    }
    printf("%zu requests, %zu differences, %zu explained, %zu explanations that fit nothing\n",
           compare->at, compare->found, compare->explained, stale);
    if (compare->at < json_len(compare->options.requests))
        stale++; /* it was interrupted */
    if (compare->options.recorded &&
        json_len(compare->options.recorded) != json_len(compare->options.requests)) {
        printf("the recorded answers are those to %zu requests: record them again\n",
               json_len(compare->options.recorded));
        stale++;
    }
    return compare->found + stale;
}

void compare_free(struct compare *compare)
{
    timer_stop(compare->again);
    arena_free(compare->arena);
    free(compare);
}
