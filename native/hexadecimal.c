#include "hexadecimal.h"
#include "sse.h"

#ifdef __SSE2__
static __m128i digits_of(__m128i nibbles)
{
    const __m128i letters = _mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9));
    return _mm_add_epi8(_mm_add_epi8(nibbles, _mm_set1_epi8('0')), _mm_and_si128(letters, _mm_set1_epi8('a' - '0' - 10)));
}

/* Eight bytes of sixteen digits, in the lower half of each pair; 0 where one is no digit. */
static int nibbles_of(const uint8_t *digits, __m128i *pairs)
{
    const __m128i some = _mm_loadu_si128((const __m128i *)digits);
    const __m128i decimal = bytes_between(some, '0', '9'), letter = bytes_between(some, 'a', 'f');
    const __m128i nibbles = _mm_or_si128(_mm_and_si128(decimal, _mm_sub_epi8(some, _mm_set1_epi8('0'))),
                                         _mm_and_si128(letter, _mm_sub_epi8(some, _mm_set1_epi8('a' - 10))));
    const __m128i high = _mm_slli_epi16(_mm_and_si128(nibbles, _mm_set1_epi16(0xff)), 4);
    *pairs = _mm_or_si128(high, _mm_srli_epi16(nibbles, 8));
    return _mm_movemask_epi8(_mm_or_si128(decimal, letter)) == 0xffff;
}
#endif

void hex_of(const uint8_t *bytes, size_t length, char *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t i = 0;
#ifdef __SSE2__
    const __m128i low = _mm_set1_epi8(15);
    for (; length - i >= 16; i += 16) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(bytes + i));
        const __m128i first = digits_of(_mm_and_si128(_mm_srli_epi16(some, 4), low));
        const __m128i second = digits_of(_mm_and_si128(some, low));
        _mm_storeu_si128((__m128i *)(out + 2 * i), _mm_unpacklo_epi8(first, second));
        _mm_storeu_si128((__m128i *)(out + 2 * i + 16), _mm_unpackhi_epi8(first, second));
    }
#endif
    for (; i < length; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

int bytes_of_hex(const uint8_t *digits, size_t length, uint8_t *out)
{
    size_t i = 0;
#ifdef __SSE2__
    for (; length - i >= 16; i += 16) {
        __m128i first, second;
        if (!nibbles_of(digits + 2 * i, &first) || !nibbles_of(digits + 2 * i + 16, &second))
            return 0;
        _mm_storeu_si128((__m128i *)(out + i), _mm_packus_epi16(first, second));
    }
#endif
    for (; i < length; i++) {
        int high = hex_digit(digits[2 * i]), low = hex_digit(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return 0;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return 1;
}
