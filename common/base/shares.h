/*
 * A budget shared by several owners: counts the amount that each has taken. Nothing is reserved for
 * idle owners; if there is no room for more, the owner with the largest amount has to give back, so
 * small requests are served.
 */
#ifndef BASE_SHARES_H
#define BASE_SHARES_H

#include "base/budgets.h"
#include "base/table.h"

/* The name of a budget in budgets.def, such as "answers". */
const char *budget_name(enum budget budget);

struct shares {
    enum budget budget;
    struct table owners;
    size_t taken, most; /* most may change at any time */
};

void shares_init(struct shares *shares, enum budget budget, size_t most);
void shares_fini(struct shares *shares);

/* An owner is a text, such as a namespace; NULL and "" are this process. An owner with a slash is a
 * part of another: the amount of "a/b" counts for "a" too, and the largest part of the largest
 * owner has to give back. */
void shares_take(struct shares *shares, const char *owner, size_t amount);
/* At most the amount taken. */
void shares_give_back(struct shares *shares, const char *owner, size_t amount);
size_t shares_of(const struct shares *shares, const char *owner);

/*
 * Returns true if the owner may take this amount, for budgets that cannot be taken back: an owner
 * gets at most three times of what is then free, so there is always room for a smaller one.
 */
bool shares_admit(const struct shares *shares, const char *owner, size_t amount);

/*
 * Returns the owner that has to give back before this one may take the amount, NULL if there is
 * room: the largest owner, or this one if it would be the largest. The text lives until that owner
 * has given all back. This process itself is never returned for others.
 */
const char *shares_yields(const struct shares *shares, const char *owner, size_t amount);

#endif
