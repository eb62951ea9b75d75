/*
 * A budget that several owners share: how much of it each has taken. Nothing is set aside for an
 * owner that asks for nothing; when there is no room for more, the owner that has taken most gives
 * way, so that whoever asks for little gets it.
 */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include "base/table.h"

enum budget {
#define BUDGET(name, what, programs, unit, owner) BUDGET_##name,
#include "base/budgets.def"
#undef BUDGET
    BUDGETS
};
/* "answers", as in budgets.def. */
const char *budget_name(enum budget budget);

struct shares {
    enum budget budget;
    struct table owners;
    size_t taken, most; /* most may change at any time */
};

void shares_init(struct shares *shares, enum budget budget, size_t most);
void shares_fini(struct shares *shares);

/* An owner is a text, such as a namespace; NULL and "" are this process itself. */
void shares_take(struct shares *shares, const char *owner, size_t amount);
/* At most what it has taken. */
void shares_give_back(struct shares *shares, const char *owner, size_t amount);
size_t shares_of(const struct shares *shares, const char *owner);

/*
 * The owner may take so much more, where what is taken cannot be taken back: at most three times what
 * is then free, so that there is always room for one that has less.
 */
bool shares_admit(const struct shares *shares, const char *owner, size_t amount);

/*
 * Which owner has to give something back before this one may take so much more. NULL: there is room.
 * Otherwise the one that has taken most, or the one that asks where it would have most. The text lives
 * until that owner has given all back. This process itself never gives way to others.
 */
const char *shares_yields(const struct shares *shares, const char *owner, size_t amount);

#endif
