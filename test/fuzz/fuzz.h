/*
 * The form of a fuzz target: one file, one function that takes any bytes and asserts what must hold
 * for all of them. libFuzzer drives it in a build with FLAGGER_FUZZ; in every other build replay.c
 * feeds it the kept inputs.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; a finding ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
