/* How many of so many there may truly be, when so many were counted (Clopper and Pearson, exact). */
#ifndef JUDGE_BOUNDS_H
#define JUDGE_BOUNDS_H

/* The share below which, or above which, as many or more, or fewer, are counted by this chance. */
double bounds_lower(double counted, double of, double chance);
double bounds_upper(double counted, double of, double chance);

#endif
