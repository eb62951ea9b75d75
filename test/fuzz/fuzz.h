/*
 * The form of a fuzz target: one file, one function that takes any bytes and asserts what must hold
 * for all of them. libFuzzer drives it in a build with FLAGGER_FUZZ; in every other build replay.c
 * feeds it the kept inputs.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Returns 0; a finding ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a target does with an input, in an arena of its own: FUZZ_TARGET(arena, data, size) { ... } */
#define FUZZ_TARGET(arena_, data_, size_)                                                          \
    static void fuzz_one(struct arena *arena_, const uint8_t *data_, size_t size_);                \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        struct arena *arena = arena_new();                                                         \
        fuzz_one(arena, data, size);                                                               \
        arena_free(arena);                                                                         \
        return 0;                                                                                  \
    }                                                                                              \
    static void fuzz_one(struct arena *arena_, const uint8_t *data_, size_t size_)

#endif
