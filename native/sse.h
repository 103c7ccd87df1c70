/* What the scanners of sixteen bytes share; empty where the processor has no SSE2. */
#ifndef SLUICE_SSE_H
#define SLUICE_SSE_H

#ifdef __SSE2__
#include <emmintrin.h>

/* All bits of each byte from `first` to `last`, both ASCII; what is not ASCII is in no such range. */
static inline __m128i bytes_between(__m128i bytes, char first, char last)
{
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(first - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(last + 1))));
}
#endif

#endif
