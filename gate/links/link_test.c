/* link: a signed link is read back, and nothing else is accepted. */
#include "gate/links/link.h"

#include <string.h>

#include "base/encoding.h"
#include "test/unit.h"

#define KEY(text_) ((struct link_key){.text = (text_), .len = sizeof(text_) - 1})
static const struct link_key key = KEY("an old key of thirty-two letters");
static const struct link_key new_key = KEY("the new key, thirty-three letters");

enum { NOW = 1795300000 };

static struct link sample(void)
{
    struct link link = {.action = LINK_APPROVE,
                        .kind = LINK_OF_GATE,
                        .expires_s = NOW + 60,
                        .for_ms = 1800000,
                        .namespace_ = "test",
                        .name = "podinfo",
                        .hook = "promote",
                        .revision = "758df7c9fc",
                        .who = "alice",
                        .issuer = "pipeline",
                        .verified = true,
                        .reason = "la mise en service n\xc2\xb0 7"};
    for (size_t i = 0; i < LINK_ID_BYTES; i++)
        link.id[i] = (unsigned char)(i * 17);
    return link;
}

static const char *token_of(const struct link_key *with, const struct link *link)
{
    static const char *token; /* static: gcc -O2 takes what comes back for its address */
    struct errinfo info;
    assert_int_equal(link_sign(unit_arena, with, link, &token, &info), ERR_OK);
    return token;
}

static enum link_verdict judge(const char *token)
{
    struct link out;
    return link_verify(unit_arena, &key, 1, token, NOW, &out);
}

CASE(a_link_comes_back_as_it_was_made)
{
    struct link link = sample();
    struct link out;
    char id[LINK_ID_TEXT];
    const char *token = token_of(&key, &link);
    assert_int_equal(strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "-_."),
                     strlen(token));
    assert_int_equal(link_verify(arena, &key, 1, token, NOW, &out), LINK_GOOD);
    assert_memory_equal(out.id, link.id, LINK_ID_BYTES);
    assert_int_equal(out.action, LINK_APPROVE);
    assert_int_equal(out.kind, LINK_OF_GATE);
    assert_int_equal(out.expires_s, NOW + 60);
    assert_int_equal(out.for_ms, 1800000);
    assert_string_equal(out.namespace_, "test");
    assert_string_equal(out.name, "podinfo");
    assert_string_equal(out.hook, "promote");
    assert_string_equal(out.revision, "758df7c9fc");
    assert_string_equal(out.who, "alice");
    assert_string_equal(out.issuer, "pipeline");
    assert_string_equal(out.reason, link.reason);
    assert_true(out.verified);
    assert_string_equal(link_id_text(&out, id), "00112233445566778899aabbccddeeff");
}

CASE(what_is_left_out_is_empty)
{
    struct link out;
    const struct link link = {.action = LINK_CLOSE,
                              .kind = LINK_OF_ROLLBACK,
                              .expires_s = NOW + 1,
                              .namespace_ = "n",
                              .name = "c"};
    assert_int_equal(link_verify(arena, &key, 1, token_of(&key, &link), NOW, &out), LINK_GOOD);
    assert_int_equal(out.action, LINK_CLOSE);
    assert_int_equal(out.kind, LINK_OF_ROLLBACK);
    assert_string_equal(out.hook, "");
    assert_string_equal(out.reason, "");
    assert_int_equal(out.for_ms, 0);
    assert_false(out.verified);
}

CASE(every_flipped_bit_is_refused)
{
    struct link link = sample();
    const char *token = token_of(&key, &link);
    char *forged = arena_strdup(arena, token);
    for (size_t i = 0; i < strlen(token); i++) {
        for (int bit = 0; bit < 8; bit++) {
            forged[i] = (char)(token[i] ^ (1 << bit));
            assert_int_not_equal(judge(forged), LINK_GOOD);
        }
        forged[i] = token[i];
    }
    assert_int_equal(judge(forged), LINK_GOOD);
}

CASE(every_other_letter_is_refused)
{
    struct link link = sample();
    const char *token = token_of(&key, &link);
    char *forged = arena_strdup(arena, token);
    for (size_t i = 0; i < strlen(token); i++) {
        for (int c = 1; c < 256; c++) {
            forged[i] = (char)c;
            if (forged[i] != token[i])
                assert_int_not_equal(judge(forged), LINK_GOOD);
        }
        forged[i] = token[i];
    }
}

CASE(cut_or_lengthened_it_is_no_link)
{
    struct link link = sample();
    const char *token = token_of(&key, &link);
    for (size_t len = 0; len < strlen(token); len++)
        assert_int_equal(judge(arena_strndup(arena, token, len)), LINK_NOT_ONE);
    static const char *const tails[] = {"A", "=", ".", " ", "\n", "?", "AAAA", "\xff"};
    EACH_ROW (row, tails) {
        assert_int_equal(judge(arena_printf(arena, "%s%s", token, *row)), LINK_NOT_ONE);
        assert_int_not_equal(judge(arena_printf(arena, "%s%s", *row, token)), LINK_GOOD);
    }
    char *huge = arena_alloc(arena, 2 * LINK_MAX_TOKEN);
    memset(huge, 'A', 2 * LINK_MAX_TOKEN - 1);
    assert_int_equal(judge(huge), LINK_NOT_ONE);
}

/* The signature of another payload, no signature, and signatures that a careless comparison
 * accepts. */
CASE(a_signature_belongs_to_its_payload)
{
    struct link mine = sample();
    struct link yours = sample();
    yours.name = "payments";
    const char *a = token_of(&key, &mine);
    const char *b = token_of(&key, &yours);
    assert_int_equal(judge(arena_printf(arena, "%.*s%s", (int)strcspn(a, "."), a, strchr(b, '.'))),
                     LINK_FORGED);
    unsigned char zeros[32] = {0};
    const char *nothing = base64url_encode(arena, zeros, sizeof(zeros));
    assert_int_equal(judge(arena_printf(arena, "%.*s.%s", (int)strcspn(a, "."), a, nothing)),
                     LINK_FORGED);
    assert_int_equal(judge(arena_printf(arena, ".%s", nothing)), LINK_FORGED);
    assert_int_equal(judge(arena_printf(arena, "%.*s.", (int)strcspn(a, "."), a)), LINK_NOT_ONE);
    assert_int_equal(judge("."), LINK_NOT_ONE);
    assert_int_equal(judge(""), LINK_NOT_ONE);
}

CASE(keys_are_rotated)
{
    struct link link = sample();
    struct link out;
    const char *old = token_of(&key, &link);
    const char *fresh = token_of(&new_key, &link);
    const struct link_key both[] = {new_key, key};
    assert_int_equal(link_verify(arena, both, 2, old, NOW, &out), LINK_GOOD);
    assert_int_equal(link_verify(arena, both, 2, fresh, NOW, &out), LINK_GOOD);
    assert_int_equal(link_verify(arena, both, 1, old, NOW, &out), LINK_FORGED);
    assert_int_equal(link_verify(arena, both, 0, fresh, NOW, &out), LINK_FORGED);
}

CASE(it_ends_at_the_second)
{
    struct link link = sample();
    struct link out = {0};
    const char *token = token_of(&key, &link);
    assert_int_equal(link_verify(arena, &key, 1, token, NOW + 59, &out), LINK_GOOD);
    assert_int_equal(link_verify(arena, &key, 1, token, NOW + 60, &out), LINK_EXPIRED);
    assert_string_equal(out.name, "podinfo");
    assert_int_equal(link_verify(arena, &key, 1, token, INT64_MAX, &out), LINK_EXPIRED);
    /* A forged link is reported as forged, even if it has expired. */
    assert_int_equal(link_verify(arena, &new_key, 1, token, NOW + 60, &out), LINK_FORGED);
}

/* Signed by us, but by a version that wrote something else: rejected as a whole. */
CASE(a_signed_payload_is_still_checked)
{
    struct link link = sample();
    const char *token = token_of(&key, &link);
    char *payload;
    size_t len;
    assert_int_equal(base64url_decode(arena, token, strcspn(token, "."), &payload, &len, NULL),
                     ERR_OK);
    enum { ACTION = 1, KIND = 2, VERIFIED = 3, EXPIRES = 20, FOR = 28, TEXTS = 36 };
    static const struct {
        size_t at;
        unsigned char byte;
    } changes[] = {
        {0, 2},         {ACTION, LINK_ACTIONS}, {KIND, LINK_KINDS},
        {VERIFIED, 2},  {EXPIRES, 0x80},        {FOR, 0x80},
        {TEXTS, 0xff},  {TEXTS + 1, 3},         {TEXTS + 1, 0},
        {TEXTS + 2, 0}, {TEXTS + 2, 0xc0},
    };
    struct link_key signing = key;
    EACH_ROW (row, changes) {
        unsigned char changed[512];
        assert_true(len < sizeof(changed));
        memcpy(changed, payload, len);
        changed[row->at] = row->byte;
        assert_int_equal(judge(link_seal(arena, &signing, changed, len)), LINK_NOT_ONE);
    }
    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(judge(link_seal(arena, &signing, (unsigned char *)payload, cut)),
                         LINK_NOT_ONE);
    assert_int_equal(judge(link_seal(arena, &signing, (unsigned char *)payload, len)), LINK_GOOD);
}

static char *repeat(char c, size_t count)
{
    char *text = arena_alloc(unit_arena, count + 1);
    memset(text, c, count);
    return text;
}

CASE(a_link_that_could_not_be_read_is_not_made)
{
    const char *token = NULL;
    struct errinfo info;
    struct link links[11];
    for (size_t i = 0; i < 11; i++)
        links[i] = sample();
    links[0].namespace_ = "";
    links[1].name = NULL;
    links[2].revision = "";
    links[3].expires_s = 0;
    links[4].for_ms = -1;
    links[5].hook = repeat('h', LINK_MAX_NAME + 1);
    links[6].reason = repeat('r', LINK_MAX_REASON + 1);
    links[7].who = "\xff";
    links[8].issuer = repeat('i', LINK_MAX_NAME + 1);
    links[9].namespace_ = repeat('n', LINK_MAX_NAME + 1);
    links[10].name = "\xc3";
    static const char *const told[11] = {"namespace", "name",      "revision", "expires",
                                         "for",       "hook",      "reason",   "who",
                                         "issuer",    "namespace", "name"};
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(link_sign(arena, &key, &links[i], &token, &info), ERR_INVALID);
        assert_int_equal(strncmp(info.text, told[i], strlen(told[i])), 0);
    }
    assert_null(token);
}

CASE(the_longest_link_fits)
{
    struct link out;
    struct link link = sample();
    char *name = repeat('x', LINK_MAX_NAME);
    link.namespace_ = link.name = link.hook = link.revision = link.who = link.issuer = name;
    link.reason = repeat('r', LINK_MAX_REASON);
    const char *token = token_of(&key, &link);
    assert_true(strlen(token) <= LINK_MAX_TOKEN);
    assert_int_equal(link_verify(arena, &key, 1, token, NOW, &out), LINK_GOOD);
    assert_string_equal(out.reason, link.reason);
}

CASE(words_are_read)
{
    enum link_action action;
    enum link_kind kind;
    for (int i = 0; i < LINK_ACTIONS; i++) {
        assert_true(link_action_parse(link_action_name((enum link_action)i), &action));
        assert_int_equal(action, i);
    }
    assert_true(link_kind_parse("rollback", &kind));
    assert_int_equal(kind, LINK_OF_ROLLBACK);
    assert_false(link_action_parse("", &action));
    assert_false(link_action_parse("Open", &action));
    assert_false(link_kind_parse("gates", &kind));
    for (int i = 0; i < LINK_VERDICTS; i++)
        assert_true(strlen(link_verdict_word((enum link_verdict)i)) > 0 &&
                    strlen(link_verdict_text((enum link_verdict)i)) > 0);
}
