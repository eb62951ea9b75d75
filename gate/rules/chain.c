#include "gate/rules/chain.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

const char chain_start[CHAIN_HASH_TEXT] =
    "0000000000000000000000000000000000000000000000000000000000000000";

void chain_hash(const char *previous, const char *entry, size_t len, char hash[CHAIN_HASH_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) ||
        !EVP_DigestUpdate(ctx, previous, strlen(previous)) || !EVP_DigestUpdate(ctx, "\n", 1) ||
        !EVP_DigestUpdate(ctx, entry, len) || !EVP_DigestFinal_ex(ctx, digest, NULL))
        abort(); /* out of memory: nothing else can fail */
    EVP_MD_CTX_free(ctx);
    for (size_t i = 0; i < CHAIN_HASH / 2; i++) {
        hash[2 * i] = digits[digest[i] >> 4];
        hash[2 * i + 1] = digits[digest[i] & 15];
    }
    hash[CHAIN_HASH] = '\0';
}

void chain_init(struct chain *chain)
{
    *chain = (struct chain){0};
    memcpy(chain->hash, chain_start, sizeof(chain_start));
}

/* A hash of another length is told as what it is: wrong. */
static void copy_hash(char to[CHAIN_HASH_TEXT], const char *from)
{
    snprintf(to, CHAIN_HASH_TEXT, "%s", strlen(from) <= CHAIN_HASH ? from : "");
}

static void tell_doubt(struct chain *chain, struct findings *findings, const char *what)
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
        tell_doubt(chain, findings, entry_changed);
        return;
    }
    if (was_in_doubt) {
        chain_hash(chain->follows, entry, len, other);
        bool fits = strcmp(other, hash) == 0;
        tell_doubt(chain, findings, fits ? hash_changed : entry_changed);
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
        tell_doubt(chain, findings, entry_changed);
        /* and what this one's hash should be cannot be told */
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
        tell_doubt(chain, findings, hash_changed);
        return;
    }
    tell_doubt(chain, findings, entry_changed);
    if (!head_hash)
        findings_add(findings, "flagger_gate_head: it is empty; expected the end of the history");
    else
        compare_head(chain, findings, head_seq, head_hash);
}
