#include "lint/facts.h"

enum { MAX_ROUNDS = 20 };

/* Their namespace is the Canary's where they say none, and then so is any. */
static void answer(const struct lint *lint, struct tick *tick)
{
    for (const struct need *need = tick->needs; need; need = need->next) {
        const struct document *document =
            need->kind == NEED_OBJECT && need->name
                ? document_find(lint, need->resource->group, need->resource->kind,
                                need->namespace_ ? need->namespace_ : "", need->name)
                : NULL;
        if (need->kind == NEED_OBJECT)
            fact_object(tick, need, document ? document_object(lint, document) : NULL);
    }
}

void facts_ask(const struct lint *lint, struct tick *tick, facts_question *question,
               void (*found)(void *arg, const char *sentence), void *arg)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        tick_reset(tick);
        if (question(tick, found, arg) != VERDICT_NEED_FACTS || !tick->needs)
            return;
        answer(lint, tick);
    }
}
