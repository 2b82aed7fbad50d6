#include "base/metric.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LABELS_MAX 3
#define SERIES_MAX 4096
#define HASH_SLOTS 256
#define LABEL_VALUE_MAX_BYTES ((size_t)256)
#define KEY_MAX_BYTES ((size_t)8192)

enum metric_type { COUNTER, GAUGE, HISTOGRAM };

static const struct {
	const char *name;
	enum metric_type type;
	const char *labels[LABELS_MAX + 1];
	const char *help;
} families[METRIC_FAMILIES] = {
	[METRIC_BUILD_INFO] = {"zonevac_build_info", GAUGE, {"version"}, "Always 1; the version is the label."},
	[METRIC_LEADER] = {"zonevac_leader", GAUGE, {0}, "1 while this replica holds the lease, 0 otherwise."},
	[METRIC_EVACUATION_PHASE] = {"zonevac_evacuation_phase",
                                 GAUGE,
                                 {"evacuation", "zone", "phase"},
                                 "1 for the phase that the evacuation is in."},
	[METRIC_CHANGES] = {"zonevac_changes",
                        GAUGE,
                        {"evacuation", "kind", "state"},
                        "Changes of an evacuation by resource kind and state."},
	[METRIC_REQUESTS_TOTAL] = {"zonevac_requests_total",
                               COUNTER,
                               {"service", "operation", "code"},
                               "Requests that were answered or given up, by HTTP status or error kind."},
	[METRIC_REQUEST_DURATION] = {"zonevac_request_duration_seconds",
                                 HISTOGRAM,
                                 {"service", "operation"},
                                 "Time from sending a request to the end of its answer."},
	[METRIC_THROTTLED_TOTAL] = {"zonevac_throttled_total",
                                COUNTER,
                                {"service", "operation"},
                                "Answers that asked to come later."},
	[METRIC_CREDENTIALS_EXPIRY] = {"zonevac_credentials_expiry_seconds",
                                   GAUGE,
                                   {0},
                                   "Seconds until the AWS credentials expire; absent when they do not."},
	[METRIC_ORPHANS] = {"zonevac_orphans",
                        GAUGE,
                        {0},
                        "Open journal records of this owner that no ZonalEvacuation accounts for."},
};

static const char *const type_names[] = {[COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};

static const double buckets[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

struct series {
	struct series *next_in_slot;
	char *labels;            /* as printed, without braces: a="1",b="2" */
	double value;            /* of a histogram: the sum */
	uint64_t observed;       /* histogram only */
	uint64_t *bucket_counts; /* histogram only; not cumulative */
};

struct family {
	struct series **series; /* in the order of their first use */
	size_t count, capacity;
	struct series *slots[HASH_SLOTS];
};

struct metrics {
	struct family families[METRIC_FAMILIES];
	struct text key; /* reused */
};

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct metrics *metrics_new(void)
{
	struct metrics *metrics = must(calloc(1, sizeof(*metrics)));

	text_init(&metrics->key, KEY_MAX_BYTES);
	metric_set(metrics, METRIC_BUILD_INFO, 1, ZONEVAC_VERSION, NULL);
	return metrics;
}

void metric_clear(struct metrics *metrics, enum metric_family family)
{
	struct family *of = &metrics->families[family];

	for (size_t i = 0; i < of->count; i++) {
		free(of->series[i]->bucket_counts);
		free(of->series[i]->labels);
		free(of->series[i]);
	}
	free(of->series);
	*of = (struct family){0};
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (int family = 0; family < METRIC_FAMILIES; family++)
		metric_clear(metrics, (enum metric_family)family);
	text_done(&metrics->key);
	free(metrics);
}

/* Escapes of the exposition format, and no invalid UTF-8, which a scraper would refuse as a whole. */
static void append_label_value(struct text *out, const char *value)
{
	size_t left = text_cut(value, strnlen(value, LABEL_VALUE_MAX_BYTES + 1), LABEL_VALUE_MAX_BYTES);
	size_t size;

	for (const char *at = value; left; at += size, left -= size) {
		size = text_utf8(at, left);
		if (!size) {
			text_append(out, "\xef\xbf\xbd"); /* U+FFFD */
			size = 1;
		} else if (*at == '\n') {
			text_append(out, "\\n");
		} else {
			if (*at == '"' || *at == '\\')
				text_append(out, "\\");
			text_append_bytes(out, at, size);
		}
	}
}

static void append_label(struct text *key, const char *name, const char *value)
{
	text_append(key, key->length ? "," : "");
	text_append(key, name);
	text_append(key, "=\"");
	append_label_value(key, value);
	text_append(key, "\"");
}

/* Too few or too many values is a bug of the caller's. */
static void key_from_values(struct text *key, enum metric_family family, va_list values)
{
	const char *const *label = families[family].labels;
	const char *value;

	text_clear(key);
	while ((value = va_arg(values, const char *))) {
		if (!*label)
			abort();
		append_label(key, *label++, value);
	}
	if (*label)
		abort();
}

static void key_other(struct text *key, enum metric_family family)
{
	text_clear(key);
	for (const char *const *label = families[family].labels; *label; label++)
		append_label(key, *label, "other");
}

static size_t slot_of(const struct text *key)
{
	return text_hash(key->at, key->length) % HASH_SLOTS;
}

static struct series *series_find(const struct family *of, const struct text *key)
{
	struct series *series = of->slots[slot_of(key)];

	while (series && strcmp(series->labels, key->at) != 0)
		series = series->next_in_slot;
	return series;
}

static struct series *series_new(struct family *of, enum metric_type type, const struct text *key)
{
	struct series *series = must(calloc(1, sizeof(*series)));
	struct series **slot = &of->slots[slot_of(key)];

	series->labels = must(strdup(key->at));
	if (type == HISTOGRAM)
		series->bucket_counts = must(calloc(BUCKETS, sizeof(*series->bucket_counts)));
	if (of->count == of->capacity) {
		of->capacity = of->capacity ? 2 * of->capacity : 8;
		of->series = must(realloc(of->series, of->capacity * sizeof(struct series *)));
	}
	of->series[of->count++] = series;
	series->next_in_slot = *slot;
	*slot = series;
	return series;
}

static struct series *series_at(struct metrics *metrics, enum metric_family family, va_list values)
{
	struct family *of = &metrics->families[family];
	struct text *key = &metrics->key;

	key_from_values(key, family, values);
	struct series *series = series_find(of, key);
	/* The last place is kept for "other". */
	if (!series && of->count >= SERIES_MAX - 1) {
		key_other(key, family);
		series = series_find(of, key);
	}
	return series ? series : series_new(of, families[family].type, key);
}

void metric_add(struct metrics *metrics, enum metric_family family, double amount, ...)
{
	va_list values;

	va_start(values, amount);
	series_at(metrics, family, values)->value += amount;
	va_end(values);
}

void metric_set(struct metrics *metrics, enum metric_family family, double value, ...)
{
	va_list values;

	va_start(values, value);
	series_at(metrics, family, values)->value = value;
	va_end(values);
}

void metric_observe(struct metrics *metrics, enum metric_family family, double seconds, ...)
{
	va_list values;

	if (families[family].type != HISTOGRAM)
		abort();
	va_start(values, seconds);
	struct series *series = series_at(metrics, family, values);
	va_end(values);
	size_t bucket = 0;
	while (bucket < BUCKETS && seconds > buckets[bucket])
		bucket++;
	if (bucket < BUCKETS)
		series->bucket_counts[bucket]++;
	series->observed++;
	series->value += seconds;
}

static void print_value(struct text *out, const char *name, const char *suffix, const char *labels, double value)
{
	text_append(out, name);
	text_append(out, suffix);
	if (*labels) {
		text_append(out, "{");
		text_append(out, labels);
		text_append(out, "}");
	}
	text_append(out, " ");
	text_append_number(out, value);
	text_append(out, "\n");
}

static void print_bucket(struct text *out, const char *name, const char *labels, const char *bound, uint64_t count)
{
	text_append(out, name);
	text_append(out, "_bucket{");
	text_append(out, labels);
	text_printf(out, "%sle=\"%s\"} %llu\n", *labels ? "," : "", bound, (unsigned long long)count);
}

static void print_histogram(struct text *out, const char *name, const struct series *series)
{
	uint64_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct text bound;
		text_init(&bound, 32);
		text_append_number(&bound, buckets[i]);
		count += series->bucket_counts[i];
		print_bucket(out, name, series->labels, bound.at, count);
		text_done(&bound);
	}
	print_bucket(out, name, series->labels, "+Inf", series->observed);
	print_value(out, name, "_sum", series->labels, series->value);
	print_value(out, name, "_count", series->labels, (double)series->observed);
}

void metric_print(const struct metrics *metrics, struct text *out)
{
	for (int i = 0; i < METRIC_FAMILIES; i++) {
		const struct family *of = &metrics->families[i];
		const char *name = families[i].name;
		if (!of->count)
			continue;
		text_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, families[i].help, name, type_names[families[i].type]);
		for (size_t j = 0; j < of->count; j++) {
			if (families[i].type == HISTOGRAM)
				print_histogram(out, name, of->series[j]);
			else
				print_value(out, name, "", of->series[j]->labels, of->series[j]->value);
		}
	}
}
