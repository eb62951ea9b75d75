#include "test/statistics/delays.h"

#include <math.h>
#include <stddef.h>

#include "test/statistics/world.h"

/* Latencies of a service: a median of 80 ms, a p99 of 400 ms (a log-normal distribution). */
static const double MEDIAN_MS = 80, WIDTH = 0.7;

enum { MINUTES = 10, LOOKS_BEFORE = 180, NATIVE_BEFORE = 24, MOST_BOUNDS = 160, PLAIN_BOUNDS = 15 };

static const double plain_bounds[PLAIN_BOUNDS] = {5,   10,  25,  50,   75,   100,  150,     200,
                                                  300, 500, 750, 1000, 2500, 5000, INFINITY};

const struct delay_world delay_worlds[] = {
    {.name = "the same", .per_second = 50},
    {.name = "the same, much traffic", .per_second = 500},
    {.name = "the same, little traffic", .per_second = 5, .few = true},
    {.name = "the same, fine bounds", .per_second = 50, .fine = true},
    {.name = "the same, drift", .per_second = 50, .drift = 2},
    {.name = "the same, clumps of 3", .per_second = 50, .clump = 3, .few = true},
    {.name = "10 % slower, tolerated",
     .per_second = 500,
     .shift = 0.1,
     .tolerate = 0.1,
     .few = true},
    {.name = "the same, fine, tolerated",
     .per_second = 500,
     .shift = 0.1,
     .tolerate = 0.1,
     .fine = true},
    {.name = "the same, native", .per_second = 50, .native = true},
    {.name = "the same, native, little", .per_second = 5, .native = true},
    {.name = "native, coarser canary", .per_second = 50, .native = true, .halved = true},
    {.name = "native, falling primary", .per_second = 50, .native = true, .falls = true},
    {.name = "the same, native, tolerated",
     .per_second = 500,
     .shift = 0.1,
     .tolerate = 0.1,
     .native = true},
    {.name = "a fifth faster", .per_second = 50, .shift = -0.2},
    {.name = "10 % slower", .per_second = 50, .shift = 0.1, .bad = true},
    {.name = "20 % slower", .per_second = 50, .shift = 0.2, .bad = true},
    {.name = "50 % slower", .per_second = 50, .shift = 0.5, .bad = true},
    {.name = "p50 the same, p99 twice", .per_second = 50, .tail = 1, .bad = true},
    {.name = "10 % slower", .per_second = 500, .shift = 0.1, .bad = true},
    {.name = "20 % slower", .per_second = 500, .shift = 0.2, .bad = true},
    {.name = "50 % slower", .per_second = 500, .shift = 0.5, .bad = true},
    {.name = "p50 the same, p99 twice", .per_second = 500, .tail = 1, .bad = true},
    {.name = "10 % slower, native", .per_second = 500, .shift = 0.1, .native = true, .bad = true},
    {.name = "20 %, native, coarser canary",
     .per_second = 500,
     .shift = 0.2,
     .native = true,
     .halved = true,
     .bad = true},
    {.name = "20 %, native, falling",
     .per_second = 500,
     .shift = 0.2,
     .native = true,
     .falls = true,
     .bad = true},
    {.name = "20 %, 10 % tolerated, fine",
     .per_second = 500,
     .shift = 0.2,
     .tolerate = 0.1,
     .fine = true,
     .bad = true},
    {.name = "50 %, 10 % tolerated", .per_second = 500, .shift = 0.5, .tolerate = 0.1, .bad = true},
};
const int delay_worlds_count = sizeof(delay_worlds) / sizeof(delay_worlds[0]);

/* --- shares */

static double normal_share(double z)
{
    return 0.5 * erfc(-z / M_SQRT2);
}

/* By how much a request of this rank takes longer. */
static double stretch(const struct delay_world *world, double rank)
{
    static const double TAIL = 0.9, AT = 0.09;

    return (1 + world->shift) * (1 + world->tail * fmax(rank - TAIL, 0) / AT);
}

/* The share of the canary's requests of at most this time: ranks keep their order. */
static double canary_share(const struct delay_world *world, double ms)
{
    double low = -10, high = 10;

    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2;
        if (MEDIAN_MS * exp(WIDTH * z) * stretch(world, normal_share(z)) <= ms)
            low = z;
        else
            high = z;
    }
    return normal_share(low);
}

struct shares {
    int n;
    double bounds[MOST_BOUNDS], primary[MOST_BOUNDS], canary[MOST_BOUNDS];
};

/* slower: both take that many times as long. */
static struct shares shares_of(const struct delay_world *world, double slower)
{
    struct shares shares = {.n = PLAIN_BOUNDS};

    if (world->fine || world->native)
        shares.n = MOST_BOUNDS;
    for (int i = 0; i < shares.n; i++) {
        double bound = shares.n == PLAIN_BOUNDS ? plain_bounds[i]
                       : i < MOST_BOUNDS - 1    ? 2 * pow(2, i / (world->native ? 8.0 : 12.0))
                                                : INFINITY;
        shares.bounds[i] = bound;
        shares.primary[i] =
            isinf(bound) ? 1 : normal_share(log(bound / slower / MEDIAN_MS) / WIDTH);
        shares.canary[i] = isinf(bound) ? 1 : canary_share(world, bound / slower);
    }
    return shares;
}

/* --- a release */

/* The requests of one look, each bound from those that are left. */
static void draw(struct dice *dice, double requests, double clump, int n, const double shares[],
                 double counts[])
{
    double size = clump > 0 ? clump : 1, left = dice_poisson(dice, requests / size), before = 0;
    double done = 0;

    for (int i = 0; i < n; i++) {
        double part = before < 1 ? (shares[i] - before) / (1 - before) : 1;
        double here = i == n - 1 ? left : dice_binomial(dice, left, fmin(fmax(part, 0), 1));
        left -= here;
        done += here * size;
        counts[i] = done;
        before = shares[i];
    }
}

/* The bounds of buckets with requests, of each second one where the resolution is halved. */
static struct judge_histogram sparse(const struct shares *shares, const double counts[],
                                     bool halved, double bounds[], double kept[])
{
    int step = halved ? 2 : 1, last = shares->n - 1, n = 0;

    for (int i = 0; i < last; i += step) {
        double before = i >= step ? counts[i - step] : 0;
        double after = i + step < last ? counts[i + step] : counts[last];
        if (counts[i] == before && counts[i] == after)
            continue;
        bounds[n] = shares->bounds[i];
        kept[n++] = counts[i];
    }
    bounds[n] = INFINITY;
    kept[n++] = counts[last];
    return (struct judge_histogram){n, bounds, kept};
}

struct judged {
    const struct delay_world *world;
    enum lie lie;
    struct judge_policy policy;
    struct judge_latency latency;
};

/* The counts of one look, of as many bounds as the shares have. */
struct drawn {
    double canary[MOST_BOUNDS], primary[MOST_BOUNDS];
};

static int place_of(const struct shares *shares, double bound)
{
    int i = 0;

    while (shares->bounds[i] != bound)
        i++;
    return i;
}

/* Of the compared bounds, the one beyond which the canary has most beside the primary, in standard
 * deviations. */
static int slowest(const struct judge_latency *latency, const struct shares *shares,
                   const struct drawn *drawn)
{
    double canary = drawn->canary[shares->n - 1], primary = drawn->primary[shares->n - 1];
    double most = -INFINITY;
    int found = 0;

    for (int i = 0; i < latency->n; i++) {
        int at = place_of(shares, latency->bounds[i]);
        double share = (drawn->canary[at] + drawn->primary[at]) / (canary + primary);
        double away =
            (drawn->primary[at] / primary - drawn->canary[at] / canary) / sqrt(share * (1 - share));
        if (away > most) {
            most = away;
            found = i;
        }
    }
    return found;
}

static void forget_clumps(struct judge_latency *latency)
{
    for (int i = 0; i < latency->n; i++) {
        latency->evidence[i].scatter = 0;
        latency->evidence[i].chance = 1e9;
        latency->evidence[i].squares = 1;
    }
}

/* The look counts at this bound alone. */
static void keep_one(struct judge_latency *latency, const struct judge_latency *before, int bound)
{
    for (int i = 0; i < latency->n; i++)
        if (i != bound)
            latency->evidence[i] = before->evidence[i];
}

/* fallen: the primary's resolution is halved. */
static void add(struct judged *judged, const struct shares *shares, const struct drawn *drawn,
                bool has_canary, bool fallen)
{
    const struct delay_world *world = judged->world;
    struct judge_latency *latency = &judged->latency, before = *latency;
    struct judge_policy policy = judged->policy;
    struct judge_histogram canary = {shares->n, shares->bounds, drawn->canary};
    struct judge_histogram primary = {shares->n, shares->bounds, drawn->primary};
    double bounds[2][MOST_BOUNDS], kept[2][MOST_BOUNDS];

    if (world->native) {
        canary = sparse(shares, drawn->canary, world->halved, bounds[0], kept[0]);
        primary = sparse(shares, drawn->primary, fallen, bounds[1], kept[1]);
    }
    if (!has_canary)
        canary = (struct judge_histogram){0};
    if (judged->lie == LIE_TOLERANCE)
        policy.tolerate = (struct judge_tolerance){0};
    for (int times = judged->lie == LIE_TWICE ? 2 : 1; times > 0; times--)
        judge_latency_add(latency, &policy, &canary, &primary);
    if (judged->lie == LIE_CLUMPS)
        forget_clumps(latency);
    if (judged->lie == LIE_AFTER && has_canary)
        keep_one(latency, &before, slowest(latency, shares, drawn));
}

/* Most winnings of one bound, or those of all together, as logarithms. */
static double log_won(const struct judged *judged)
{
    const struct judge_latency *latency = &judged->latency;
    double most = -INFINITY, sum = 0;

    for (int i = 0; i < latency->n; i++) {
        double won = judge_log_worse(&latency->evidence[i], &judged->policy);
        most = fmax(most, won);
        sum += won;
    }
    return judged->lie == LIE_MOST ? most : sum;
}

static bool is_worse(const struct judged *judged)
{
    struct judge_policy policy = judged->policy;

    if (judged->lie == LIE_BOUND)
        policy.false_alarm_rate = sqrt(policy.false_alarm_rate);
    if (judged->lie == LIE_MOST || judged->lie == LIE_PRODUCT)
        return log_won(judged) >= -log(policy.false_alarm_rate);
    return judge_latency_verdict(&judged->latency, &policy) == JUDGE_WORSE;
}

static void look(struct judged *judged, struct dice *dice, const struct shares *shares,
                 double weight, struct delay_outcome *outcome)
{
    const struct delay_world *world = judged->world;
    double requests = world->per_second * LOOK_SECONDS;
    bool fallen = world->falls && outcome->seconds > MINUTES * STEP_SECONDS / 2.0;
    struct drawn drawn = {0};

    draw(dice, requests * (1 - weight), world->clump, shares->n, shares->primary, drawn.primary);
    draw(dice, requests * weight, world->clump, shares->n, shares->canary, drawn.canary);
    add(judged, shares, &drawn, weight > 0, fallen);
    outcome->requests += weight > 0 ? drawn.canary[shares->n - 1] : 0;
}

struct delay_outcome delay_release(const struct delay_world *world, double rate, enum lie lie,
                                   struct dice *dice)
{
    struct judged judged = {
        .world = world,
        .lie = lie,
        .policy = {.false_alarm_rate = rate, .tolerate = {.ratio = world->tolerate}, .share = 1}};
    const struct world none = {0};
    const struct scene scene = {.world = &none, .steps = MINUTES};
    struct shares shares = shares_of(world, 1);
    struct delay_outcome outcome = {0};

    judge_latency_begin(&judged.latency);
    for (int i = 0; i < (world->native ? NATIVE_BEFORE : LOOKS_BEFORE); i++)
        look(&judged, dice, &shares, 0, &outcome);
    while (outcome.seconds < MINUTES * STEP_SECONDS && !outcome.worse) {
        if (world->drift > 0)
            shares = shares_of(world, pow(world->drift, outcome.seconds / scene_seconds(&scene)));
        look(&judged, dice, &shares, scene_weight(&scene, (int)(outcome.seconds / STEP_SECONDS)),
             &outcome);
        outcome.seconds += LOOK_SECONDS;
        outcome.worse = is_worse(&judged);
    }
    return outcome;
}
