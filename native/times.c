/* RFC 3339 both ways, by the civil calendar's arithmetic: days are counted in years that begin in March. */
#include "times.h"

static int number(const uint8_t *at, int digits, int64_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++) {
        if (at[i] < '0' || at[i] > '9')
            return 0;
        *value = *value * 10 + (at[i] - '0');
    }
    return 1;
}

static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, in_era = year - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

/* The day before, both ways: most instants of a block are of one day. Read and written by who holds the interpreter. */
enum { DATE = 10 };
static struct {
    int64_t days;
    uint8_t date[DATE];
    int known;
} day_before;

static void remember(int64_t days, const uint8_t *date)
{
    day_before.days = days;
    memcpy(day_before.date, date, DATE);
    day_before.known = 1;
}

/* The days until a date, of digits and hyphens. */
static int date_of(const uint8_t *at, int64_t *days)
{
    static const uint8_t last[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year, month, day;
    if (day_before.known && memcmp(at, day_before.date, DATE) == 0) {
        *days = day_before.days;
        return 1;
    }
    if (at[4] != '-' || at[7] != '-' || !number(at, 4, &year) || !number(at + 5, 2, &month) || !number(at + 8, 2, &day))
        return 0;
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > last[month] + (month == 2 && leap))
        return 0;
    *days = days_of(year, month, day);
    remember(*days, at);
    return 1;
}

int time_of(View text, int64_t *milliseconds)
{
    const uint8_t *at = text.at;
    int64_t days, hour, minute, second, rest = 0;
    if (text.length < 20 || text.length > 30 || at[10] != 'T' || at[13] != ':' || at[16] != ':' ||
        at[text.length - 1] != 'Z')
        return 0;
    if (!date_of(at, &days) || !number(at + 11, 2, &hour) || !number(at + 14, 2, &minute) ||
        !number(at + 17, 2, &second))
        return 0;
    if (text.length > 20) { /* a point and one to nine digits */
        size_t digits = text.length - 21;
        if (at[19] != '.' || digits < 1 || !number(at + 20, (int)digits, &rest))
            return 0;
        for (; digits > 3; digits--)
            rest /= 10;
        for (; digits < 3; digits++)
            rest *= 10;
    }
    if (hour > 23 || minute > 59 || second > 59)
        return 0;
    *milliseconds = (days * 86400 + hour * 3600 + minute * 60 + second) * 1000 + rest;
    return 1;
}

static void two(uint8_t *at, int64_t value)
{
    at[0] = (uint8_t)('0' + value / 10);
    at[1] = (uint8_t)('0' + value % 10);
}

/* The date that so many days lead to. */
static void put_date(int64_t since, uint8_t date[DATE])
{
    if (day_before.known && since == day_before.days) {
        memcpy(date, day_before.date, DATE);
        return;
    }
    int64_t days = since + 719468, era = days / 146097, in_era = days % 146097;
    int64_t years = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * years + years / 4 - years / 100), part = (5 * in_year + 2) / 153;
    int64_t month = part < 10 ? part + 3 : part - 9, year = years + era * 400 + (month <= 2);
    date[4] = date[7] = '-';
    two(date, year / 100);
    two(date + 2, year % 100);
    two(date + 5, month);
    two(date + 8, in_year - (153 * part + 2) / 5 + 1);
    remember(since, date);
}

void put_time(Buffer *buffer, int64_t milliseconds)
{
    uint8_t text[24] = "0000-00-00T00:00:00.000Z";
    int64_t seconds = milliseconds / 1000;
    unsigned rest = (unsigned)(milliseconds % 1000), clock = (unsigned)(seconds % 86400);
    put_date(seconds / 86400, text);
    two(text + 11, clock / 3600);
    two(text + 14, clock / 60 % 60);
    two(text + 17, clock % 60);
    if (rest) {
        text[20] = (uint8_t)('0' + rest / 100);
        two(text + 21, rest % 100);
        put(buffer, text, 24);
    } else {
        text[19] = 'Z';
        put(buffer, text, 20);
    }
}
