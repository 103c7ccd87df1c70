/* Times as codecs/times.py has them, but for leap seconds, which are left to it. */
#ifndef SLUICE_TIMES_H
#define SLUICE_TIMES_H

#include "bytes.h"
#pragma GCC visibility push(hidden)

#define LATEST INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* RFC 3339 in UTC with a Z, as Unix milliseconds; finer digits are cut off. */
int time_of(View text, int64_t *milliseconds);

/* Only from 0 to LATEST. */
void put_time(Buffer *buffer, int64_t milliseconds);

#pragma GCC visibility pop

#endif
