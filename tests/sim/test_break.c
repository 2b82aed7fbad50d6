/*
 * Features that meet: batches, plans with a hash, two zones under locks, successors, people that recover or let go, crashes at each effect. However they
 * meet, in the end the world is as it was and nothing is left in the journal.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run.h"

#define GROUPS 5
#define PACED ",\"pacing\":{\"batchPercent\":40,\"batchIntervalSeconds\":600}"
#define ALLOWED ",\"guards\":{\"allowOtherZones\":true,\"maxNodesPercent\":100}"

static struct run run;
static struct arena arena;
static const char *before;

/* Groups g0… and a function, two nodes with a pod each in the zone and one elsewhere. */
static void begin(uint64_t seed)
{
	char name[16];

	run_init(&run, seed);
	arena_init(&arena, "test", 256u << 20);
	run_add_small_region(&run);
	world_delete_group(run.world, "web");
	for (int i = 0; i < GROUPS; i++) {
		(void)snprintf(name, sizeof(name), "g%d", i);
		world_add_group(run.world, name, "subnet-a1,subnet-b1,subnet-c1", 1, NULL);
	}
	world_add_function(run.world, "mail", "subnet-a1,subnet-c1", NULL);
	world_add_node(run.world, &(struct world_node){"node-a2", "use1-az1", false, NULL});
	world_add_node(run.world, &(struct world_node){"node-c1", "use1-az4", false, NULL});
	run_add_pod(&run, "p1", "node-a1", "ReplicaSet", "p1");
	run_add_pod(&run, "p2", "node-a2", "ReplicaSet", "p2");
	run.targets = RUN_EVERY_KIND;
	before = world_fingerprint(run.world, &arena);
}

static void end(void)
{
	run_done(&run);
	arena_done(&arena);
}

static void setup(void)
{
	begin(97);
}

TestSuite(breaking, .init = setup, .fini = end, .timeout = 600);

static const char *name_of(int i)
{
	return arena_printf(&arena, "g%d", i);
}

static size_t locks(void)
{
	size_t count = 0;

	for (size_t i = 0; i < dynamo_item_count(world_dynamo(run.world), WORLD_TABLE); i++)
		count += text_equal(
			json_get_string(json_get(dynamo_item_at(world_dynamo(run.world), WORLD_TABLE, i), "zoneId"), "S"), "#lock");
	return count;
}

/* What has died may leave its lock, which ends by itself. */
static void assert_clean(const char *what)
{
	run_for(&run, MINUTE_MS);
	run_assert_as_before(&run, before, what);
	if (run.deaths == 0 && locks() > 0)
		world_print_timeline(run.world);
	cr_assert(run.deaths > 0 || locks() == 0, "%s: %zu locks", what, locks());
}

static void apply_with(const char *name, const char *more)
{
	run.spec_more = more;
	run_evacuate(&run, name, "use1-az1", "Evacuate");
}

static size_t out_now(void)
{
	size_t out = 0;

	for (int i = 0; i < GROUPS; i++)
		out += world_group(run.world, name_of(i)) && !strstr(world_group(run.world, name_of(i)), "subnet-a1");
	return out;
}

static bool is_gone(const char *name)
{
	return world_evacuation(run.world, name) == NULL;
}

static bool next_holds(struct run *at)
{
	return strcmp(world_phase(at->world, "next"), "Holding") == 0;
}

static bool all_gone(struct run *at)
{
	(void)at;
	return is_gone("out") && is_gone("next") && is_gone("two");
}

static bool restored(struct run *at)
{
	return strcmp(world_phase(at->world, "out"), "Restored") == 0;
}

static unsigned wanted_effects;

static bool effects_reached(struct run *at)
{
	return world_effects(at->world) >= wanted_effects;
}

/* Of its effects, one in so many; SIM_EVERY_CALL=1: each. An odd one, so that it is before and after in turn. */
static unsigned stride(void)
{
	return getenv("SIM_EVERY_CALL") != NULL ? 1 : 17;
}

/* A story is played once in peace and then killed at its effects. */
static unsigned killed_from;

static void kill_from_here(unsigned n)
{
	killed_from = world_effects(run.world);
	if (n > 0)
		world_kill_at(run.world, killed_from + n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
}

static void at_each_effect(void (*story)(unsigned n), unsigned least)
{
	unsigned effects;

	story(0);
	effects = world_effects(run.world) - killed_from;
	cr_assert_geq(effects, least, "%u effects", effects);
	for (unsigned n = 1; n <= effects; n += stride()) {
		end();
		begin(97 + n % 5);
		story(n);
	}
}

static const char *at(unsigned n)
{
	return arena_printf(&arena, "killed at %u", n);
}

static const char *plan(void)
{
	const char *hash;

	run.spec_more = NULL;
	run_plan(&run);
	hash = json_string(run_status(&run, "planHash"));
	cr_assert_not_null(hash);
	return arena_string(&arena, hash);
}

static const char *hashed(const char *hash, const char *more)
{
	return arena_printf(&arena, ",\"planHash\":\"%s\"%s", hash, more);
}

/* A plan with a hash, in batches. */

static void planned_in_batches(unsigned n)
{
	const char *hash = plan();

	kill_from_here(n);
	apply_with("out", hashed(hash, PACED));
	wanted_effects = killed_from + 4;
	run_must(&run, effects_reached, 20 * MINUTE_MS, at(n));
	world_add_group(run.world, "late", "subnet-a1,subnet-b1", 1, NULL);
	run_must(&run, run_holding, 120 * MINUTE_MS, at(n));
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS, "%s", at(n));
	cr_assert_str_eq(world_group(run.world, "late"), "subnet-a1,subnet-b1", "%s", at(n));
	cr_assert_str_eq(run_state(&run, "late"), "Refused", "%s", at(n));
	cr_assert_str_eq(json_string(run_status(&run, "planHash")), hash, "%s", at(n));
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "True");
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, at(n));
	world_delete_group(run.world, "late");
	assert_clean(at(n));
}

Test(breaking, a_plan_with_a_hash_in_batches_killed_at_each_effect)
{
	at_each_effect(planned_in_batches, 30);
}

/* Its time is over in the midst of batches. */

static void expires_in_batches(unsigned n)
{
	kill_from_here(n);
	apply_with("out", PACED ",\"expiresAfterSeconds\":900");
	run_must(&run, restored, 120 * MINUTE_MS, at(n));
	cr_assert_eq(out_now(), 0, "%s", at(n));
	cr_assert_eq(world_records(run.world), 0, "%s", at(n));
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, MINUTE_MS, at(n));
	assert_clean(at(n));
}

Test(breaking, it_expires_between_two_batches_killed_at_each_effect)
{
	at_each_effect(expires_in_batches, 20);
}

/* Two zones under locks, and the one's successor takes over in the midst. */

static bool all_hold(struct run *at)
{
	return run_holding(at) && strcmp(world_phase(at->world, "two"), "Holding") == 0;
}

static void succeeded_beside_another_zone(unsigned n)
{
	run.spec_more = ALLOWED PACED;
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_evacuate(&run, "two", "use1-az2", "Evacuate");
	run_evacuate(&run, "next", "use1-az1", "Evacuate");
	run_must(&run, all_hold, 240 * MINUTE_MS, at(n));
	cr_assert_eq(out_now(), GROUPS);
	kill_from_here(n);
	world_delete_evacuation(run.world, "out");
	run_for(&run, 1500);
	world_delete_evacuation(run.world, "two");
	run_must(&run, next_holds, 120 * MINUTE_MS, at(n));
	cr_assert_eq(out_now(), GROUPS, "%s", at(n));
	world_delete_evacuation(run.world, "next");
	run_must(&run, all_gone, 240 * MINUTE_MS, at(n));
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(world_zone_owners(run.world, "use1-az2"), 0);
	for (int i = 0; i < GROUPS; i++) /* the order of the other zone's is a hint */
		world_edit_group(run.world, name_of(i),
		                 strlen(world_group(run.world, name_of(i))) == strlen("subnet-a1,subnet-b1,subnet-c1")
		                     ? "subnet-a1,subnet-b1,subnet-c1"
		                     : "subnet-c1");
	assert_clean(at(n));
}

Test(breaking, a_successor_beside_another_zone_killed_at_each_effect)
{
	at_each_effect(succeeded_beside_another_zone, 20);
}

/* Let go at each moment, locks and all; taken over later. */

static void put_other_zone(void)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"1\"},"
	               "\"zone:use1-az2\":{\"SS\":[\"another-cluster\"]}}");
}

static unsigned abandoned_at(unsigned n, bool restart)
{
	unsigned effects;
	const char *what = arena_printf(&arena, "abandoned at %u%s", n, restart ? ", and restarted" : "");

	put_other_zone();
	apply_with("out", ALLOWED);
	wanted_effects = n;
	if (n > 0)
		run_must(&run, effects_reached, 60 * MINUTE_MS, what);
	else
		run_must(&run, run_holding, 60 * MINUTE_MS, what);
	effects = world_effects(run.world);
	if (n == 0)
		return effects;
	world_allow_orphans(run.world);
	world_annotate_evacuation(run.world, "out", "zonevac.dev/abandon", world_evacuation_uid(run.world, "out"));
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, MINUTE_MS, what);
	if (restart)
		run_stop(&run);
	run_for(&run, 12 * MINUTE_MS);
	apply_with("out", ALLOWED);
	run_must(&run, run_holding, 60 * MINUTE_MS, what);
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS, "%s", what);
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True", "%s", what);
	run_restore(&run);
	run_for(&run, 8 * MINUTE_MS);
	assert_clean(what);
	return effects;
}

Test(breaking, it_is_let_go_at_each_effect_under_locks)
{
	unsigned effects = abandoned_at(0, false);

	for (unsigned n = 1; n <= effects; n += stride()) {
		end();
		begin(97);
		(void)abandoned_at(n, n % 3 == 0);
	}
}

/* Deleted at each moment, under locks: what had been asked for comes in, and no lock is left. */

static unsigned deleted_at(unsigned n)
{
	const char *what = arena_printf(&arena, "deleted at %u", n);
	unsigned effects;

	put_other_zone();
	apply_with("out", ALLOWED PACED);
	wanted_effects = n;
	if (n > 0)
		run_must(&run, effects_reached, 120 * MINUTE_MS, what);
	else
		run_must(&run, run_holding, 120 * MINUTE_MS, what);
	effects = world_effects(run.world);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, what);
	assert_clean(what);
	return effects;
}

Test(breaking, it_is_deleted_at_each_effect_under_locks)
{
	unsigned effects = deleted_at(0);

	for (unsigned n = 1; n <= effects; n += stride()) {
		end();
		begin(97);
		(void)deleted_at(n);
	}
}

/* Recovered elsewhere at each moment, in the midst of batches; edited then. */

static void recover_by_hand(void)
{
	world_put_item(run.world,
	               "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":{\"N\":\"77\"}}");
	run_for(&run, 12000);
	for (int i = 0; i < GROUPS; i++) {
		world_edit_group(run.world, name_of(i), "subnet-a1,subnet-b1,subnet-c1");
		if (run_record_state(&run, name_of(i))[0])
			world_delete_record(run.world, "use1-az1", name_of(i));
	}
	world_edit_function(run.world, "mail", "subnet-a1,subnet-c1");
	if (world_record(run.world, "use1-az1", world_function_arn(run.world, "mail")))
		world_delete_record(run.world, "use1-az1", "mail");
}

static unsigned recovered_at(unsigned n, bool restart, bool with_hash)
{
	const char *what =
		arena_printf(&arena, "recovered at %u%s%s", n, restart ? ", restarted" : "", with_hash ? ", hash" : "");
	const char *hash = with_hash ? plan() : NULL;
	unsigned first = world_effects(run.world);

	apply_with("out", with_hash ? hashed(hash, PACED) : PACED);
	wanted_effects = first + n;
	if (n == 0) {
		run_must(&run, run_holding, 120 * MINUTE_MS, what);
		return world_effects(run.world) - first;
	}
	run_must(&run, effects_reached, 120 * MINUTE_MS, what);
	if (world_records(run.world) == 0) /* nothing is begun, and nothing to be recovered */
		return 0;
	recover_by_hand();
	run_for(&run, 11 * MINUTE_MS);
	if (restart)
		run_stop(&run);
	run_for(&run, 11 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "RecoveredElsewhere", "%s", what);
	cr_assert_eq(out_now(), 0, "%s", what);
	apply_with("out", arena_printf(&arena, "%s,\"expiresAfterSeconds\":86400", run.spec_more));
	run_must(&run, run_holding, 120 * MINUTE_MS, what);
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS, "%s: %zu", what, out_now());
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True", "%s", what);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, what);
	assert_clean(what);
	return 0;
}

static void recovered_at_each(bool restart, bool with_hash)
{
	unsigned effects = recovered_at(0, restart, with_hash);

	for (unsigned n = 1; n <= effects; n += stride()) {
		end();
		begin(97);
		(void)recovered_at(n, restart, with_hash);
	}
}

Test(breaking, recovered_elsewhere_in_the_midst_of_batches_and_edited)
{
	recovered_at_each(false, false);
}

Test(breaking, recovered_elsewhere_in_the_midst_of_batches_and_edited_restarted)
{
	recovered_at_each(true, false);
}

Test(breaking, recovered_elsewhere_in_the_midst_of_a_plan_and_edited)
{
	recovered_at_each(false, true);
}

Test(breaking, recovered_elsewhere_in_the_midst_of_a_plan_and_edited_restarted)
{
	recovered_at_each(true, true);
}

/* The owner adds a subnet between the plan and its evacuation, and another one while batches wait. */
Test(breaking, an_owner_edits_between_the_plan_and_its_batches)
{
	const char *hash = plan();

	world_edit_group(run.world, "g0", "subnet-a1,subnet-a2,subnet-b1,subnet-c1");
	apply_with("out", hashed(hash, PACED));
	run_for(&run, 2 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "PlanChanged");
	cr_assert_eq(world_records(run.world), 0);
	hash = arena_string(&arena, json_string(run_status(&run, "planHash")));
	apply_with("out", hashed(hash, PACED));
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(out_now(), 2, "%zu", out_now());
	for (int i = 1; i < GROUPS; i++) /* some are out, some wait */
		world_edit_group(run.world, name_of(i),
		                 strstr(world_group(run.world, name_of(i)), "subnet-a1")
		                     ? "subnet-a1,subnet-a2,subnet-b1,subnet-c1"
		                     : "subnet-a2,subnet-b1,subnet-c1");
	run_stop(&run);
	run_must(&run, run_holding, 120 * MINUTE_MS, "it holds");
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS);
	cr_assert_null(strstr(world_group(run.world, "g0"), "subnet-a2"));
	for (int i = 1; i < GROUPS; i++)
		cr_assert_str_eq(world_group(run.world, name_of(i)), "subnet-a2,subnet-b1,subnet-c1", "%d", i);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, "gone");
	for (int i = 0; i < GROUPS; i++) {
		const char *is = world_group(run.world, name_of(i));
		cr_assert(strstr(is, "subnet-a1") && strstr(is, "subnet-a2") && strlen(is) == 39, "%d: %s", i, is);
		world_edit_group(run.world, name_of(i), "subnet-a1,subnet-b1,subnet-c1");
	}
	assert_clean("in the end");
}

/* Tagged while its batch waits, and the tag taken off again in another batch; tagged while its way back waits. */
static void tagged_while_it_waits(bool restart)
{
	int waiting = 0;

	apply_with("out", PACED);
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(out_now(), 2);
	while (!strstr(world_group(run.world, name_of(waiting)), "subnet-a1"))
		waiting++;
	world_tag_group(run.world, name_of(waiting), "zonevac.dev/exclude=true");
	world_label_node(run.world, "node-a1", "zonevac.dev/exclude", "true");
	world_label_node(run.world, "node-a2", "zonevac.dev/exclude", "true");
	if (restart)
		run_stop(&run);
	run_must(&run, run_holding, 120 * MINUTE_MS, "it holds");
	cr_assert_eq(out_now(), GROUPS - 1);
	cr_assert_str_eq(run_state(&run, name_of(waiting)), "");
	cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_tainted(run.world, "node-a2"));
	world_tag_group(run.world, name_of(waiting), NULL);
	world_label_node(run.world, "node-a1", "zonevac.dev/exclude", NULL);
	world_label_node(run.world, "node-a2", "zonevac.dev/exclude", NULL);
	run_for(&run, 40 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS);
	cr_assert(run_holding(&run));
	world_delete_evacuation(run.world, "out");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(out_now(), 3, "%zu", out_now());
	for (int i = 0; i < GROUPS; i++)
		world_tag_group(run.world, name_of(i), "zonevac.dev/exclude=true");
	if (restart)
		run_stop(&run);
	run_must(&run, run_gone, 120 * MINUTE_MS, "gone");
	for (int i = 0; i < GROUPS; i++)
		world_tag_group(run.world, name_of(i), NULL);
	run.deaths = 0;
	assert_clean("in the end");
}

Test(breaking, tagged_while_its_batch_waits)
{
	tagged_while_it_waits(false);
}

Test(breaking, tagged_while_its_batch_waits_restarted)
{
	tagged_while_it_waits(true);
}

/* The table is lost between two batches of a plan with a hash, out or back. */
static void lose_between_batches(bool back, bool backup, bool restart)
{
	const char *what = arena_printf(&arena, "%d %d %d", back, backup, restart);
	const char *hash = plan();

	apply_with("out", hashed(hash, PACED));
	if (back) {
		run_must(&run, run_holding, 120 * MINUTE_MS, what);
		world_delete_evacuation(run.world, "out");
	}
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(out_now(), back ? 3 : 2, "%s", what);
	world_lose_table(run.world);
	if (restart)
		run_stop(&run);
	run_for(&run, 15 * MINUTE_MS);
	cr_assert_eq(out_now(), back ? 3 : 2, "%s", what);
	if (backup)
		world_bring_table_back(run.world);
	else
		world_make_table(run.world);
	run_for(&run, 9 * MINUTE_MS);
	for (int i = 0; i < GROUPS && !back; i++)
		cr_assert(strstr(world_group(run.world, name_of(i)), "subnet-a1") || run_record_state(&run, name_of(i))[0],
		          "%s: nobody has written %d down", what, i);
	if (!back) {
		run_must(&run, run_holding, 120 * MINUTE_MS, what);
		run_for(&run, 6 * MINUTE_MS);
		cr_assert_eq(out_now(), GROUPS, "%s", what);
		cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True", "%s", what);
		world_delete_evacuation(run.world, "out");
	}
	run_must(&run, run_gone, 120 * MINUTE_MS, what);
	cr_assert_eq(out_now(), 0, "%s", what);
	for (int i = 0; i < GROUPS; i++) /* the order stood in the journal */
		world_edit_group(run.world, name_of(i), "subnet-a1,subnet-b1,subnet-c1");
	world_edit_function(run.world, "mail", "subnet-a1,subnet-c1");
	assert_clean(what);
}

Test(breaking, the_table_is_lost_between_two_batches)
{
	for (int i = 0; i < 8; i++) {
		lose_between_batches(i & 1, i & 2, i & 4);
		end();
		begin(97);
	}
}

/* Of two objects of one zone the older one names another plan: the younger one goes, whatever becomes of the older one then. */
static bool next_stalls(struct run *at)
{
	return strcmp(run_stalled_because(at, "next"), "ZoneTaken") == 0;
}

static bool out_waits(struct run *at)
{
	return strcmp(run_stalled_because(at, "out"), "ZoneTaken") == 0;
}

static void older_one_is_refused(unsigned n)
{
	const char *hash = plan();

	kill_from_here(n);
	apply_with("out", ",\"planHash\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"");
	run_for(&run, 3000);
	apply_with("next", PACED);
	run_for(&run, 3 * MINUTE_MS);
	cr_assert(n > 0 || strcmp(run_stalled_because(&run, "out"), "PlanChanged") == 0);
	run_for(&run, 60 * MINUTE_MS);
	cr_assert_eq(out_now(), GROUPS, "%s", at(n));
	apply_with("out", hashed(hash, PACED));
	run_must(&run, out_waits, 10 * MINUTE_MS, at(n));
	world_delete_evacuation(run.world, "next");
	run_must(&run, run_holding, 60 * MINUTE_MS, at(n));
	run_for(&run, 6 * MINUTE_MS);
	cr_assert(is_gone("next"));
	cr_assert_eq(out_now(), GROUPS, "%s", at(n));
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "True", "%s", at(n));
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, at(n));
	assert_clean(at(n));
}

Test(breaking, the_older_of_two_is_refused_by_its_hash_killed_at_each_effect)
{
	at_each_effect(older_one_is_refused, 20);
}

/* It takes over, and its plan is no longer so: then what the first one held is put back, nothing more. */
Test(breaking, a_successor_whose_plan_has_changed)
{
	const char *hash = plan();

	world_delete_evacuation(run.world, "out");
	apply_with("out", PACED);
	run_must(&run, run_holding, 120 * MINUTE_MS, "it holds");
	apply_with("next", hashed(hash, PACED));
	run_must(&run, next_stalls, MINUTE_MS, "it waits");
	world_add_group(run.world, "late", "subnet-a1,subnet-b1", 1, NULL);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, "gone");
	run_for(&run, 6 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "next"), "PlanChanged");
	world_delete_group(run.world, "late");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
	world_delete_evacuation(run.world, "next");
	assert_clean("nothing is held");
}

/* The clock is put forward or back between two batches. */
static void skew(struct world *world, void *context)
{
	world_set_skew(world, *(const int64_t *)context);
}

static void jump_to(int64_t ms)
{
	int64_t *at = arena_alloc(&arena, sizeof(*at));

	*at = ms;
	world_at(run.world, 10, skew, at);
	run_for(&run, 20);
}

static void clock_jumps(int64_t ms, bool restart)
{
	const char *what = arena_printf(&arena, "%lld ms%s", (long long)ms, restart ? ", restarted" : "");

	apply_with("out", PACED ",\"expiresAfterSeconds\":7200");
	run_for(&run, 3 * MINUTE_MS);
	cr_assert_eq(out_now(), 2);
	jump_to(ms);
	if (restart)
		run_stop(&run);
	run_for(&run, 7 * MINUTE_MS);
	cr_assert_eq(out_now(), 2, "%s: %zu before its time", what, out_now());
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_eq(out_now(), 4, "%s: %zu", what, out_now());
	jump_to(0);
	run_must(&run, run_holding, 40 * MINUTE_MS, what);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert(run_holding(&run), "%s", what);
	run_must(&run, restored, 150 * MINUTE_MS, what);
	world_delete_evacuation(run.world, "out");
	assert_clean(what);
}

Test(breaking, the_clock_jumps_between_two_batches)
{
	static const int64_t jumps[] = {-6 * 3600000, 6 * 3600000, -1200000, 6 * 3600000};

	for (int i = 0; i < 4; i++) {
		clock_jumps(jumps[i], i >= 2);
		end();
		begin(97);
	}
}

/* What was a record cannot be read. */
Test(breaking, an_unreadable_record_and_a_plan_with_a_hash)
{
	const char *hash;

	world_put_item(run.world, arena_printf(&arena,
	                                       "{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},"
	                                       "\"resourceType\":{\"S\":\"AutoScalingGroup\"},"
	                                       "\"removedSubnets\":{\"N\":\"1\"}}",
	                                       world_group_arn(run.world, "g1")));
	hash = plan();
	apply_with("out", hashed(hash, PACED));
	run_for(&run, 40 * MINUTE_MS);
	cr_assert(strstr(world_group(run.world, "g1"), "subnet-a1"));
	cr_assert_eq(out_now(), GROUPS - 1, "%zu", out_now());
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", NULL), "False", "%s", run_reason(&run, "g1"));
	world_delete_evacuation(run.world, "out");
	run_for(&run, 60 * MINUTE_MS);
	cr_assert_str_eq(run_stalled_because(&run, "out"), "UnreadableRecord");
	cr_assert_eq(out_now(), 0);
	world_delete_record(run.world, "use1-az1", "g1");
	run_must(&run, run_gone, 20 * MINUTE_MS, "gone");
	assert_clean("in the end");
}

/* A group vanishes while its lock is held. */
static size_t last_locks;

static bool lock_taken(struct run *at)
{
	(void)at;
	return locks() > last_locks;
}

static void vanish_under_lock(bool back, int64_t after_ms)
{
	const char *what = arena_printf(&arena, "%d %lld", back, (long long)after_ms);

	put_other_zone();
	apply_with("out", ALLOWED PACED);
	if (back) {
		run_must(&run, run_holding, 120 * MINUTE_MS, what);
		run_for(&run, MINUTE_MS);
		world_delete_evacuation(run.world, "out");
	}
	last_locks = 0;
	run_must(&run, lock_taken, 10 * MINUTE_MS, what);
	run_for(&run, after_ms);
	for (int i = 0; i < GROUPS; i++)
		world_delete_group(run.world, name_of(i));
	if (!back)
		run_must(&run, run_holding, 60 * MINUTE_MS, what);
	run_for(&run, MINUTE_MS);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 120 * MINUTE_MS, what);
	run_for(&run, MINUTE_MS);
	cr_assert_eq(locks(), 0, "%s", what);
	cr_assert_eq(world_records(run.world), 0, "%s", what);
	cr_assert_str_eq(world_function(run.world, "mail"), "subnet-a1,subnet-c1", "%s", what);
}

Test(breaking, groups_vanish_while_their_locks_are_held)
{
	for (int i = 0; i < 6; i++) {
		vanish_under_lock(i & 1, (int64_t)(i / 2) * 45);
		end();
		begin(97);
	}
}

/* Conflicts for longer than a lock is good for. */
static void conflicts(enum world_fault fault, bool back)
{
	const char *what = arena_printf(&arena, "%s %d", world_fault_name(fault), back);
	int minutes = 0;

	put_other_zone();
	apply_with("out", ALLOWED);
	if (back) {
		run_must(&run, run_holding, 60 * MINUTE_MS, what);
		world_delete_evacuation(run.world, "out");
	}
	for (; minutes < 12; minutes++) {
		for (unsigned n = 1; n <= 12; n++) {
			world_fault(run.world, "UpdateFunctionConfiguration", n, fault);
			world_fault(run.world, "UpdateAutoScalingGroup", n, fault);
		}
		world_touch_function(run.world, "mail");
		run_for(&run, MINUTE_MS);
		world_calm(run.world);
	}
	world_calm(run.world);
	if (!back) {
		run_must(&run, run_holding, 60 * MINUTE_MS, what);
		run_for(&run, 6 * MINUTE_MS);
		cr_assert_eq(out_now(), GROUPS, "%s", what);
		cr_assert_str_eq(world_function(run.world, "mail"), "subnet-c1", "%s", what);
		world_delete_evacuation(run.world, "out");
	}
	run_must(&run, run_gone, 60 * MINUTE_MS, what);
	run_for(&run, 8 * MINUTE_MS);
	assert_clean(what);
}

Test(breaking, conflicts_outlast_a_lock)
{
	static const enum world_fault faults[] = {WORLD_BUSY,         WORLD_THROTTLE, WORLD_REFUSE,
	                                          WORLD_ERROR_BEFORE, WORLD_SILENCE,  WORLD_SLOW};

	for (int i = 0; i < 12; i++) {
		conflicts(faults[i / 2], i % 2);
		end();
		begin(97);
	}
}

/* Two clusters evacuate one zone in batches; the one dies now and then. */

static struct engine *two;
static struct engine_settings settings_of_two;
static struct kube_config kube_of_two;
static char identity_of_two[32];

static void step_two(void)
{
	struct client *client = world_second_client(run.world);

	if (two == NULL) {
		world_begin_client(run.world, client);
		settings_of_two = run.settings;
		kube_of_two = run.kube;
		(void)snprintf(identity_of_two, sizeof(identity_of_two), "two_%u", ++run.lives);
		settings_of_two.identity = identity_of_two;
		settings_of_two.kube = &kube_of_two;
		two = engine_new(&settings_of_two, client);
	}
	(void)engine_step(two);
	if (world_client_killed(run.world, client)) {
		engine_free(two);
		two = NULL;
		world_bury_client(run.world, client);
		run.deaths++;
	}
}

static void step_one(void)
{
	struct client *client = world_client(run.world);

	if (run.engine == NULL) {
		world_begin_client(run.world, client);
		(void)snprintf(run.identity, sizeof(run.identity), "one_%u", ++run.lives);
		run.engine = engine_new(&run.settings, client);
	}
	(void)engine_step(run.engine);
	if (world_client_killed(run.world, client)) {
		engine_free(run.engine);
		run.engine = NULL;
		world_bury_client(run.world, client);
		run.deaths++;
	}
}

static bool in_both(bool (*reached)(struct run *run))
{
	bool both = reached(&run);

	world_turn_to_cluster(run.world, 1);
	both = reached(&run) && both;
	world_turn_to_cluster(run.world, 0);
	return both;
}

static void both_until(bool (*reached)(struct run *run), int64_t limit_ms, const char *what)
{
	struct instant limit = instant_after(world_now(run.world), limit_ms);

	while (!in_both(reached)) {
		if (instant_reached(limit, world_now(run.world)))
			world_print_timeline(run.world);
		cr_assert_not(instant_reached(limit, world_now(run.world)), "%s", what);
		step_one();
		step_two();
	}
}

static void both_for(int64_t ms)
{
	struct instant limit = instant_after(world_now(run.world), ms);

	while (!instant_reached(limit, world_now(run.world))) {
		step_one();
		step_two();
	}
}

static unsigned two_clusters(unsigned n)
{
	const char *what = at(n);
	unsigned effects;

	world_add_second_cluster(run.world);
	(void)world_second_client(run.world);
	if (n > 0)
		world_kill_at(run.world, n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
	apply_with("out", PACED);
	world_turn_to_cluster(run.world, 1);
	apply_with("out", PACED);
	world_turn_to_cluster(run.world, 0);
	both_until(run_holding, 240 * MINUTE_MS, what);
	cr_assert_eq(out_now(), GROUPS, "%s", what);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 2, "%s", what);
	world_delete_evacuation(run.world, "out");
	both_for(2000);
	world_turn_to_cluster(run.world, 1);
	world_delete_evacuation(run.world, "out");
	world_turn_to_cluster(run.world, 0);
	both_until(run_gone, 240 * MINUTE_MS, what);
	effects = world_effects(run.world);
	both_for(8 * MINUTE_MS);
	run_assert_as_before(&run, before, what);
	cr_assert(n > 0 || locks() == 0, "%zu locks", locks());
	engine_free(two);
	two = NULL;
	return effects;
}

Test(breaking, two_clusters_in_batches)
{
	unsigned effects = two_clusters(0);

	for (unsigned n = 1; n <= effects; n += stride()) {
		end();
		begin(97 + n % 5);
		(void)two_clusters(n);
	}
}

/* Deleted while a lock is asked for: it comes, and is given back. */
Test(breaking, deleted_while_a_lock_is_asked_for)
{
	put_other_zone();
	for (unsigned n = 1; n <= 4; n++)
		world_fault(run.world, "PutItem", n, WORLD_SLOW);
	apply_with("out", ALLOWED);
	last_locks = 0;
	run_must(&run, lock_taken, 10 * MINUTE_MS, "a lock is there");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 30 * MINUTE_MS, "it is gone");
	assert_clean("in the end");
}
