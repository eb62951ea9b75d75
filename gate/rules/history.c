#include "gate/rules/history.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/encoding.h"
#include "base/table.h"

/* --- findings */

/* Text from the database must not control the terminal. */
static void make_plain(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

void findings_add(struct findings *findings, const char *fmt, ...)
{
    char text[4 * FINDINGS_WHERE];
    va_list args;

    if (findings->count++ >= FINDINGS_SHOWN)
        return;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len >= (int)sizeof(text))
        text[utf8_cut(text, sizeof(text) - 1)] = '\0';
    make_plain(text);
    fprintf(findings->out, "%s\n", text);
}

void findings_end(const struct findings *findings)
{
    if (findings->count > FINDINGS_SHOWN)
        fprintf(findings->out, "and %" PRId64 " more\n", findings->count - FINDINGS_SHOWN);
}

/* --- the chain of hashes */

const char chain_start[CHAIN_HASH_TEXT] =
    "0000000000000000000000000000000000000000000000000000000000000000";

void chain_hash(const char *previous, const char *entry, size_t len, char hash[CHAIN_HASH_TEXT])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) ||
        !EVP_DigestUpdate(ctx, previous, strlen(previous)) || !EVP_DigestUpdate(ctx, "\n", 1) ||
        !EVP_DigestUpdate(ctx, entry, len) || !EVP_DigestFinal_ex(ctx, digest, NULL))
        abort(); /* out of memory: no other failure is possible */
    EVP_MD_CTX_free(ctx);
    (void)hex_text(digest, CHAIN_HASH / 2, hash);
}

void chain_init(struct chain *chain)
{
    *chain = (struct chain){0};
    memcpy(chain->hash, chain_start, sizeof(chain_start));
}

/* A hash of another length is reported as wrong. */
static void copy_hash(char to[CHAIN_HASH_TEXT], const char *from)
{
    snprintf(to, CHAIN_HASH_TEXT, "%s", strlen(from) <= CHAIN_HASH ? from : "");
}

static void report_doubt(struct chain *chain, struct findings *findings, const char *what)
{
    if (chain->in_doubt)
        findings_add(findings, "%s: %s", chain->where, what);
    chain->in_doubt = false;
}

static const char entry_changed[] =
    "its text or its place was changed: its hash does not follow from them";
static const char hash_changed[] = "its hash was changed";

/* "entry 5", "entries 5 to 7" */
static const char *range(char text[64], int64_t first, int64_t last)
{
    if (first == last)
        snprintf(text, 64, "entry %" PRId64, first);
    else
        snprintf(text, 64, "entries %" PRId64 " to %" PRId64, first, last);
    return text;
}

static void follow(struct chain *chain, struct findings *findings, const char *entry, size_t len,
                   const char *hash)
{
    char expected[CHAIN_HASH_TEXT], other[CHAIN_HASH_TEXT];
    bool was_in_doubt = chain->in_doubt;

    chain_hash(chain->hash, entry, len, expected);
    if (strcmp(expected, hash) == 0) {
        report_doubt(chain, findings, entry_changed);
        return;
    }
    if (was_in_doubt) {
        chain_hash(chain->follows, entry, len, other);
        bool fits = strcmp(other, hash) == 0;
        report_doubt(chain, findings, fits ? hash_changed : entry_changed);
        if (fits)
            return;
    }
    chain->in_doubt = true;
    memcpy(chain->follows, expected, sizeof(expected));
}

void chain_row(struct chain *chain, struct findings *findings, int64_t seq, const char *entry,
               size_t len, const char *hash, const char *where)
{
    char gap[64];

    if (seq <= chain->seq) {
        findings_add(findings, "%s: no entry has such a number", where);
        return;
    }
    if (seq > chain->seq + 1) {
        report_doubt(chain, findings, entry_changed);
        /* the expected hash of this entry is unknown */
        findings_add(findings, "%s: missing", range(gap, chain->seq + 1, seq - 1));
    } else {
        follow(chain, findings, entry, len, hash);
    }
    chain->seq = seq;
    copy_hash(chain->hash, hash);
    snprintf(chain->where, sizeof(chain->where), "%s", where);
}

static void compare_head(const struct chain *chain, struct findings *findings, int64_t head_seq,
                         const char *head_hash)
{
    char text[64];

    if (head_seq > chain->seq)
        findings_add(findings, "%s: the end was cut off", range(text, chain->seq + 1, head_seq));
    else if (head_seq < chain->seq)
        findings_add(findings,
                     "%s: added, or the end was set back: flagger_gate_head says that the history "
                     "ends with entry %" PRId64,
                     range(text, head_seq + 1, chain->seq), head_seq);
    else if (strcmp(head_hash, chain->hash) != 0)
        findings_add(findings, "%s: flagger_gate_head has another hash for the end of the history",
                     range(text, head_seq, head_seq));
}

void chain_end(struct chain *chain, struct findings *findings, int64_t head_seq,
               const char *head_hash)
{
    if (chain->in_doubt && head_hash && head_seq == chain->seq &&
        strcmp(head_hash, chain->follows) == 0) {
        report_doubt(chain, findings, hash_changed);
        return;
    }
    report_doubt(chain, findings, entry_changed);
    if (!head_hash)
        findings_add(findings, "flagger_gate_head: it is empty; expected the end of the history");
    else
        compare_head(chain, findings, head_seq, head_hash);
}

/* --- replay */

/* The kinds of objects: the keys that identify an object, and the keys that must be equal in the
 * table. */
struct kind {
    const char *called;
    const char *const identity[4];
    const char *const rest[12];
};

static const struct kind kinds[REPLAY_THINGS] = {
    [REPLAY_PASS] = {"pass", {"hook", "revision"}, {"expires", "who", "reason"}},
    [REPLAY_VOTE] = {"approval", {"hook", "revision", "who"}, {"expires", "reason"}},
    [REPLAY_POLICY] = {"policy", {NULL}, {"quorum", "approvers", "deadlineMs", "onDeadline"}},
    [REPLAY_FREEZE] = {"freeze",
                       {"freeze"},
                       {"namespace", "name", "from", "until", "weeklyFrom", "weeklyUntil", "zone",
                        "who", "reason"}},
    [REPLAY_LINK] = {"link", {"link"}, {NULL}},
};

/* An object that must exist according to the entries. */
struct claim {
    struct claim *next, **link; /* list of its place */
    const char *place;          /* borrowed from it */
    char *identity;
    char *text; /* the entry's */
    int64_t seq;
    enum replay_thing thing;
    bool seen; /* found in the tables */
    bool used; /* a link */
};

/* A gate; all freezes and links belong to one without a name. */
struct place {
    char *name;
    struct claim *claims[REPLAY_THINGS];
};

struct replay {
    struct table places, claims;
    struct arena *scratch;
};

/* --- texts */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static bool is_empty(struct json_object *value)
{
    return !value ||
           (json_object_is_type(value, json_type_string) && json_object_get_string_len(value) == 0);
}

/* As JSON, so that parts cannot run into each other. */
static const char *joined(struct arena *arena, struct json_object *object, const char *const *keys)
{
    const char *text = "";

    for (; *keys; keys++) {
        struct json_object *value = json_at(object, *keys, NULL);
        text = arena_printf(arena, "%s%s ", text, value ? json_text(arena, value) : "\"\"");
    }
    return text;
}

static const char *place_of(struct arena *arena, struct json_object *object)
{
    static const char *const keys[] = {"kind", "namespace", "name", NULL};

    bool of_none = json_at(object, "freeze", NULL) || json_at(object, "link", NULL);
    return of_none ? "" : joined(arena, object, keys);
}

static const char *identity_of(struct arena *arena, enum replay_thing thing,
                               struct json_object *object)
{
    return arena_printf(arena, "%s %s", kinds[thing].called,
                        joined(arena, object, kinds[thing].identity));
}

static const char *name_of(struct arena *arena, struct json_object *object)
{
    const char *kind = json_str_at(object, "kind", NULL);
    const char *namespace_ = or_empty(json_str_at(object, "namespace", NULL));
    const char *name = or_empty(json_str_at(object, "name", NULL));

    if (!kind)
        return arena_printf(arena, "freeze %" PRId64, json_int_at(object, 0, "freeze", NULL));
    return arena_printf(arena, "%s %s.%s", kind, name, namespace_);
}

const char *replay_where(struct arena *arena, int64_t seq, struct json_object *entry)
{
    const char *at = json_str_at(entry, "at", NULL);

    if (!at || !json_at(entry, "action", NULL))
        return arena_printf(arena, "entry %" PRId64, seq);
    return arena_printf(arena, "entry %" PRId64 " (%s, %s)", seq, at, name_of(arena, entry));
}

/* "pass of gate podinfo.test for hook promote and revision 85d557f47b" */
static const char *describe(struct arena *arena, enum replay_thing thing, struct json_object *row)
{
    const char *hook = or_empty(json_str_at(row, "hook", NULL));
    const char *revision = or_empty(json_str_at(row, "revision", NULL));
    const char *name = name_of(arena, row);

    if (thing == REPLAY_FREEZE)
        return name;
    name = arena_printf(arena, "%s of %s", kinds[thing].called, name);
    if (thing == REPLAY_POLICY)
        return name;
    name = arena_printf(arena, "%s for %s%s and %s%s", name, *hook ? "hook " : "every hook", hook,
                        *revision ? "revision " : "every revision", revision);
    if (thing == REPLAY_VOTE)
        name = arena_printf(arena, "%s by %s", name, or_empty(json_str_at(row, "who", NULL)));
    return name;
}

/* --- expected state */

static void place_key(const void *item, const char **first, const char **second)
{
    *first = ((const struct place *)item)->name;
    *second = "";
}

static void claim_key(const void *item, const char **first, const char **second)
{
    const struct claim *claim = item;

    *first = claim->place;
    *second = claim->identity;
}

struct replay *replay_new(void)
{
    struct replay *replay = heap_alloc(sizeof(*replay));

    *replay = (struct replay){.scratch = arena_new()};
    table_init(&replay->places, place_key);
    table_init(&replay->claims, claim_key);
    return replay;
}

static void claim_free(struct claim *claim)
{
    *claim->link = claim->next;
    if (claim->next)
        claim->next->link = claim->link;
    free(claim->identity);
    free(claim->text);
    free(claim);
}

static void drop(struct replay *replay, struct claim *claim)
{
    table_take(&replay->claims, claim->place, claim->identity);
    claim_free(claim);
}

void replay_free(struct replay *replay)
{
    struct place *place;

    if (!replay)
        return;
    for (size_t i = 0; (place = table_next(&replay->places, &i));) {
        for (int thing = 0; thing < REPLAY_THINGS; thing++) {
            while (place->claims[thing])
                claim_free(place->claims[thing]);
        }
        free(place->name);
        free(place);
    }
    table_fini(&replay->claims);
    table_fini(&replay->places);
    arena_free(replay->scratch);
    free(replay);
}

static struct place *place_get(struct replay *replay, struct json_object *entry)
{
    const char *name = place_of(replay->scratch, entry);
    struct place *place = table_get(&replay->places, name, "");

    if (!place) {
        place = heap_alloc(sizeof(*place));
        *place = (struct place){.name = heap_strdup(name)};
        table_put(&replay->places, place);
    }
    return place;
}

/* Adds the object of the entry, or replaces the older one. */
static void put(struct replay *replay, struct place *place, enum replay_thing thing, int64_t seq,
                struct json_object *entry, const char *text)
{
    const char *identity = identity_of(replay->scratch, thing, entry);
    struct claim *claim = table_get(&replay->claims, place->name, identity);

    if (claim)
        drop(replay, claim);
    claim = heap_alloc(sizeof(*claim));
    *claim = (struct claim){.next = place->claims[thing],
                            .link = &place->claims[thing],
                            .place = place->name,
                            .identity = heap_strdup(identity),
                            .text = heap_strdup(text),
                            .seq = seq,
                            .thing = thing};
    if (claim->next)
        claim->next->link = &claim->next;
    place->claims[thing] = claim;
    table_put(&replay->claims, claim);
}

static void take(struct replay *replay, struct place *place, enum replay_thing thing,
                 struct json_object *entry)
{
    struct claim *claim =
        table_get(&replay->claims, place->name, identity_of(replay->scratch, thing, entry));

    if (claim)
        drop(replay, claim);
}

/* Removes every object with the entry's values of these keys in its identity. */
static void take_all(struct replay *replay, struct place *place, enum replay_thing thing,
                     struct json_object *entry, const char *const *keys)
{
    const char *start = arena_printf(replay->scratch, "%s %s", kinds[thing].called,
                                     joined(replay->scratch, entry, keys));

    for (struct claim *claim = place->claims[thing], *next; claim; claim = next) {
        next = claim->next;
        if (strncmp(claim->identity, start, strlen(start)) == 0)
            drop(replay, claim);
    }
}

/* --- the entries */

static const char *const of_gate[] = {NULL};
static const char *const of_hook[] = {"hook", NULL};
static const char *const of_revision[] = {"hook", "revision", NULL};

/* "link ID" in `via`: the link must not be used twice. */
static void use_link(struct replay *replay, struct json_object *entry)
{
    static const char before[] = "link ";
    const char *via = or_empty(json_str_at(entry, "via", NULL));
    struct json_object *link = json_own(replay->scratch, json_object_new_object());

    if (strncmp(via, before, strlen(before)) != 0)
        return;
    json_set_str(link, "link", via + strlen(before));
    struct claim *claim =
        table_get(&replay->claims, "", identity_of(replay->scratch, REPLAY_LINK, link));
    if (claim)
        claim->used = true;
}

static void on_close(struct replay *replay, struct place *place, struct json_object *entry)
{
    const char *const *keys = is_empty(json_at(entry, "hook", NULL)) ? of_gate : of_hook;

    take_all(replay, place, REPLAY_PASS, entry, keys);
    take_all(replay, place, REPLAY_VOTE, entry, keys);
}

/* The release for which the approval was given has ended. */
static void on_end(struct replay *replay, struct place *place, struct json_object *entry)
{
    bool votes = json_at(entry, "votes", NULL) != NULL;

    take_all(replay, place, votes ? REPLAY_VOTE : REPLAY_PASS, entry, of_revision);
}

bool replay_entry(struct replay *replay, int64_t seq, struct json_object *entry, const char *text)
{
    const char *action = or_empty(json_str_at(entry, "action", NULL));

    arena_reset(replay->scratch);
    struct place *place = place_get(replay, entry);
    use_link(replay, entry);
    if (strcmp(action, "open") == 0) {
        /* With a quorum, the approvals have become the pass. */
        if (json_at(entry, "approvers", NULL))
            take_all(replay, place, REPLAY_VOTE, entry, of_revision);
        put(replay, place, REPLAY_PASS, seq, entry, text);
    } else if (strcmp(action, "approve") == 0) {
        put(replay, place, REPLAY_VOTE, seq, entry, text);
    } else if (strcmp(action, "close") == 0) {
        on_close(replay, place, entry);
    } else if (strcmp(action, "end") == 0) {
        on_end(replay, place, entry);
    } else if (strcmp(action, "policy") == 0 && json_at(entry, "approvers", NULL)) {
        put(replay, place, REPLAY_POLICY, seq, entry, text);
    } else if (strcmp(action, "policy") == 0) {
        take(replay, place, REPLAY_POLICY, entry);
    } else if (strcmp(action, "freeze") == 0) {
        put(replay, place, REPLAY_FREEZE, seq, entry, text);
    } else if (strcmp(action, "unfreeze") == 0) {
        take(replay, place, REPLAY_FREEZE, entry);
    } else if (strcmp(action, "link") == 0) {
        put(replay, place, REPLAY_LINK, seq, entry, text);
    } else {
        return false;
    }
    return true;
}

/* --- the tables */

static struct json_object *entry_of(struct arena *arena, const struct claim *claim)
{
    struct json_object *entry = NULL;

    /* valid JSON: it was parsed before */
    return json_parse(arena, claim->text, strlen(claim->text), JSON_MAX_BYTES, &entry, NULL) ==
                   ERR_OK
               ? entry
               : NULL;
}

/* The time of the row is the start of the transaction that wrote the entry. */
static bool is_of_one_time(struct json_object *row, struct json_object *entry)
{
    enum { LONGEST_MS = 60 * 1000 };
    const char *one = json_str_at(row, "at", NULL), *other = json_str_at(entry, "at", NULL);
    int64_t row_ms, entry_ms;

    return one && other && clock_parse(one, &row_ms, NULL) == ERR_OK &&
           clock_parse(other, &entry_ms, NULL) == ERR_OK &&
           llabs((long long)(row_ms - entry_ms)) <= LONGEST_MS;
}

static void compare(struct arena *arena, struct findings *findings, const struct claim *claim,
                    struct json_object *row)
{
    struct json_object *entry = entry_of(arena, claim);
    const char *what = describe(arena, claim->thing, row);
    const char *where = replay_where(arena, claim->seq, entry);

    for (const char *const *key = kinds[claim->thing].rest; *key; key++) {
        struct json_object *is = json_at(row, *key, NULL), *was = json_at(entry, *key, NULL);
        if (!json_same(is, was) && !(is_empty(is) && is_empty(was)))
            findings_add(findings, "%s: its %s is %s, but %s says %s", what, *key,
                         is ? json_text(arena, is) : "none", where,
                         was ? json_text(arena, was) : "none");
    }
    /* a vote counts for a day */
    if (claim->thing == REPLAY_VOTE && !is_of_one_time(row, entry))
        findings_add(findings, "%s: its time is %s, but that is not the time of %s", what,
                     or_empty(json_str_at(row, "at", NULL)), where);
}

void replay_row(struct replay *replay, struct findings *findings, enum replay_thing thing,
                struct json_object *row)
{
    struct arena *arena = replay->scratch;

    arena_reset(arena);
    struct claim *claim =
        table_get(&replay->claims, place_of(arena, row), identity_of(arena, thing, row));
    if (!claim && thing == REPLAY_LINK)
        return;
    if (!claim) {
        findings_add(findings, "%s: it is there, but the history says that it is not",
                     describe(arena, thing, row));
        return;
    }
    claim->seen = true;
    compare(arena, findings, claim, row);
}

static bool has_expired(const struct claim *claim, struct json_object *entry, const char *now,
                        const char *day_ago)
{
    static const char *const ends[REPLAY_THINGS] = {[REPLAY_PASS] = "expires",
                                                    [REPLAY_VOTE] = "at",
                                                    [REPLAY_FREEZE] = "until",
                                                    [REPLAY_LINK] = "expires"};
    const char *end = ends[claim->thing] ? json_str_at(entry, ends[claim->thing], NULL) : NULL;

    /* Times in the history all have the same format, so that the greater text is the later time. */
    return end && strcmp(end, claim->thing == REPLAY_VOTE ? day_ago : now) <= 0;
}

void replay_end(struct replay *replay, struct findings *findings, const char *now,
                const char *day_ago)
{
    const struct claim *claim;

    for (size_t i = 0; (claim = table_next(&replay->claims, &i));) {
        arena_reset(replay->scratch);
        struct json_object *entry = entry_of(replay->scratch, claim);
        if (claim->seen || has_expired(claim, entry, now, day_ago))
            continue;
        if (claim->thing == REPLAY_LINK && claim->used)
            findings_add(findings, "%s: the link was used, and could be used again",
                         replay_where(replay->scratch, claim->seq, entry));
        else if (claim->thing != REPLAY_LINK)
            findings_add(findings, "%s: the %s is gone, though nobody took it away",
                         replay_where(replay->scratch, claim->seq, entry),
                         describe(replay->scratch, claim->thing, entry));
    }
}
