#include "base/instant.h"

#include <string.h>

#define US_PER_SECOND INT64_C(1000000)
#define SECONDS_PER_DAY INT64_C(86400)

struct civil {
	int64_t year;
	int month, day, hour, minute, second;
	int64_t us;
};

static int64_t floor_divide(int64_t value, int64_t by)
{
	return value / by - (value % by < 0);
}

/* Days since 1970-01-01, proleptic Gregorian; years begin in March so that the leap day comes last. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	int64_t shifted = year - (month <= 2);
	int64_t era = floor_divide(shifted, 400);
	int64_t year_of_era = shifted - era * 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static struct civil civil_from_wallclock(struct wallclock at)
{
	int64_t seconds = floor_divide(at.us, US_PER_SECOND);
	int64_t days = floor_divide(seconds, SECONDS_PER_DAY);
	int64_t of_day = seconds - days * SECONDS_PER_DAY;
	int64_t shifted = days + 719468;
	int64_t era = floor_divide(shifted, 146097);
	int64_t day_of_era = shifted - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
	int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month = (5 * day_of_year + 2) / 153;

	return (struct civil){
		.year = year_of_era + era * 400 + (month >= 10),
		.month = (int)(month < 10 ? month + 3 : month - 9),
		.day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
		.hour = (int)(of_day / 3600),
		.minute = (int)(of_day / 60 % 60),
		.second = (int)(of_day % 60),
		.us = at.us - seconds * US_PER_SECOND,
	};
}

/* Exactly `count` digits; the place behind them. */
static char *put_digits(char *at, int count, int64_t value)
{
	for (int i = count; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + count;
}

static char *put_separator(char *at, char separator)
{
	*at = separator;
	return at + (separator != '\0');
}

/* "YYYY-MM-DDThh:mm:ss" with these separators ('\0': none) into `at`, which has room; the place behind it. These are written too often for printf. */
static char *put_civil(char *at, const struct civil *c, char of_date, char of_time)
{
	at = put_separator(put_digits(at, 4, c->year), of_date);
	at = put_separator(put_digits(at, 2, c->month), of_date);
	at = put_separator(put_digits(at, 2, c->day), 'T');
	at = put_separator(put_digits(at, 2, c->hour), of_time);
	at = put_separator(put_digits(at, 2, c->minute), of_time);
	return put_digits(at, 2, c->second);
}

const char *wallclock_rfc3339(struct wallclock at, struct arena *arena)
{
	struct civil c = civil_from_wallclock(at);
	char printed[32];
	char *end = put_separator(put_civil(printed, &c, '-', ':'), 'Z');

	return arena_copy(arena, printed, at.us ? (size_t)(end - printed) : 0);
}

const char *wallclock_micro(struct wallclock at, struct arena *arena)
{
	struct civil c = civil_from_wallclock(at);
	char printed[40];
	char *end = put_separator(put_civil(printed, &c, '-', ':'), '.');

	end = put_separator(put_digits(end, 6, c.us), 'Z');
	return arena_copy(arena, printed, at.us ? (size_t)(end - printed) : 0);
}

const char *wallclock_amz(struct wallclock at, struct arena *arena)
{
	struct civil c = civil_from_wallclock(at);
	char printed[32];
	char *end = put_separator(put_civil(printed, &c, '\0', '\0'), 'Z');

	return arena_copy(arena, printed, at.us ? (size_t)(end - printed) : 0);
}

/* Exactly `count` digits; *at moves behind them. */
static bool take_digits(const char **at, int count, int *out)
{
	int value = 0;

	for (int i = 0; i < count; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		value = value * 10 + (**at - '0');
	}
	*out = value;
	return true;
}

static bool take_one_of(const char **at, const char *allowed)
{
	if (!**at || !strchr(allowed, **at))
		return false;
	(*at)++;
	return true;
}

/* ".123456789": at least one digit; what is finer than a microsecond is dropped. */
static bool take_fraction(const char **at, int64_t *us)
{
	int64_t unit = US_PER_SECOND / 10;
	const char *first = ++*at;

	*us = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
		*us += (**at - '0') * unit;
	return *at > first;
}

/* "Z", "+02:00", "-0330" (basic form has Z only). */
static bool take_offset(const char **at, int64_t *offset_seconds)
{
	int hours;
	int minutes;
	bool behind = **at == '-';

	*offset_seconds = 0;
	if (take_one_of(at, "Zz"))
		return true;
	if (!take_one_of(at, "+-") || !take_digits(at, 2, &hours) || !take_one_of(at, ":") ||
	    !take_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*offset_seconds = (hours * 60 + minutes) * (behind ? -60 : 60);
	return true;
}

static bool civil_possible(const struct civil *c)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (c->year % 4 == 0 && c->year % 100 != 0) || c->year % 400 == 0;

	/* 60 is a leap second (RFC 3339, section 5.6); it becomes the next second. */
	return c->month >= 1 && c->month <= 12 && c->day >= 1 && c->day <= days[c->month - 1] + (leap && c->month == 2) &&
	       c->hour <= 23 && c->minute <= 59 && c->second <= 60;
}

static bool take_date_and_time(const char **at, bool basic, struct civil *c)
{
	int year;

	if (!take_digits(at, 4, &year) || (!basic && !take_one_of(at, "-")) || !take_digits(at, 2, &c->month) ||
	    (!basic && !take_one_of(at, "-")) || !take_digits(at, 2, &c->day) || !take_one_of(at, "Tt") ||
	    !take_digits(at, 2, &c->hour) || (!basic && !take_one_of(at, ":")) || !take_digits(at, 2, &c->minute) ||
	    (!basic && !take_one_of(at, ":")) || !take_digits(at, 2, &c->second))
		return false;
	c->year = year;
	return true;
}

static int64_t seconds_of(const struct civil *c)
{
	return days_from_civil(c->year, c->month, c->day) * SECONDS_PER_DAY + c->hour * 3600 + c->minute * 60 + c->second;
}

bool wallclock_parse(const char *string, struct wallclock *out)
{
	const char *at = string;
	struct civil c = {0};
	int64_t offset_seconds = 0;

	if (!string)
		return false;
	bool basic = strnlen(string, 5) == 5 && string[4] != '-';
	if (!take_date_and_time(&at, basic, &c))
		return false;
	if (!basic && *at == '.' && !take_fraction(&at, &c.us))
		return false;
	if (basic ? !take_one_of(&at, "Z") : !take_offset(&at, &offset_seconds))
		return false;
	if (*at || !civil_possible(&c))
		return false;
	out->us = (seconds_of(&c) - offset_seconds) * US_PER_SECOND + c.us;
	return true;
}

/* One of `count` words of three letters, written one after the other; *position counts from 1. */
static bool take_word(const char **at, const char *words, int count, int *position)
{
	for (int i = 0; i < count; i++) {
		if (strncmp(*at, words + 3 * i, 3) == 0) {
			*at += 3;
			*position = i + 1;
			return true;
		}
	}
	return false;
}

static bool take_text(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

bool wallclock_parse_http(const char *string, struct wallclock *out)
{
	const char *at = string;
	struct civil c = {0};
	int weekday;
	int year;

	if (!string || !take_word(&at, "MonTueWedThuFriSatSun", 7, &weekday) || !take_text(&at, ", ") ||
	    !take_digits(&at, 2, &c.day) || !take_text(&at, " ") ||
	    !take_word(&at, "JanFebMarAprMayJunJulAugSepOctNovDec", 12, &c.month) || !take_text(&at, " ") ||
	    !take_digits(&at, 4, &year) || !take_text(&at, " ") || !take_digits(&at, 2, &c.hour) || !take_text(&at, ":") ||
	    !take_digits(&at, 2, &c.minute) || !take_text(&at, ":") || !take_digits(&at, 2, &c.second) ||
	    !take_text(&at, " GMT") || *at)
		return false;
	c.year = year;
	if (!civil_possible(&c))
		return false;
	out->us = seconds_of(&c) * US_PER_SECOND;
	return true;
}
