#include <criterion/criterion.h>
#include <string.h>

#include "kube/lease.h"

#define ME "pod-a_1111"
#define PATH "/apis/coordination.k8s.io/v1/namespaces/zonevac/leases"

static struct arena arena;
static struct lease lease;
static struct http_request request;
static struct instant now;
static struct wallclock wall;

static void begin(void)
{
	arena_init(&arena, "test", (size_t)64 << 20);
	now = (struct instant){1000000};
	wall = (struct wallclock){1767323045123456};
	lease_init(&lease, "zonevac", "zonevac", ME, now);
}

static void end(void)
{
	arena_done(&arena);
}

TestSuite(lease, .init = begin, .fini = end);

static void pass(int64_t ms)
{
	now = instant_after(now, ms);
	wall = wallclock_after_ms(wall, ms);
}

static bool ask(void)
{
	return lease_ask(&lease, now, wall, 0, &arena, &request);
}

static void expect(const char *method)
{
	cr_assert(ask(), "%s expected", method);
	cr_assert_str_eq(request.method, method);
	cr_assert_eq(request.deadline_ms, 5000);
	cr_assert_not(ask(), "one at a time");
}

static void fail(enum error_kind kind)
{
	struct error error;

	error_set(&error, kind, "no");
	lease_hear(&lease, now, 0, &arena, NULL, &error);
}

static void answer(const char *body)
{
	struct http_response response = {.status = 200, .body = body, .body_length = strlen(body)};

	lease_hear(&lease, now, 0, &arena, &response, NULL);
}

/* What the API server sends back for what was just written. */
static void echo(const char *version)
{
	struct error error;
	struct json *object = json_parse(&arena, request.body, request.body_length, &error);
	struct json *copy = json_copy(&arena, object);
	struct json *metadata = json_copy(&arena, json_get(copy, "metadata"));

	json_set_string(metadata, "resourceVersion", version);
	json_set(copy, "metadata", metadata);
	answer(json_print(copy, &arena));
}

static const char *record(const char *version, const char *holder, int duration_s, const char *renewed, int transitions)
{
	return arena_printf(
		&arena,
		"{\"metadata\":{\"name\":\"zonevac\",\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"%s\","
		"\"leaseDurationSeconds\":%d,\"acquireTime\":\"2001-01-01T00:00:00.000000Z\",\"renewTime\":\"%s\","
		"\"leaseTransitions\":%d}}",
		version, holder, duration_s, renewed, transitions);
}

static const struct json *sent(const char *path)
{
	struct error error;

	return json_path(json_parse(&arena, request.body, request.body_length, &error), path);
}

static void lead(void)
{
	expect("GET");
	fail(ERROR_ABSENT);
	expect("POST");
	echo("1");
	cr_assert(lease.leading);
}

Test(lease, absent_is_created_at_once)
{
	expect("GET");
	cr_assert_str_eq(request.path, PATH "/zonevac");
	fail(ERROR_ABSENT);
	expect("POST");
	cr_assert_str_eq(request.path, PATH);
	cr_assert_str_eq(
		request.body,
		"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"zonevac\",\"namespace\":\"zonevac\"},"
		"\"spec\":{\"holderIdentity\":\"" ME "\",\"leaseDurationSeconds\":15,"
		"\"acquireTime\":\"2026-01-02T03:04:05.123456Z\",\"renewTime\":\"2026-01-02T03:04:05.123456Z\",\"leaseTransitions\":0}}");
	cr_assert_not(lease_valid(&lease, now));
	echo("1");
	cr_assert(lease_valid(&lease, now));
}

Test(lease, somebody_was_faster_to_create)
{
	expect("GET");
	fail(ERROR_ABSENT);
	expect("POST");
	fail(ERROR_CONFLICT);
	cr_assert_not(ask());
	pass(2000);
	expect("GET");
	cr_assert_not(lease.leading);
}

Test(lease, free_one_is_taken_at_once)
{
	expect("GET");
	answer(record("5", "", 1, "2001-01-01T00:00:00.000000Z", 3));
	expect("PUT");
	cr_assert_str_eq(json_string(sent("metadata.resourceVersion")), "5");
	cr_assert_str_eq(json_string(sent("spec.holderIdentity")), ME);
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 4);
	echo("6");
	cr_assert(lease_valid(&lease, now));
}

/* As somebody may have written it: the API server takes 32 bits, none of them a sign. */
Test(lease, transitions_that_cannot_grow_begin_anew)
{
	expect("GET");
	answer(record("5", "", 1, "2001-01-01T00:00:00.000000Z", INT32_MAX));
	expect("PUT");
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 0);
	echo("6");
	cr_assert(lease_valid(&lease, now));
}

Test(lease, remote_times_are_never_compared_with_our_clock)
{
	expect("GET");
	answer(record("5", "pod-b", 15, "2001-01-01T00:00:00.000000Z", 3));
	cr_assert_not(ask());
	pass(2000);
	expect("GET");
	answer(record("5", "pod-b", 15, "2001-01-01T00:00:00.000000Z", 3));
	cr_assert_not(ask(), "an old renewTime is no reason to take it");
	cr_assert_not(lease.leading);
}

/* Look every 2.2 s at a record that does not change; returns when it was first written over. */
static int64_t ms_until_taken(int duration_s)
{
	struct instant start = now;

	for (int i = 0; i < 100; i++) {
		if (ask() && strcmp(request.method, "PUT") == 0)
			return instant_between_ms(start, now);
		answer(record("5", "pod-b", duration_s, "2040-01-01T00:00:00.000000Z", 3));
		if (lease.due.ms > now.ms)
			pass(lease.due.ms - now.ms);
	}
	return -1;
}

Test(lease, is_taken_over_after_the_observed_time_only)
{
	int64_t ms = ms_until_taken(15);

	cr_assert_geq(ms, 15000);
	cr_assert_leq(ms, 17000);
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 4);
	echo("6");
	cr_assert(lease.leading);
}

Test(lease, the_records_own_duration_counts)
{
	cr_assert_geq(ms_until_taken(60), 60000);
}

Test(lease, each_seen_renewal_starts_the_time_anew)
{
	for (int i = 0; i < 30; i++) {
		expect("GET");
		answer(record("5", "pod-b", 15, arena_printf(&arena, "2026-01-02T03:04:%02d.000000Z", i), 3));
		pass(2000);
	}
	cr_assert_not(lease.leading);
	cr_assert(instant_between_ms(lease.observed_at, now) <= 2000);
}

Test(lease, conflict_while_taking_over_is_a_failed_attempt)
{
	ms_until_taken(15);
	fail(ERROR_CONFLICT);
	cr_assert_not(ask());
	pass(2000);
	expect("GET");
	answer(record("9", "pod-c", 15, "2026-01-02T03:04:05.000000Z", 4));
	cr_assert_not(ask());
	cr_assert_not(lease.leading);
}

Test(lease, retry_while_acquiring_is_jittered)
{
	struct error error;

	error_set(&error, ERROR_SERVER, "no");
	expect("GET");
	lease_hear(&lease, now, UINT32_MAX, &arena, NULL, &error);
	cr_assert_eq(lease.due.ms - now.ms, 4400);
	pass(4400);
	expect("GET");
	fail(ERROR_SERVER);
	cr_assert_eq(lease.due.ms - now.ms, 2000);
}

Test(lease, is_renewed_every_two_seconds_from_the_time_of_sending)
{
	lead();
	cr_assert_not(ask());
	pass(2000);
	expect("PUT");
	cr_assert_str_eq(json_string(sent("metadata.resourceVersion")), "1");
	cr_assert_str_eq(json_string(sent("spec.acquireTime")), "2026-01-02T03:04:05.123456Z");
	cr_assert_str_eq(json_string(sent("spec.renewTime")), "2026-01-02T03:04:07.123456Z");
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 0);
	pass(700);
	echo("2");
	cr_assert_eq(lease.renewed_at.ms, now.ms - 700);
	pass(1300);
	expect("PUT");
	cr_assert_str_eq(json_string(sent("metadata.resourceVersion")), "2");
}

Test(lease, is_lost_for_good_after_ten_seconds)
{
	lead();
	pass(2000);
	expect("PUT");
	pass(5000);
	fail(ERROR_TIMEOUT);
	cr_assert(lease_valid(&lease, now));
	pass(2999);
	cr_assert(lease_valid(&lease, now));
	pass(1);
	cr_assert_not(lease_valid(&lease, now));
	cr_assert(lease.lost);
	pass(100000);
	cr_assert_not(ask(), "never again in this process");
}

Test(lease, is_lost_while_a_renewal_hangs)
{
	lead();
	pass(2000);
	expect("PUT");
	pass(8000);
	cr_assert_not(lease_valid(&lease, now));
	echo("2");
	cr_assert_not(lease_valid(&lease, now), "an answer that came too late does not bring it back");
}

Test(lease, conflict_while_leading_is_looked_into_at_once)
{
	lead();
	pass(2000);
	expect("PUT");
	fail(ERROR_CONFLICT);
	expect("GET");
	answer(record("7", ME, 15, "2026-01-02T03:04:06.000000Z", 0));
	expect("PUT");
	cr_assert_str_eq(json_string(sent("metadata.resourceVersion")), "7");
	cr_assert_str_eq(json_string(sent("spec.acquireTime")), "2001-01-01T00:00:00.000000Z");
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 0);
	echo("8");
	cr_assert(lease_valid(&lease, now));
}

Test(lease, another_holder_ends_it_at_once)
{
	lead();
	pass(2000);
	expect("PUT");
	fail(ERROR_CONFLICT);
	expect("GET");
	answer(record("7", "pod-b", 15, "2026-01-02T03:04:06.000000Z", 1));
	cr_assert(lease.lost);
	cr_assert_not(lease_valid(&lease, now));
}

Test(lease, failed_renewals_are_tried_again_within_the_deadline)
{
	lead();
	for (int i = 0; i < 4; i++) {
		pass(2000);
		cr_assert(ask());
		fail(ERROR_UNREACHABLE);
		cr_assert_not(ask());
	}
	cr_assert(lease_valid(&lease, now));
	pass(1000);
	cr_assert_not(ask());
	cr_assert(lease_valid(&lease, now));
}

Test(lease, deleted_by_hand_is_made_again)
{
	lead();
	pass(2000);
	expect("PUT");
	fail(ERROR_ABSENT);
	pass(2000);
	expect("GET");
	fail(ERROR_ABSENT);
	expect("POST");
	cr_assert_null(sent("metadata.resourceVersion"));
	echo("20");
	cr_assert(lease_valid(&lease, now));
}

Test(lease, an_answer_that_is_no_lease_is_a_failed_attempt)
{
	expect("GET");
	answer("<html>login</html>");
	cr_assert_not(ask());
	pass(2000);
	expect("GET");
	answer("{\"kind\":\"Status\"}");
	cr_assert_not(lease.leading);
}

Test(lease, release_gives_it_up_with_a_short_duration)
{
	lead();
	pass(1000);
	cr_assert(lease_ask_release(&lease, wall, &arena, &request));
	cr_assert_str_eq(request.method, "PUT");
	cr_assert_str_eq(json_string(sent("spec.holderIdentity")), "");
	cr_assert_eq(json_integer(sent("spec.leaseDurationSeconds"), 0), 1);
	cr_assert_eq(json_integer(sent("spec.leaseTransitions"), -1), 0);
	cr_assert_str_eq(json_string(sent("spec.acquireTime")), json_string(sent("spec.renewTime")));
	cr_assert_str_eq(json_string(sent("metadata.resourceVersion")), "1");
	pass(5000);
	cr_assert_not(ask());
	echo("2");
	cr_assert(lease.released);
	cr_assert_not(lease.lost);
	cr_assert_not(lease_valid(&lease, now));
	cr_assert_not(lease_ask_release(&lease, wall, &arena, &request));
	pass(5000);
	cr_assert_not(ask());
}

Test(lease, release_after_a_conflict_reads_first_and_is_bounded)
{
	int tries = 0;

	lead();
	cr_assert(lease_ask_release(&lease, wall, &arena, &request));
	fail(ERROR_CONFLICT);
	cr_assert(lease_ask_release(&lease, wall, &arena, &request));
	cr_assert_str_eq(request.method, "GET");
	answer(record("7", ME, 15, "2026-01-02T03:04:06.000000Z", 0));
	while (lease_ask_release(&lease, wall, &arena, &request) && tries++ < 10)
		fail(ERROR_UNREACHABLE);
	cr_assert_eq(tries, 2);
}

Test(lease, nothing_to_release_when_not_leading_or_asking)
{
	cr_assert_not(lease_ask_release(&lease, wall, &arena, &request));
	lead();
	pass(2000);
	expect("PUT");
	cr_assert_not(lease_ask_release(&lease, wall, &arena, &request));
}

static void find_free(void)
{
	expect("GET");
	answer(record("7", "", 1, "2026-01-01T00:00:00.000000Z", 3));
}

Test(lease, reluctant_takes_what_has_been_free_for_half_a_minute)
{
	struct instant began = now;

	lease_set_reluctant(&lease, true, now);
	find_free();
	while (!lease.leading && instant_between_ms(began, now) < 60000) {
		pass(500);
		if (!ask())
			continue;
		if (request.method[0] == 'P')
			echo("8");
		else
			answer(record("7", "", 1, "2026-01-01T00:00:00.000000Z", 3));
	}
	cr_assert(lease.leading);
	cr_assert(lease.taken_reluctantly);
	cr_assert_geq(instant_between_ms(began, now), 30000);
	cr_assert_leq(instant_between_ms(began, now), 36000);
}

Test(lease, reluctant_counts_anew_when_somebody_held_it_meanwhile)
{
	lease_set_reluctant(&lease, true, now);
	find_free();
	pass(20000);
	expect("GET");
	answer(record("8", "pod-b_2222", 15, "2026-01-01T00:00:10.000000Z", 4));
	pass(14000);
	expect("GET");
	answer(record("9", "", 1, "2026-01-01T00:00:12.000000Z", 4));
	pass(20000);
	expect("GET");
	answer(record("9", "", 1, "2026-01-01T00:00:12.000000Z", 4));
	cr_assert_not(lease.leading);
	cr_assert_neq(lease.due.ms, now.ms);
}

Test(lease, no_longer_reluctant_it_takes_what_is_free_at_once)
{
	lease_set_reluctant(&lease, true, now);
	find_free();
	pass(100);
	cr_assert_not(ask());
	lease_set_reluctant(&lease, false, now);
	find_free();
	expect("PUT");
	echo("8");
	cr_assert(lease.leading);
	cr_assert_not(lease.taken_reluctantly);
}

/* It was right where it sits when it took it; another evacuation is another matter. */
Test(lease, what_was_taken_reluctantly_is_held_gladly_once_there_is_no_reason_any_more)
{
	lease_set_reluctant(&lease, true, now);
	find_free();
	for (int i = 0; i < 200 && !lease.leading; i++) {
		pass(500);
		if (!ask())
			continue;
		if (request.method[0] == 'P')
			echo("8");
		else
			answer(record("7", "", 1, "2026-01-01T00:00:00.000000Z", 3));
	}
	cr_assert(lease.taken_reluctantly);
	lease_set_reluctant(&lease, true, now);
	cr_assert(lease.taken_reluctantly);
	lease_set_reluctant(&lease, false, now);
	lease_set_reluctant(&lease, true, now);
	cr_assert(lease.leading);
	cr_assert_not(lease.taken_reluctantly);
}

Test(lease, a_reluctant_leader_goes_on_leading)
{
	lead();
	lease_set_reluctant(&lease, true, now);
	pass(2000);
	expect("PUT");
	echo("2");
	cr_assert(lease.leading);
	pass(2000);
	expect("PUT");
	fail(ERROR_CONFLICT);
	expect("GET");
	fail(ERROR_ABSENT); /* deleted by hand */
	expect("POST");
	echo("3");
	cr_assert(lease_valid(&lease, now));
	cr_assert_not(lease.taken_reluctantly);
}

Test(lease, effects_may_go_until_ten_seconds_after_the_last_renewal_was_sent)
{
	struct instant sent;

	lead();
	pass(2000);
	expect("PUT");
	sent = now;
	pass(3000);
	echo("2");
	cr_assert_eq(lease_until(&lease).ms, sent.ms + 10000);
	now = instant_after(lease_until(&lease), -1);
	cr_assert(lease_valid(&lease, now));
	now = lease_until(&lease);
	cr_assert_not(lease_valid(&lease, now));
}

Test(lease, a_record_without_its_times_is_made_whole)
{
	lead();
	pass(2000);
	expect("PUT");
	fail(ERROR_CONFLICT);
	expect("GET");
	answer(arena_printf(
		&arena, "{\"metadata\":{\"name\":\"zonevac\",\"resourceVersion\":\"5\"},\"spec\":{\"holderIdentity\":\"%s\"}}",
		ME));
	expect("PUT");
	cr_assert_str_eq(json_string(sent("spec.acquireTime")), wallclock_micro(wall, &arena));
	cr_assert_eq(json_integer(sent("spec.leaseDurationSeconds"), 0), 15);
	echo("6");
	cr_assert(lease_valid(&lease, now));
}
