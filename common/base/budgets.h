/* The budgets of budgets.def; base/shares.h counts them. */
#ifndef BASE_BUDGETS_H
#define BASE_BUDGETS_H

enum budget {
#define BUDGET(name, what, programs, unit, owner) BUDGET_##name,
#include "base/budgets.def"
#undef BUDGET
    BUDGETS
};

#endif
