#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/metric.h"

static struct metrics *metrics;
static struct text out;

static void set_up(void)
{
	metrics = metrics_new();
	text_init(&out, 8 << 20);
}

static void tear_down(void)
{
	metrics_free(metrics);
	text_done(&out);
}

TestSuite(metric, .init = set_up, .fini = tear_down);

static const char *print(void)
{
	text_clear(&out);
	metric_print(metrics, &out);
	cr_assert(!out.overflow);
	return out.at;
}

static void has_line(const char *line)
{
	const char *at = print();
	size_t length = strlen(line);

	while (at && (strncmp(at, line, length) != 0 || at[length] != '\n')) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	cr_assert_not_null(at, "%s\nnot in\n%s", line, out.at);
}

Test(metric, build_info_is_there_at_once_and_alone)
{
	cr_assert_str_eq(print(), "# HELP zonevac_build_info Always 1; the version is the label.\n"
	                          "# TYPE zonevac_build_info gauge\n"
	                          "zonevac_build_info{version=\"" ZONEVAC_VERSION "\"} 1\n");
	metrics_free(NULL);
}

Test(metric, names_types_and_labels_are_those_of_the_documentation)
{
	metric_set(metrics, METRIC_LEADER, 1, NULL);
	metric_set(metrics, METRIC_EVACUATION_PHASE, 1, "e", "use1-az1", "Holding", NULL);
	metric_set(metrics, METRIC_CHANGES, 7, "e", "EcsService", "Settled", NULL);
	metric_add(metrics, METRIC_REQUESTS_TOTAL, 1, "ecs", "UpdateService", "200", NULL);
	metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, "ecs", "UpdateService", NULL);
	metric_set(metrics, METRIC_CREDENTIALS_EXPIRY, 3599.5, NULL);
	metric_set(metrics, METRIC_ORPHANS, 0, NULL);
	has_line("# TYPE zonevac_leader gauge");
	has_line("zonevac_leader 1");
	has_line("zonevac_evacuation_phase{evacuation=\"e\",zone=\"use1-az1\",phase=\"Holding\"} 1");
	has_line("zonevac_changes{evacuation=\"e\",kind=\"EcsService\",state=\"Settled\"} 7");
	has_line("# TYPE zonevac_requests_total counter");
	has_line("zonevac_requests_total{service=\"ecs\",operation=\"UpdateService\",code=\"200\"} 1");
	has_line("# TYPE zonevac_throttled_total counter");
	has_line("zonevac_throttled_total{service=\"ecs\",operation=\"UpdateService\"} 1");
	has_line("zonevac_credentials_expiry_seconds 3599.5");
	has_line("zonevac_orphans 0");
}

Test(metric, add_sums_and_set_replaces)
{
	metric_add(metrics, METRIC_REQUESTS_TOTAL, 1, "ec2", "X", "200", NULL);
	metric_add(metrics, METRIC_REQUESTS_TOTAL, 2, "ec2", "X", "200", NULL);
	metric_add(metrics, METRIC_REQUESTS_TOTAL, 5, "ec2", "X", "500", NULL);
	metric_set(metrics, METRIC_LEADER, 1, NULL);
	metric_set(metrics, METRIC_LEADER, 0, NULL);
	has_line("zonevac_requests_total{service=\"ec2\",operation=\"X\",code=\"200\"} 3");
	has_line("zonevac_requests_total{service=\"ec2\",operation=\"X\",code=\"500\"} 5");
	has_line("zonevac_leader 0");
}

Test(metric, histogram_is_cumulative)
{
	static const double seconds[] = {0.001, 0.005, 0.3, 59, 61, 1000};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		metric_observe(metrics, METRIC_REQUEST_DURATION, seconds[i], "ec2", "X", NULL);
	has_line("# TYPE zonevac_request_duration_seconds histogram");
	has_line("zonevac_request_duration_seconds_bucket{service=\"ec2\",operation=\"X\",le=\"0.005\"} 2");
	has_line("zonevac_request_duration_seconds_bucket{service=\"ec2\",operation=\"X\",le=\"0.25\"} 2");
	has_line("zonevac_request_duration_seconds_bucket{service=\"ec2\",operation=\"X\",le=\"0.5\"} 3");
	has_line("zonevac_request_duration_seconds_bucket{service=\"ec2\",operation=\"X\",le=\"60\"} 4");
	has_line("zonevac_request_duration_seconds_bucket{service=\"ec2\",operation=\"X\",le=\"+Inf\"} 6");
	has_line("zonevac_request_duration_seconds_sum{service=\"ec2\",operation=\"X\"} 1120.306");
	has_line("zonevac_request_duration_seconds_count{service=\"ec2\",operation=\"X\"} 6");
}

Test(metric, label_values_are_escaped)
{
	metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, "a\"b\\c\nd", "\xff\xc3\xa4", NULL);
	has_line("zonevac_throttled_total{service=\"a\\\"b\\\\c\\nd\",operation=\"\xef\xbf\xbd\xc3\xa4\"} 1");
}

Test(metric, clear_forgets_one_family)
{
	metric_set(metrics, METRIC_CHANGES, 7, "e", "k", "s", NULL);
	metric_set(metrics, METRIC_ORPHANS, 3, NULL);
	metric_clear(metrics, METRIC_CHANGES);
	cr_assert_null(strstr(print(), "zonevac_changes"));
	has_line("zonevac_orphans 3");
	metric_set(metrics, METRIC_CHANGES, 1, "e", "k", "s", NULL);
	has_line("zonevac_changes{evacuation=\"e\",kind=\"k\",state=\"s\"} 1");
}

Test(metric, at_most_4096_series_the_rest_is_other)
{
	size_t lines = 0;

	for (int i = 0; i < 6000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", i);
		metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, "s", name, NULL);
	}
	for (const char *at = print(); (at = strstr(at, "\nzonevac_throttled_total{")); at++)
		lines++;
	cr_assert_eq(lines, 4096);
	has_line("zonevac_throttled_total{service=\"s\",operation=\"n4094\"} 1");
	has_line("zonevac_throttled_total{service=\"other\",operation=\"other\"} 1905");
	metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, "s", "n5", NULL);
	has_line("zonevac_throttled_total{service=\"s\",operation=\"n5\"} 2");
}

Test(metric, long_values_are_cut)
{
	char value[1000];

	memset(value, 'v', sizeof(value) - 1);
	value[999] = '\0';
	metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, value, "X", NULL);
	const char *at = strstr(print(), "service=\"");
	cr_assert_eq(strcspn(at + 9, "\""), 256);
}

Test(metric, too_few_labels_is_a_bug, .signal = SIGABRT)
{
	metric_add(metrics, METRIC_THROTTLED_TOTAL, 1, "s", NULL);
}

Test(metric, too_many_labels_is_a_bug, .signal = SIGABRT)
{
	metric_set(metrics, METRIC_LEADER, 1, "surplus", NULL);
}
