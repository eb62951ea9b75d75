/* How the judges of counts, numbers and latency may be broken, to see that it is found. */
#ifndef JUDGE_LIES_H
#define JUDGE_LIES_H

/* The tables of flagger-statistics. */
enum { OF_COUNTS = 1, OF_NUMBERS = 2, OF_LATENCY = 4 };

enum lie {
#define LIE(name, text, tables) LIE_##name,
#include "test/statistics/lies.def"
#undef LIE
    LIES
};

#endif
