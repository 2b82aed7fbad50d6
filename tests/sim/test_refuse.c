/*
 * What is refused, what stalls, and what goes on by itself.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "run.h"

static struct run run;
static struct arena arena;

static void setup(void)
{
	run_init(&run, 2);
	arena_init(&arena, "test", 64 * 1024 * 1024);
}

static void teardown(void)
{
	run_done(&run);
	arena_done(&arena);
}

TestSuite(refuse, .init = setup, .fini = teardown, .timeout = 120);

#define assert_group(name, subnets) cr_assert_str_eq(world_group(run.world, name), subnets)

static void must(run_condition reached, const char *what)
{
	bool got_there = run_until(&run, reached, 30 * MINUTE_MS);
	if (!got_there)
		world_print_timeline(run.world);
	cr_assert(got_there, "%s; phase %s", what, world_phase(run.world, "out"));
}

static const char *stalled_reason(const char *name)
{
	const char *reason;
	(void)world_condition(run.world, name, "Stalled", &reason);
	return reason;
}

Test(refuse, the_last_subnet_is_kept_and_the_others_go_on)
{
	run_add_region(&run);
	world_add_group(run.world, "lonely", "subnet-a1,subnet-a2", 2, NULL);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	assert_group("lonely", "subnet-a1,subnet-a2");
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_str_eq(world_change_state(run.world, "out", "lonely"), "Refused");
	cr_assert_eq(json_integer(json_path(world_evacuation(run.world, "out"), "status.refused"), -1), 1);
	cr_assert_str_eq(world_condition(run.world, "out", "Complete", NULL), "False");
	cr_assert_str_eq(world_condition(run.world, "out", "Ready", NULL), "True");
	cr_assert_null(world_record(run.world, "use1-az1", world_group_arn(run.world, "lonely")));
	world_delete_evacuation(run.world, "out");
	must(run_gone, "gone");
	assert_group("lonely", "subnet-a1,subnet-a2");
	cr_assert_eq(world_records(run.world), 0);
}

static bool second_stalled(struct run *at)
{
	return strcmp(world_condition(at->world, "second", "Stalled", NULL), "True") == 0;
}

static bool second_gone(struct run *at)
{
	return world_evacuation(at->world, "second") == NULL;
}

/* A subnet that was deleted under it is none that it could go to. */
Test(refuse, subnets_that_the_account_does_not_show_do_not_count)
{
	run_add_region(&run);
	world_delete_subnet(run.world, "subnet-b2");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	assert_group("batch", "subnet-a2,subnet-b2");
	cr_assert_str_eq(world_change_state(run.world, "out", "batch"), "Refused");
	assert_group("web", "subnet-b1,subnet-c1");
}

Test(refuse, a_second_zone_is_refused)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	run_evacuate(&run, "second", "use1-az2", "Evacuate");
	must(second_stalled, "the second is stalled");
	cr_assert_str_eq(stalled_reason("second"), "OtherZone");
	run_for(&run, 12 * MINUTE_MS);
	assert_group("db", "subnet-b1,subnet-c1");
	cr_assert_not(world_node_tainted(run.world, "node-b1"));
	cr_assert_eq(world_zone_owners(run.world, "use1-az2"), 0);
	world_delete_evacuation(run.world, "second");
	must(second_gone, "the second goes freely");
	assert_group("web", "subnet-b1,subnet-c1");
	world_delete_evacuation(run.world, "out");
	must(run_gone, "gone");
	run_assert_as_before(&run, before, "the first is restored");
}

Test(refuse, a_second_evacuation_of_the_zone_waits_and_takes_over)
{
	run_add_region(&run);
	const char *before = world_fingerprint(run.world, &arena);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	run_evacuate(&run, "second", "use1-az1", "Evacuate");
	must(second_stalled, "the second is stalled");
	cr_assert_str_eq(stalled_reason("second"), "ZoneTaken");
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	world_delete_evacuation(run.world, "out");
	must(run_gone, "the first is gone");
	run_for(&run, 12 * MINUTE_MS);
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates, "nothing is restored in between");
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert(world_node_tainted(run.world, "node-a1"));
	cr_assert_str_eq(world_phase(run.world, "second"), "Holding");
	world_delete_evacuation(run.world, "second");
	must(second_gone, "the second is gone");
	run_assert_as_before(&run, before, "restored");
}

Test(refuse, without_a_table_it_stalls_and_goes_on_once_it_is_there)
{
	world_add_zone(run.world, "use1-az1", "us-east-1c");
	world_add_zone(run.world, "use1-az2", "us-east-1a");
	world_add_subnet(run.world, "subnet-a1", "use1-az1");
	world_add_subnet(run.world, "subnet-b1", "use1-az2");
	world_add_group(run.world, "web", "subnet-a1,subnet-b1", 2, NULL);
	world_add_node(run.world, &(struct world_node){"node-a1", "use1-az1", false, NULL});
	world_add_node(run.world, &(struct world_node){"node-b1", "use1-az2", false, NULL});
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_stalled, "stalled");
	cr_assert_str_eq(stalled_reason("out"), "JournalMissing");
	assert_group("web", "subnet-a1,subnet-b1");
	run_for(&run, MINUTE_MS);
	cr_assert(world_node_tainted(run.world, "node-a1"), "nodes do not wait for the journal");
	cr_assert_eq(world_calls(run.world, "CreateTable"), 0);
	world_make_table(run.world);
	must(run_holding, "goes on");
	assert_group("web", "subnet-b1");
	cr_assert_not(run_stalled(&run));
}

Test(refuse, the_table_is_made_when_that_is_asked_for)
{
	world_add_zone(run.world, "use1-az1", "us-east-1c");
	world_add_zone(run.world, "use1-az2", "us-east-1a");
	world_add_subnet(run.world, "subnet-a1", "use1-az1");
	world_add_subnet(run.world, "subnet-b1", "use1-az2");
	world_add_group(run.world, "web", "subnet-a1,subnet-b1", 2, NULL);
	run.settings.create_table = true;
	dynamo_set_creating(world_dynamo(run.world), 3);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	cr_assert_eq(world_calls(run.world, "CreateTable"), 1);
	assert_group("web", "subnet-b1");
}

/* As of a table that is being restored from a backup: for minutes there is nothing to tell, and then it is told. */
Test(refuse, a_table_in_the_making_is_waited_for_and_told_when_it_takes_long)
{
	run.settings.create_table = true;
	dynamo_set_creating(world_dynamo(run.world), 600);
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	run_for(&run, 40000);
	cr_assert_str_eq(stalled_reason("out"), "");
	must(run_stalled, "stalled");
	cr_assert_str_eq(stalled_reason("out"), "JournalNotReady");
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert(world_node_tainted(run.world, "node-a1"), "nodes do not wait for the journal");
	must(run_holding, "goes on");
	cr_assert_not(run_stalled(&run));
	cr_assert_eq(world_calls(run.world, "CreateTable"), 0);
	cr_assert_eq(world_calls(run.world, "UpdateContinuousBackups"), 1,
	             "it was made by others, who may have ended before this");
	assert_group("web", "subnet-b1,subnet-c1");
}

Test(refuse, an_unknown_zone_stalls)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az9", "Evacuate");
	must(run_stalled, "stalled");
	run_for(&run, 12 * MINUTE_MS);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), 0);
	cr_assert_not(world_node_tainted(run.world, "node-a1"));
	world_delete_evacuation(run.world, "out");
	must(run_gone, "gone");
}

static bool ended(struct run *at)
{
	return at->ended;
}

static void lose_the_lease(void)
{
	unsigned effects = world_effects(run.world);
	world_steal_lease(run.world);
	cr_assert(run_until(&run, ended, MINUTE_MS), "the engine ends");
	cr_assert_eq(run.exit_code, 1);
	unsigned at_most = effects + 64;
	cr_assert_leq(world_effects(run.world), at_most);
	effects = world_effects(run.world);
	world_advance(run.world, 5 * MINUTE_MS);
	cr_assert_eq(world_effects(run.world), effects);
}

Test(refuse, without_the_lease_nothing_is_written_while_holding)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	lose_the_lease();
}

Test(refuse, without_the_lease_nothing_is_written_while_applying)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	while (world_calls(run.world, "UpdateAutoScalingGroup") < 1)
		run_for(&run, 5);
	lose_the_lease();
}

Test(refuse, a_lease_that_cannot_be_renewed_is_lost_after_ten_seconds)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	for (unsigned i = 1; i <= 16; i++)
		world_fault(run.world, "PUT leases", i, WORLD_LOSE_REPLY);
	struct instant before = world_now(run.world);
	cr_assert(run_until(&run, ended, MINUTE_MS), "the engine ends");
	cr_assert_leq(instant_between_ms(before, world_now(run.world)), 15000);
	cr_assert_eq(run.exit_code, 1);
}

Test(refuse, a_standby_does_nothing)
{
	run_add_region(&run);
	run_for(&run, 5000);
	world_steal_lease(run.world);
	cr_assert(run_until(&run, ended, MINUTE_MS));
	run.ended = false;
	world_revive(run.world);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	unsigned effects = world_effects(run.world);
	run_for(&run, 10 * MINUTE_MS);
	cr_assert_eq(world_effects(run.world), effects);
	assert_group("web", "subnet-a1,subnet-b1,subnet-c1");
}

static bool rival_seen(struct run *at)
{
	return strcmp(world_change_state(at->world, "out", "web"), "Rival") == 0;
}

Test(refuse, a_rival_is_fought_three_times_and_then_reported)
{
	run_add_region(&run);
	run.settings.resync_ms = MINUTE_MS;
	world_rival(run.world, "web", "subnet-a1", 90000, 1000);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	bool seen = run_until(&run, rival_seen, 120 * MINUTE_MS);
	if (!seen)
		world_print_timeline(run.world);
	cr_assert(seen, "web is %s", world_change_state(run.world, "out", "web"));
	run_for(&run, 30 * MINUTE_MS);
	const char *reason;
	cr_assert_str_eq(world_condition(run.world, "out", "Evacuated", &reason), "False");
	cr_assert_str_eq(reason, "Rival");
	cr_assert_leq(world_calls(run.world, "UpdateAutoScalingGroup"), 5 + 3,
	              "the first time, and three times more for one group");
	assert_group("api", "subnet-b1,subnet-c1");
	world_delete_evacuation(run.world, "out");
	must(run_gone, "gone");
	cr_assert(strstr(world_group(run.world, "web"), "subnet-a1"));
	cr_assert_eq(world_records(run.world), 0);
}

static bool is_out(const char *group)
{
	return strstr(world_group(run.world, group), "subnet-a") == NULL;
}

/*
 * Another cluster joins while our first writes since the deletion are on their way: what it joined in time stays out, and is its own; a store that
 * refuses without showing what refused it is read.
 */
Test(refuse, who_joins_at_the_last_moment_is_seen_without_being_shown)
{
	static const char *const groups[] = {"web", "api", "batch", "cache", "idle"};
	size_t out = 0;

	run_add_region(&run);
	dynamo_set_items_on_refusal(world_dynamo(run.world), false);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	world_delete_evacuation(run.world, "out");
	run_to_calls(&run, "UpdateItem", 1);
	world_join(run.world, "use1-az1", "another-cluster");
	must(run_gone, "gone");
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		out += is_out(groups[i]);
	cr_assert_gt(out, 0);
	cr_assert_eq(world_records(run.world), out);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
}

Test(refuse, whoever_is_not_the_last_owner_only_leaves)
{
	run_add_region(&run);
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "holds");
	world_join(run.world, "use1-az1", "another-cluster");
	world_delete_evacuation(run.world, "out");
	must(run_gone, "leaves");
	assert_group("web", "subnet-b1,subnet-c1");
	cr_assert_not(world_node_tainted(run.world, "node-a1"), "nodes are this cluster's alone");
	cr_assert_eq(world_records(run.world), 5);
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 1);
	unsigned updates = world_calls(run.world, "UpdateAutoScalingGroup");
	run_evacuate(&run, "out", "use1-az1", "Evacuate");
	must(run_holding, "joins what the other holds");
	cr_assert_eq(world_zone_owners(run.world, "use1-az1"), 2);
	world_delete_evacuation(run.world, "out");
	must(run_gone, "leaves again");
	cr_assert_eq(world_calls(run.world, "UpdateAutoScalingGroup"), updates);
	cr_assert_eq(world_records(run.world), 5);
	assert_group("api", "subnet-b1,subnet-c1");
}
