/*
 * Recovery that never clobbers: whatever the owners of the resources did meanwhile stays, and whoever is not the last that holds something only leaves.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define OTHER "22222222-2222-3333-4444-555555555555"
#define THIRD "33333333-2222-3333-4444-555555555555"

static struct run run;
static struct arena arena;
static const char *before;

static void add_zones(void)
{
	run_init(&run, 71);
	run_add_small_region(&run);
	world_add_subnet_of(run.world, "subnet-x1", "use1-az1", "vpc-2");
	world_add_subnet_of(run.world, "subnet-x2", "use1-az2", "vpc-2");
	world_add_cluster(run.world, "shop");
	run.targets = RUN_EVERY_KIND;
}

static void setup(void)
{
	arena_init(&arena, "test", 256 * 1024 * 1024);
	add_zones();
	before = world_fingerprint(run.world, &arena);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(letter_owners, .init = setup, .fini = teardown, .timeout = 240);

/* What the owner makes of it while it is held, and what it is in the end. As it was: a1,b1,c1, or as `first` says. */
static const struct edit {
	const char *what;
	const char *first;
	const char *edited;
	const char *held; /* NULL = as edited */
	const char *after;
} EDITS[] = {
	{"nothing", "a1,b1,c1", NULL, "b1,c1", "a1,b1,c1"},
	{"one more elsewhere", "a1,b1,c1", "b1,c1,b2", NULL, "a1,b1,c1,b2"},
	{"one less elsewhere", "a1,b1,c1", "c1", NULL, "a1,c1"},
	{"another order", "a1,b1,c1", "c1,b1", NULL, "c1,a1,b1"},
	{"all others", "a1,b1,c1", "b2", NULL, "b2,a1"},
	{"exactly what is left", "a1,b1,c1", "b1,c1", NULL, "a1,b1,c1"},
	{"back, as it was", "a1,b1,c1", "a1,b1,c1", "b1,c1", "a1,b1,c1"},
	{"back, elsewhere in the list", "a1,b1,c1", "b1,c1,a1", "b1,c1", "a1,b1,c1"},
	{"another one of the zone", "a1,b1,c1", "b1,c1,a2", "b1,c1", "a1,b1,c1,a2"},
	{"both of the zone, one of them new", "b1,a1", "a2,b1,a1", "b1", "b1,a1,a2"},
	{"one of two", "a1,a2,b1", "a2,b1", "b1", "a1,a2,b1"},
	{"only the zone", "a1,b1,c1", "a1", NULL, "a1"},
	{"only the zone, another of it", "a1,b1,c1", "a2", NULL, "a2,a1"},
	{"another VPC", "a1,b1,c1", "x2", NULL, "x2"},
	{"another VPC, and the zone in it", "a1,b1,c1", "x2,x1", "x2", "x2,x1"},
	{"another VPC, and the zone alone", "a1,b1", "x1", NULL, "x1"},
};
#define EDITS_COUNT (sizeof(EDITS) / sizeof(EDITS[0]))

static const char *subnets(const char *names)
{
	struct string_list list = string_list_split(names, ",", &arena);
	for (size_t i = 0; i < list.count; i++)
		list.at[i] = arena_printf(&arena, "subnet-%s", list.at[i]);
	return string_list_join(&list, &arena, ",");
}

static const char *name_of(char kind, size_t i)
{
	return arena_printf(&arena, "%c%02zu", kind, i);
}

/* Order means something to a group alone. */
static void assert_same_set(const char *is, const char *expected, const char *what, const char *when)
{
	struct string_list a = string_list_split(is, ",", &arena);
	struct string_list b = string_list_split(expected, ",", &arena);
	string_list_sort(&a);
	string_list_sort(&b);
	cr_assert(string_list_equal(&a, &b), "%s, %s: %s instead of %s", what, when, is, expected);
}

static void assert_all(size_t i, const char *names, const char *when)
{
	const char *is = subnets(names);
	cr_assert_str_eq(world_group(run.world, name_of('g', i)), is, "group, %s, %s", EDITS[i].what, when);
	assert_same_set(world_service(run.world, "shop", name_of('s', i)), is, EDITS[i].what, when);
	assert_same_set(world_function(run.world, name_of('f', i)), is, EDITS[i].what, when);
}

static void add_edited(void)
{
	for (size_t i = 0; i < EDITS_COUNT; i++) {
		world_add_group(run.world, name_of('g', i), subnets(EDITS[i].first), 1, NULL);
		world_add_service(run.world, "shop", name_of('s', i), subnets(EDITS[i].first), 1, NULL);
		world_add_function(run.world, name_of('f', i), subnets(EDITS[i].first), NULL);
	}
}

static void edit_all(void)
{
	for (size_t i = 0; i < EDITS_COUNT; i++) {
		if (EDITS[i].edited == NULL)
			continue;
		world_edit_group(run.world, name_of('g', i), subnets(EDITS[i].edited));
		world_edit_service(run.world, "shop", name_of('s', i), subnets(EDITS[i].edited));
		world_edit_function(run.world, name_of('f', i), subnets(EDITS[i].edited));
	}
}

static void edited_while_held(bool restart)
{
	add_edited();
	run_hold(&run);
	edit_all();
	if (restart)
		run_stop(&run);
	run_for(&run, 12 * MINUTE_MS);
	for (size_t i = 0; i < EDITS_COUNT; i++)
		assert_all(i, EDITS[i].held != NULL ? EDITS[i].held : EDITS[i].edited, "held");
	run_restore(&run);
	for (size_t i = 0; i < EDITS_COUNT; i++)
		assert_all(i, EDITS[i].after, "in the end");
	cr_assert_eq(world_records(run.world), 0);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 0);
}

Test(letter_owners, what_they_edit_while_it_is_held_stays)
{
	edited_while_held(false);
}

Test(letter_owners, what_they_edit_while_it_is_held_stays_for_another_process_too)
{
	edited_while_held(true);
}

/* Edited and at once deleted: nobody looks in between. What was put back stays where its owner put it. */
Test(letter_owners, what_they_edit_at_the_last_moment_stays)
{
	static const char *const at_once[EDITS_COUNT] = {
		[7] = "b1,c1,a1",
		[8] = "a1,b1,c1,a2",
		[9] = "a2,b1,a1",
		[14] = "x2,x1",
	};

	add_edited();
	run_hold(&run);
	run_for(&run, 10000);
	edit_all();
	run_restore(&run);
	for (size_t i = 0; i < EDITS_COUNT; i++)
		assert_all(i, at_once[i] != NULL ? at_once[i] : EDITS[i].after, "in the end");
	cr_assert_eq(world_records(run.world), 0);
}

/* Deleted, and made anew under its name: what was taken out of another one is not added to it. */
static void made_anew(bool same_subnets, bool look)
{
	world_add_group(run.world, "api", "subnet-a1,subnet-b1", 1, NULL);
	world_add_service(run.world, "shop", "api", "subnet-a1,subnet-b1", 1, NULL);
	run_hold(&run);
	run_for(&run, 10000);
	world_delete_group(run.world, "api");
	world_add_group(run.world, "api", same_subnets ? "subnet-a1,subnet-b1" : "subnet-b1", 1, NULL);
	world_recreate_service(run.world, "shop", "api", same_subnets ? "subnet-a1,subnet-b1" : "subnet-b1");
	if (look) {
		run_for(&run, 15 * MINUTE_MS);
		cr_assert_str_eq(world_group(run.world, "api"), "subnet-b1");
		cr_assert_str_eq(world_service(run.world, "shop", "api"), "subnet-b1");
	}
	run_restore(&run);
	cr_assert_str_eq(world_group(run.world, "api"), same_subnets ? "subnet-a1,subnet-b1" : "subnet-b1");
	cr_assert_str_eq(world_service(run.world, "shop", "api"), same_subnets ? "subnet-a1,subnet-b1" : "subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
}

Test(letter_owners, made_anew_elsewhere_and_seen)
{
	made_anew(false, true);
}

Test(letter_owners, made_anew_elsewhere_at_the_last_moment)
{
	made_anew(false, false);
}

Test(letter_owners, made_anew_in_the_zone_and_seen)
{
	made_anew(true, true);
}

Test(letter_owners, made_anew_in_the_zone_at_the_last_moment)
{
	made_anew(true, false);
}

/* Subnets that vanish. */

static const struct {
	const char *what;
	const char *deleted[2]; /* NULL = none */
	const char *after;      /* of api a1,b1,a2 */
	bool waits;             /* a minute, for the second opinion */
} VANISHED[] = {
	{"none", {NULL, NULL}, "a1,b1,a2", false},
	{"one of two", {"subnet-a1", NULL}, "b1,a2", true},
	{"the other of two", {"subnet-a2", NULL}, "a1,b1", true},
	{"both", {"subnet-a1", "subnet-a2"}, "b1", true},
};

Test(letter_owners, subnets_that_vanished_are_not_added_and_the_others_are)
{
	for (size_t i = 0; i < sizeof(VANISHED) / sizeof(VANISHED[0]); i++) {
		world_add_group(run.world, "api", "subnet-a1,subnet-b1,subnet-a2", 1, NULL);
		world_add_service(run.world, "shop", "api", "subnet-a1,subnet-b1,subnet-a2", 1, NULL);
		world_add_function(run.world, "api", "subnet-a1,subnet-b1,subnet-a2", NULL);
		run_hold(&run);
		for (size_t k = 0; k < 2 && VANISHED[i].deleted[k] != NULL; k++)
			world_delete_subnet(run.world, VANISHED[i].deleted[k]);
		world_delete_evacuation(run.world, "out");
		run_for(&run, 50000);
		cr_assert_eq(run_record_state(&run, "api")[0] != '\0', VANISHED[i].waits, "%s", VANISHED[i].what);
		cr_assert_str_eq(world_group(run.world, "api"), subnets(VANISHED[i].after), "%s", VANISHED[i].what);
		run_must(&run, run_gone, 15 * MINUTE_MS, VANISHED[i].what);
		cr_assert_str_eq(world_group(run.world, "api"), subnets(VANISHED[i].after), "%s", VANISHED[i].what);
		cr_assert_str_eq(world_service(run.world, "shop", "api"), subnets(VANISHED[i].after), "%s", VANISHED[i].what);
		cr_assert_str_eq(world_function(run.world, "api"), subnets(VANISHED[i].after), "%s", VANISHED[i].what);
		cr_assert_eq(world_records(run.world), 0);
		run_done(&run);
		add_zones();
	}
}

/* Both are hidden from the first answers, together with the group's own: nothing is believed, and all comes back. */
Test(letter_owners, subnets_that_are_hidden_for_a_while_come_back)
{
	for (unsigned answers = 1; answers <= 2; answers++) {
		world_hide_subnet(run.world, "subnet-a1", answers);
		run_hold(&run);
		world_hide_subnet(run.world, "subnet-a1", answers);
		world_hide_subnet(run.world, "subnet-b1", 1);
		run_restore(&run);
		run_assert_as_before(&run, before, "in the end");
	}
}

/* Who holds it, too. */

static size_t record_owners(void)
{
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "web"));
	return json_count(json_path(record, "owners.SS"));
}

static void assert_owned_by(size_t owners, const char *what)
{
	cr_assert_eq(record_owners(), owners, "%s", what);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), owners, "%s", what);
}

/* One, two or three hold it; the others leave before us or after, and we may die at each effect of our own leaving. */
static unsigned leave(size_t others, size_t leave_first, unsigned n)
{
	static const char *const names[] = {OTHER, THIRD};
	const char *what = arena_printf(&arena, "%zu others, %zu leave first, killed at %u", others, leave_first, n);

	run_apply(&run, "out", "use1-az1", RUN_NODES_AND_GROUPS(""));
	run_must(&run, run_holding, 5 * MINUTE_MS, what);
	run_for(&run, 3000);
	for (size_t i = 0; i < others; i++)
		world_join(run.world, "use1-az1", names[i]);
	for (size_t i = 0; i < leave_first; i++)
		world_leave(run.world, "use1-az1", names[i]);
	unsigned effects = world_effects(run.world);
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	if (n > 0)
		world_kill_at(run.world, effects + n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 20 * MINUTE_MS, what);
	cr_assert_not(world_node_tainted(run.world, "node-a1"), "%s", what);
	if (leave_first == others) {
		run_assert_as_before(&run, before, what);
	} else {
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1", "%s", what);
		cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates, "%s: it only leaves", what);
		assert_owned_by(others - leave_first, what);
		cr_assert(n > 0 || world_events(run.world, "StillHeldBy") == 1, "%s: it says so", what);
	}
	return world_effects(run.world) - effects;
}

Test(letter_owners, only_the_last_one_puts_it_back)
{
	for (size_t others = 0; others <= 2; others++)
		for (size_t first = 0; first <= others; first++) {
			(void)leave(others, first, 0);
			run_done(&run);
			add_zones();
		}
}

Test(letter_owners, whoever_leaves_may_be_killed_at_each_effect)
{
	unsigned effects = leave(1, 0, 0);

	for (unsigned n = 1; n < effects; n++) {
		run_done(&run);
		add_zones();
		(void)leave(1, 0, n);
	}
}

/* An update of ours is in the air when we leave: whoever stays must know, or would close the record before it lands. */
Test(letter_owners, whoever_leaves_leaves_word_of_what_may_still_land)
{
	struct wallclock until = {0};

	world_set_late(run.world, 4 * MINUTE_MS);
	world_fault(run.world, "UpdateAutoScalingGroup", 1, WORLD_LATE);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_to_calls(&run, "UpdateAutoScalingGroup", 1);
	world_join(run.world, "use1-az1", OTHER);
	int64_t sent_ms = world_now(run.world).ms;
	world_delete_evacuation(run.world, "out");
	run_must(&run, run_gone, 5 * MINUTE_MS, "it leaves");
	assert_owned_by(1, "it leaves");
	const struct json *record = world_record(run.world, "use1-az1", world_group_arn(run.world, "web"));
	const char *text = json_path_string(record, "unansweredUntil.S");
	cr_assert_not_null(text, "it may still land");
	cr_assert(wallclock_parse(text, &until));
	struct wallclock begun = {0};
	cr_assert(wallclock_parse("2026-01-02T03:04:05Z", &begun));
	cr_assert_geq(until.us / 1000, begun.us / 1000 + sent_ms % MINUTE_MS + 4 * MINUTE_MS, "%s", text);
}

/* Putting back takes longer than ten minutes, and another cluster would take the record over where it is left alone so long. */
static void taken_over_while_it_is_put_back(enum world_fault fault, unsigned faults_a_minute, int minutes)
{
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_must(&run, run_holding, 5 * MINUTE_MS, "it holds");
	world_delete_evacuation(run.world, "out");
	for (int i = 0; i < minutes; i++) {
		for (unsigned n = 1; n <= faults_a_minute; n++)
			world_fault(run.world, "UpdateAutoScalingGroup", n, fault);
		run_for(&run, MINUTE_MS);
		world_join(run.world, "use1-az1", OTHER);
	}
	run_must(&run, run_gone, 60 * MINUTE_MS, "it is gone");
}

Test(letter_owners, nobody_takes_over_what_is_still_at_work)
{
	taken_over_while_it_is_put_back(WORLD_BUSY, 12, 25);
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1");
	cr_assert_eq(world_records(run.world), 0);
}

/* Taken out of its VPC by its owner: nothing is added to it. */
Test(letter_owners, a_function_that_has_no_subnets_any_more_gets_none)
{
	for (int look = 0; look < 2; look++) {
		world_add_function(run.world, "mail", "subnet-a1,subnet-b1", NULL);
		run_hold(&run);
		world_edit_function(run.world, "mail", "");
		run_for(&run, look ? 12 * MINUTE_MS : 0);
		run_restore(&run);
		cr_assert_str_eq(world_function(run.world, "mail"), "");
		cr_assert_eq(world_records(run.world), 0);
		run_done(&run);
		add_zones();
	}
}

/* What another cluster has begun. */

static void put_record(const char *state, const char *removed, int64_t age_ms)
{
	struct wallclock at;
	cr_assert(wallclock_parse("2026-01-02T03:04:05Z", &at));
	at = wallclock_after_ms(at, -age_ms);
	world_put_item(
		run.world,
		arena_printf(
			&arena,
			"{\"zoneId\":{\"S\":\"use1-az1\"},\"resourceId\":{\"S\":\"%s\"},\"resourceType\":{\"S\":"
			"\"AutoScalingGroup\"},\"removedSubnets\":{\"L\":[{\"S\":\"%s\"}]},\"order\":{\"L\":[{\"S\":"
			"\"subnet-a1\"},{\"S\":\"subnet-b1\"}]},\"state\":{\"S\":\"%s\"},\"owners\":{\"SS\":[\"" OTHER
			"\"]},\"undone\":{\"N\":\"0\"},\"attempt\":{\"S\":\"elsewhere/1/1\"},\"detail\":{\"M\":{\"schema\":"
			"{\"N\":\"1\"},\"name\":{\"S\":\"web\"}}},\"createdAt\":{\"S\":\"%s\"},\"updatedAt\":{\"S\":\"%s\"}}",
			world_group_arn(run.world, "web"), removed, state, wallclock_micro(at, &arena),
			wallclock_micro(at, &arena)));
	world_put_item(run.world, "{\"zoneId\":{\"S\":\"#region\"},\"resourceId\":{\"S\":\"active\"},\"revision\":"
	                          "{\"N\":\"1\"},\"zone:use1-az1\":{\"SS\":[\"" OTHER "\"]}}");
}

static const struct {
	const char *what;
	const char *group;   /* as it is then */
	const char *removed; /* as the other's record says */
	const char *state;
	unsigned updates; /* that we send */
} OTHERS[] = {
	{"it holds it", "b1", "a1", "Settled", 0},
	{"it is about to take it out, and has not", "a1,b1", "a1", "Intent", 1},
	{"it is about to take it out, and has", "b1", "a1", "Intent", 0},
	{"it has another one of the zone", "a2,b1", "a1", "Settled", 1},
};

Test(letter_owners, what_another_cluster_has_begun_is_joined)
{
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
		const char *what = OTHERS[i].what;
		world_edit_group(run.world, "web", subnets(OTHERS[i].group));
		put_record(OTHERS[i].state, subnets(OTHERS[i].removed), 60000);
		run_for(&run, 2000);
		run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
		run_must(&run, run_holding, 15 * MINUTE_MS, what);
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1", "%s", what);
		cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), OTHERS[i].updates, "%s", what);
		cr_assert_str_eq(run_record_state(&run, "web"), "Settled", "%s", what);
		assert_owned_by(2, what);
		run_restore(&run);
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1", "%s: it only leaves", what);
		assert_owned_by(1, what);
		run_done(&run);
		add_zones();
	}
}

/* It is putting it back: that is waited for. Left alone for ten minutes it is joined; closed meanwhile, it is taken out anew. */
static void joined_while_it_is_put_back(bool closed)
{
	world_edit_group(run.world, "web", "subnet-b1");
	put_record("Restoring", "subnet-a1", 0);
	run_apply(&run, "out", "use1-az1", RUN_ALL_GROUPS);
	run_for(&run, 5 * MINUTE_MS);
	cr_assert_str_eq(run_record_state(&run, "web"), "Restoring");
	cr_assert_eq(record_owners(), 1, "it is left to them");
	if (closed) {
		world_edit_group(run.world, "web", "subnet-a1,subnet-b1");
		world_delete_record(run.world, "use1-az1", "web");
		run_must(&run, run_holding, 15 * MINUTE_MS, "taken out anew");
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
		run_restore(&run);
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1");
		return;
	}
	run_must(&run, run_holding, 15 * MINUTE_MS, "joined");
	cr_assert_neq(strcmp(run_record_state(&run, "web"), "Restoring"), 0);
	assert_owned_by(2, "joined");
	cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	run_restore(&run);
	assert_owned_by(1, "left");
}

Test(letter_owners, what_another_cluster_left_half_put_back_is_joined_after_ten_minutes)
{
	joined_while_it_is_put_back(false);
}

Test(letter_owners, what_another_cluster_is_putting_back_is_waited_for)
{
	joined_while_it_is_put_back(true);
}

/* Selected no longer: it stays out until recovery, for another process too. */
Test(letter_owners, what_is_no_longer_selected_stays_out_until_recovery)
{
	world_add_group(run.world, "api", "subnet-a1,subnet-b1", 1, NULL);
	before = world_fingerprint(run.world, &arena);
	run_hold(&run);
	run.targets = "[{\"kind\":\"AutoScalingGroup\",\"selector\":{\"matchNames\":[\"api\"]}}]";
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	for (int i = 0; i < 2; i++) {
		run_for(&run, 12 * MINUTE_MS);
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-b1");
		cr_assert(world_node_tainted(run.world, "node-a1"));
		cr_assert_str_eq(run_record_state(&run, "web"), "Settled");
		run_stop(&run);
	}
	run_restore(&run);
	run_assert_as_before(&run, before, "in the end");
}

/* Backed out by its tag, and killed at each effect of that. */
Test(letter_owners, what_is_backed_out_may_be_killed_at_each_effect)
{
	for (unsigned n = 1; n <= 4; n++) {
		run_hold(&run);
		world_tag_group(run.world, "web", "zonevac.dev/exclude=true");
		world_label_node(run.world, "node-a1", "zonevac.dev/exclude", "true");
		world_kill_at(run.world, world_effects(run.world) + n, n % 2 ? WORLD_KILL_BEFORE : WORLD_KILL_AFTER);
		run_for(&run, 20 * MINUTE_MS);
		cr_assert_eq(run.deaths, 1);
		cr_assert_str_eq(world_group(run.world, "web"), "subnet-a1,subnet-b1");
		cr_assert_str_eq(run_record_state(&run, "web"), "");
		cr_assert_not(world_node_tainted(run.world, "node-a1") || world_node_cordoned(run.world, "node-a1"));
		cr_assert(run_holding(&run));
		run_restore(&run);
		cr_assert_eq(world_records(run.world), 0);
		run_done(&run);
		add_zones();
	}
}
