/* Emissions and observations as they mostly are: codecs/decode.py for these, everything else is its to read. */
#ifndef SLUICE_RECORDS_H
#define SLUICE_RECORDS_H

#include "emission_state.h"
#pragma GCC visibility push(hidden)

enum { MOST_ASSERTIONS = 256, MOST_DECLARED = 1000, LONGEST_NAME = 256, LAST_OFFSET = 999999999, LAST_ATTEMPT = 1000000 };

typedef struct {
    View emission_id, text, system, model, prompt; /* no length: not there */
    int has_text, has_system, external, ascii;
    int64_t emitted_at, attempt, latest; /* `latest`: the latest instant that it speaks of */
    /* A chain, and an observation's attestation, are the record's own bytes: how they are kept is asked of Python. */
    AssertionState *assertions; /* as far as the record says what they are; `external` is -1 where it does not */
    size_t count, annotations;
} Emission;

/* Each gives 1, or 0 where Python has to look. Views point into the record or the arena. */
int emission_read(Emission *self, View record, Arena *arena);
int observation_read(Observation *self, View record, Arena *arena);

#pragma GCC visibility pop

#endif
