#include "mutations/mutation.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "explore.h"

static struct mutation *first, **last = &first;
static const struct mutation *broken; /* the one that is tried */
static bool inside;                   /* its rule is asked, or it has none */

void mutation_add(struct mutation *mutation)
{
    *last = mutation;
    last = &mutation->next;
}

#define ACT(type, name, parameters, arguments)                                                     \
    type wrap_##name parameters __asm__("__wrap_" #name);                                          \
    type wrap_##name parameters                                                                    \
    {                                                                                              \
        return inside && broken->acts.name ? broken->acts.name arguments : real_##name arguments;  \
    }
#include "mutations/acts.def"
#undef ACT

/* --- targets */

const struct target *mutation_real_target;

extern const struct target *real_target_find(const char *api_version,
                                             const char *kind) __asm__("__real_target_find");
const struct target *wrap_target_find(const char *api_version,
                                      const char *kind) __asm__("__wrap_target_find");

#define REPLACE(function)                                                                          \
    broken_target.function =                                                                       \
        broken->target.function ? broken->target.function : mutation_real_target->function

const struct target *wrap_target_find(const char *api_version, const char *kind)
{
    static struct target broken_target;

    mutation_real_target = real_target_find(api_version, kind);
    if (!mutation_real_target)
        return NULL;
    broken_target = *mutation_real_target;
    REPLACE(own_services);
    REPLACE(ready);
    REPLACE(scale_from_zero);
    REPLACE(settle_primary);
    REPLACE(promote);
    REPLACE(is_promoted);
    REPLACE(compare);
    return &broken_target;
}

/* --- the table of rules */

extern const struct rule real_rules[] __asm__("__real_rules");
extern struct rule wrap_rules[] __asm__("__wrap_rules");
struct rule wrap_rules[100];

static enum rule_result ask_inside(struct release *r)
{
    inside = true;
    enum rule_result verdict = broken->ask ? broken->ask(r) : broken->rule(r);
    inside = false;
    return verdict;
}

/* The rules with the broken one in its row. */
static void break_rules(void)
{
    int found = 0;

    inside = !broken->rule;
    assert(n_rules <= sizeof(wrap_rules) / sizeof(wrap_rules[0]));
    for (size_t i = 0; i < n_rules; i++) {
        wrap_rules[i] = real_rules[i];
        if (!broken->rule || real_rules[i].ask != broken->rule)
            continue;
        found++;
        if (broken->row)
            wrap_rules[i] = *broken->row;
        else
            wrap_rules[i].ask = ask_inside;
    }
    assert(found == (broken->rule ? 1 : 0));
}

enum rule_result mutation_nothing(struct release *r)
{
    (void)r;
    return RULE_CONTINUE;
}

struct canary *mutation_canary(struct release *r)
{
    struct canary *copy = ARENA_NEW(r->tick->arena, struct canary);

    *copy = *r->canary;
    r->canary = copy;
    return copy;
}

struct target *mutation_target(struct release *r)
{
    struct target *copy = ARENA_NEW(r->tick->arena, struct target);

    *copy = *r->target;
    r->target = copy;
    return copy;
}

/* --- the program */

/* "NUMBER<tab>what is broken<tab>scenario"; false where there is no such scenario. */
static bool list(void)
{
    bool right = true;
    int number = 0;

    for (const struct mutation *it = first; it; it = it->next) {
        printf("%d\t%s\t%s\n", ++number, it->what, it->scenario);
        if (!scenario_find(it->scenario)) {
            fprintf(stderr, "mutation %d: there is no scenario \"%s\"\n", number, it->scenario);
            right = false;
        }
    }
    return right;
}

static int try_number(long number)
{
    for (broken = first; broken && number > 1; number--)
        broken = broken->next;
    if (number != 1 || !broken || !scenario_find(broken->scenario)) {
        fprintf(stderr, "mutants: expected one number of those that --list names\n");
        return 2;
    }
    break_rules();
    const char *rule = explore(scenario_find(broken->scenario), true);
    if (rule && broken->breaks && strncmp(rule, broken->breaks, strlen(broken->breaks)) != 0) {
        fprintf(stderr, "mutants: it should be found that this does not hold: %s\n",
                broken->breaks);
        return 0;
    }
    return rule ? 1 : 0;
}

/* mutants --list: their names. mutants NUMBER: tries it, and prints which rule of safety does not
 * hold. Exit status 1: one does not, as it should be. */
int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    bool lists = argc == 2 && strcmp(argv[1], "--list") == 0;

    scenarios_read(arena);
    int status = lists ? !list() : try_number(argc == 2 ? strtol(argv[1], NULL, 10) : 0);
    arena_free(arena);
    return status;
}
