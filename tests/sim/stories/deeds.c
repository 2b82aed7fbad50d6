/*
 * What happens in a story: people's deeds and the machinery's faults. What its owner does to a thing is remembered as what it is to be in the end.
 */
#include "play.h"

#include <stdio.h>
#include <string.h>

#define UNSEEN_MS 1500 /* what is read is sent within a second */

static void add_word(char *list, size_t size, const char *word)
{
	size_t length = strlen(list);
	(void)snprintf(list + length, size - length, "%s%s", length > 0 ? "," : "", word);
}

static bool names(struct play *play, const char *list, const char *word)
{
	return sim_list_has(play->world, list, word);
}

static void wants(struct play *play, struct owned *owned, const char *subnet, bool in)
{
	const char *rest = sim_list_without(play->world, owned->wanted, subnet);
	(void)snprintf(owned->wanted, sizeof(owned->wanted), "%s", rest);
	if (in)
		add_word(owned->wanted, sizeof(owned->wanted), subnet);
	owned->touched = true;
	play->interfered = true;
}

/* Setting up */

static void add_pods(struct play *play, const struct story_thing *node)
{
	char name[48];
	for (int i = 0; i < node->count; i++) {
		bool bare = i == 0 && (node->traits & TRAIT_BARE_POD) != 0;
		(void)snprintf(name, sizeof(name), "%s-%d", node->name, i);
		world_add_pod(play->world, &(struct world_pod){.namespace_ = "default",
		                                               .name = name,
		                                               .node = node->name,
		                                               .owner_kind = bare ? NULL : "ReplicaSet",
		                                               .owner = bare ? NULL : node->name,
		                                               .grace_s = 5});
	}
	if ((node->traits & TRAIT_BUDGET) != 0)
		world_add_budget(play->world, "default", node->name, node->name, 1);
}

/* "shop/s1" to its parts. */
static const char *service_name(const struct story_thing *thing, char cluster[32])
{
	const char *slash = strchr(thing->name, '/');
	(void)snprintf(cluster, 32, "%.*s", (int)(slash - thing->name), thing->name);
	return slash + 1;
}

static void add_service(struct play *play, const struct story_thing *thing)
{
	char cluster[32];
	const char *name = service_name(thing, cluster);
	world_add_special_service(
		play->world, &(struct world_service){.cluster = cluster,
	                                         .name = name,
	                                         .subnets = thing->place,
	                                         .desired = thing->count,
	                                         .controller = thing->traits & TRAIT_CODE_DEPLOY ? "CODE_DEPLOY" : NULL,
	                                         .daemon = (thing->traits & TRAIT_DAEMON) != 0,
	                                         .no_rollout_state = (thing->traits & TRAIT_NO_ROLLOUT) != 0});
}

static void add_thing(struct play *play, const struct story_thing *thing)
{
	struct world *world = play->world;
	bool cluster = (thing->traits & TRAIT_NODES) != 0;
	switch (thing->kind) {
	case THING_GROUP:
		world_add_group(world, thing->name, thing->place, thing->count,
		                cluster ? "kubernetes.io/cluster/prod=owned" : NULL);
		if (cluster)
			world_add_group_nodes(world, thing->name);
		return;
	case THING_SERVICE:
		add_service(play, thing);
		return;
	case THING_FUNCTION:
		world_add_function(world, thing->name, thing->place, NULL);
		if ((thing->traits & TRAIT_TAGS_HIDDEN) != 0)
			world_hide_tags(world, thing->name);
		return;
	default:
		world_add_node(world, &(struct world_node){thing->name, thing->place, (thing->traits & TRAIT_CORDONED) != 0,
		                                           thing->traits & TRAIT_FOREIGN_TAINT ? "example.com/special" : NULL});
		add_pods(play, thing);
	}
}

void play_set_up(struct play *play)
{
	static const char *const zones[3][2] = {
		{"use1-az1", "us-east-1c"}, {"use1-az2", "us-east-1a"}, {"use1-az4", "us-east-1b"}};
	struct world *world = play->world;
	char subnet[16];
	for (int i = 0; i < 3; i++) {
		world_add_zone(world, zones[i][0], zones[i][1]);
		for (int nth = 1; nth <= 2; nth++) {
			(void)snprintf(subnet, sizeof(subnet), "subnet-%c%d", 'a' + i, nth);
			world_add_subnet(world, subnet, zones[i][0]);
		}
	}
	world_add_subnet_of(world, "subnet-v1", "use1-az1", "vpc-2");
	world_add_subnet_of(world, "subnet-v2", "use1-az2", "vpc-2");
	world_make_table(world);
	world_add_cluster(world, "shop");
	world_add_cluster(world, "mill");
	for (size_t i = 0; i < play->story->thing_count; i++) {
		const struct story_thing *thing = &play->story->things[i];
		add_thing(play, thing);
		(void)snprintf(play->owned[i].wanted, sizeof(play->owned[i].wanted), "%s", thing->place);
		(void)snprintf(play->owned[i].security, sizeof(play->owned[i].security), "sg-1");
	}
}

/* Things */

static void set_subnets(struct play *play, const struct story_thing *thing, const char *subnets)
{
	char cluster[32];
	if (thing->kind == THING_GROUP)
		world_edit_group(play->world, thing->name, subnets);
	else if (thing->kind == THING_FUNCTION)
		world_edit_function(play->world, thing->name, subnets);
	else {
		const char *name = service_name(thing, cluster);
		world_edit_service(play->world, cluster, name, subnets);
	}
}

static size_t index_of(struct play *play, const char *name)
{
	size_t at = 0;
	while (at < play->story->thing_count && strcmp(play->story->things[at].name, name) != 0)
		at++;
	return at;
}

/* Whoever recorded it meanwhile had read it before: it comes back, and nobody could have known. */
static void look_if_named(struct world *world, void *context)
{
	struct deed *deed = context;
	size_t at = index_of(deed->play, deed->event->who);
	struct sim_placed *placed = play_placed(deed->play, &deed->play->story->things[at]);
	if (placed != NULL && sim_record_naming(world, placed, deed->event->what) != NULL)
		add_word(deed->play->owned[at].either, sizeof(deed->play->owned[at].either), deed->event->what);
}

/* What is on its way may land as late as that. */
static bool is_troubled(const struct story *story)
{
	for (size_t i = 0; i < story->event_count; i++)
		if (story->events[i].verb >= VERB_KILL && story->events[i].verb <= VERB_SLOW)
			return true;
	return false;
}

static bool is_evacuated(const struct story *story, char zone)
{
	const char *id = zone == 'a' ? "use1-az1:" : zone == 'b' ? "use1-az2:" : "use1-az4:";
	for (size_t i = 0; i < story->event_count; i++)
		if (story->events[i].verb == VERB_APPLY && strncmp(story->events[i].what, id, strlen(id)) == 0)
			return true;
	return false;
}

static bool has_verb(const struct story *story, enum story_verb verb)
{
	for (size_t i = 0; i < story->event_count; i++)
		if (story->events[i].verb == verb)
			return true;
	return false;
}

static void remove_subnet(struct deed *deed, const struct story_thing *thing, struct owned *owned,
                          struct sim_placed *placed)
{
	struct play *play = deed->play;
	const char *subnet = deed->event->what;
	if (!names(play, placed->subnets, subnet) || sim_list(play->world, placed->subnets).count < 2)
		return;
	wants(play, owned, subnet, false);
	if (is_evacuated(play->story, subnet[7]) && is_troubled(play->story))
		add_word(owned->either, sizeof(owned->either), subnet);
	look_if_named(play->world, deed);
	world_at(play->world, UNSEEN_MS, look_if_named, deed);
	set_subnets(play, thing, sim_list_without(play->world, placed->subnets, subnet));
}

static void add_subnet(struct deed *deed, const struct story_thing *thing, struct owned *owned,
                       struct sim_placed *placed)
{
	const char *subnet = deed->event->what;
	bool elsewhere = strchr(placed->subnets, 'v') != NULL; /* in the other VPC */
	if (elsewhere || names(deed->play, placed->subnets, subnet))
		return;
	wants(deed->play, owned, subnet, true);
	set_subnets(deed->play, thing, sim_list_with(deed->play->world, placed->subnets, subnet));
}

static void move(struct play *play, const struct story_thing *thing, struct owned *owned)
{
	static const char there[] = "subnet-v1,subnet-v2";
	if (thing->kind == THING_FUNCTION)
		return;
	(void)snprintf(owned->wanted, sizeof(owned->wanted), "%s", there);
	owned->either[0] = '\0';
	owned->touched = play->interfered = true;
	set_subnets(play, thing, there);
}

static void destroy(struct play *play, const struct story_thing *thing, struct owned *owned)
{
	char cluster[32];
	owned->gone = true;
	play->interfered = true;
	if (thing->kind == THING_GROUP)
		world_delete_group(play->world, thing->name);
	else if (thing->kind == THING_FUNCTION)
		world_delete_function(play->world, thing->name);
	else {
		const char *name = service_name(thing, cluster);
		world_delete_service(play->world, cluster, name);
	}
}

/* Under the same name, as it was once. */
static void recreate(struct play *play, const struct story_thing *thing, struct owned *owned)
{
	char cluster[32];
	if (thing->kind == THING_FUNCTION)
		return; /* nothing tells the new one from the old one */
	if (thing->kind == THING_GROUP) {
		world_delete_group(play->world, thing->name);
		world_add_group(play->world, thing->name, thing->place, thing->count, NULL);
		struct sim_placed *placed = play_placed(play, thing);
		placed->foreign_edit = placed->reborn = world_now(play->world);
	} else {
		const char *name = service_name(thing, cluster);
		world_recreate_service(play->world, cluster, name, thing->place);
	}
	play->interfered = owned->touched = true;
	owned->either[0] = '\0';
	(void)snprintf(owned->wanted, sizeof(owned->wanted), "%s", thing->place);
}

static void tag(struct play *play, const struct story_thing *thing, struct owned *owned, bool excluded)
{
	const char *tags = excluded ? "zonevac.dev/exclude=true" : "";
	char cluster[32];
	owned->excluded = true;
	if (thing->kind == THING_GROUP)
		world_tag_group(play->world, thing->name, tags);
	else if (thing->kind == THING_FUNCTION)
		world_tag_function(play->world, thing->name, tags);
	else {
		const char *name = service_name(thing, cluster);
		world_tag_service(play->world, cluster, name, tags);
	}
}

static void secure(struct play *play, const struct story_thing *thing, struct owned *owned)
{
	char cluster[32];
	if (thing->kind == THING_GROUP)
		return;
	(void)snprintf(owned->security, sizeof(owned->security), "sg-2");
	play->interfered = owned->touched = true;
	if (thing->kind == THING_FUNCTION) {
		world_secure_function(play->world, thing->name, "sg-2");
	} else {
		const char *name = service_name(thing, cluster);
		world_secure_service(play->world, cluster, name, "sg-2");
	}
}

static void let_fail(struct play *play, const struct story_thing *thing, bool rollback)
{
	char cluster[32];
	if (thing->kind == THING_FUNCTION) {
		world_fail_update(play->world, thing->name, "SubnetOutOfIPAddresses");
	} else if (thing->kind == THING_SERVICE) {
		const char *name = service_name(thing, cluster);
		world_break_deployments(play->world, cluster, name, rollback);
	}
}

static void unpin(struct world *world, void *context)
{
	struct deed *deed = context;
	size_t at = index_of(deed->play, deed->event->who);
	if (play_placed(deed->play, &deed->play->story->things[at]) != NULL)
		world_pin_instances(world, deed->event->who, deed->event->what, false);
}

static void pin(struct deed *deed)
{
	world_pin_instances(deed->play->world, deed->event->who, deed->event->what, true);
	world_at(deed->play->world, deed->event->a, unpin, deed);
}

static void set_rival(struct deed *deed, struct owned *owned, const struct sim_placed *placed)
{
	const struct story_event *event = deed->event;
	if (!names(deed->play, owned->wanted, event->what) || placed->deleted)
		return;
	wants(deed->play, owned, event->what, true);
	world_rival(deed->play->world, event->who, event->what, event->a, (int)event->b);
}

static void forget(struct deed *deed, struct owned *owned, const struct sim_placed *placed)
{
	if (world_record(deed->play->world, deed->event->what, placed->arn) == NULL)
		return;
	owned->excused = true;
	deed->play->interfered = true;
	world_delete_record(deed->play->world, deed->event->what, deed->event->who);
}

static void do_to_placed(struct deed *deed, const struct story_thing *thing, struct owned *owned)
{
	struct sim_placed *placed = play_placed(deed->play, thing);
	const struct story_event *event = deed->event;
	if (placed == NULL)
		return;
	switch (event->verb) {
	case VERB_ADD:
		add_subnet(deed, thing, owned, placed);
		return;
	case VERB_REMOVE:
		remove_subnet(deed, thing, owned, placed);
		return;
	case VERB_MOVE:
		move(deed->play, thing, owned);
		return;
	case VERB_RIVAL:
		set_rival(deed, owned, placed);
		return;
	case VERB_DESTROY:
		destroy(deed->play, thing, owned);
		return;
	case VERB_RECREATE:
		recreate(deed->play, thing, owned);
		return;
	case VERB_EXCLUDE:
		tag(deed->play, thing, owned, event->a != 0);
		return;
	case VERB_SECURE:
		secure(deed->play, thing, owned);
		return;
	case VERB_TOUCH:
		if (thing->kind == THING_FUNCTION)
			world_touch_function(deed->play->world, thing->name);
		return;
	case VERB_BREAK:
		owned->rolled_back = true;
		let_fail(deed->play, thing, event->b != 0);
		return;
	case VERB_PIN:
		pin(deed);
		return;
	default:
		forget(deed, owned, placed);
	}
}

static void do_to_node(struct deed *deed, const struct story_thing *thing, struct owned *owned)
{
	struct world *world = deed->play->world;
	if (world_node(world, thing->name) == NULL)
		return;
	switch (deed->event->verb) {
	case VERB_UNCORDON:
		owned->uncordoned = true;
		world_uncordon_node(world, thing->name);
		return;
	case VERB_STRIP:
		owned->stripped = true;
		world_strip_node(world, thing->name);
		return;
	case VERB_DESTROY:
		owned->gone = true;
		world_delete_node(world, thing->name);
		return;
	case VERB_EXCLUDE:
		owned->excluded = true;
		world_label_node(world, thing->name, "zonevac.dev/exclude", deed->event->a != 0 ? "true" : NULL);
		return;
	case VERB_FREEZE_NODE:
		world_freeze_node(world, thing->name);
		return;
	default:
		return;
	}
}

static void join_node(struct play *play, const struct story_event *event)
{
	if (world_node(play->world, event->who) == NULL)
		world_add_node(play->world, &(struct world_node){.name = event->who, .zone_id = event->what});
	play->interfered = true;
}

static void do_to_thing(struct deed *deed)
{
	size_t at = index_of(deed->play, deed->event->who);
	if (deed->event->verb == VERB_JOIN) {
		join_node(deed->play, deed->event);
		return;
	}
	if (at == deed->play->story->thing_count)
		return; /* it was dropped from the story */
	const struct story_thing *thing = &deed->play->story->things[at];
	(thing->kind == THING_NODE ? do_to_node : do_to_placed)(deed, thing, &deed->play->owned[at]);
	if (thing->kind == THING_NODE)
		deed->play->interfered = true;
}

/* The machinery */

static void thaw(struct world *world, void *context)
{
	(void)context;
	world_freeze_watches(world, false);
}

static void add_fault(struct play *play, const struct story_event *event)
{
	char operation[32];
	(void)snprintf(operation, sizeof(operation), "%s", event->who);
	for (char *at = operation; *at != '\0'; at++)
		*at = *at == '+' ? ' ' : *at;
	world_fault(play->world, operation, (unsigned)event->a, (enum world_fault)event->b);
}

static void begin_outage(struct world *world, const struct story_event *event)
{
	if (strcmp(event->who, "kube") == 0)
		world_kube_outage(world, event->a);
	else if (strcmp(event->who, "aws") == 0)
		world_aws_outage(world, event->a);
	else
		world_service_outage(world, event->who, event->a, (enum world_fault)event->b);
}

static void pause_client(struct play *play, const struct story_event *event)
{
	struct actor *actor = &play->actors[event->b];
	if (actor->engine != NULL)
		world_pause(play->world, actor->client, event->a);
}

static void table_is_back(struct world *world, void *context)
{
	const struct deed *deed = context;
	if (deed->event->b != 0)
		world_bring_table_back(world);
	else
		world_make_table(world);
}

/* In what order the subnets stood nobody may know any more; where processes end as well, or objects go, all of it. */
static void lose_table(struct deed *deed)
{
	struct play *play = deed->play;
	if (play->table_lost)
		return;
	play->table_lost = play->interfered = true;
	bool forgets = is_troubled(play->story) || has_verb(play->story, VERB_ABANDON);
	for (size_t i = 0; i < play->story->thing_count && deed->event->b == 0; i++) {
		play->owned[i].touched = true;
		play->owned[i].excused = play->owned[i].excused || forgets;
	}
	world_lose_table(play->world);
	world_at(play->world, deed->event->a, table_is_back, deed);
}

static void do_to_machinery(struct deed *deed)
{
	struct world *world = deed->play->world;
	const struct story_event *event = deed->event;
	switch (event->verb) {
	case VERB_KILL:
		world_kill_at(world, world_effects(world) + (unsigned)event->a,
		              event->b != 0 ? WORLD_KILL_AFTER : WORLD_KILL_BEFORE);
		return;
	case VERB_FAULT:
		add_fault(deed->play, event);
		return;
	case VERB_LATE:
		world_set_late(world, event->a);
		return;
	case VERB_OUTAGE:
		begin_outage(world, event);
		return;
	case VERB_PAUSE:
		pause_client(deed->play, event);
		return;
	case VERB_STEAL:
		world_borrow_lease(world, event->a);
		return;
	case VERB_SKEW:
		world_set_skew(world, event->a);
		return;
	case VERB_SLOW:
		world_slow_connect(world, event->a);
		return;
	case VERB_END_WATCHES:
		world_end_watches(world);
		return;
	case VERB_COMPACT:
		world_compact(world);
		return;
	case VERB_FREEZE_WATCHES:
		world_freeze_watches(world, true);
		world_at(world, event->a, thaw, NULL);
		return;
	case VERB_LOSE_TABLE:
		lose_table(deed);
		return;
	default:
		deed->play->hidden = true;
		world_hide_subnet(world, event->who, (unsigned)event->a);
	}
}

void play_do(struct world *world, void *context)
{
	struct deed *deed = context;
	if (deed->event->verb == VERB_APPLY) {
		play_apply(deed->play, deed->event);
	} else if (deed->event->verb == VERB_DELETE) {
		world_delete_evacuation(world, play_evacuation(deed->play, deed->event->who));
		world_turn_to_cluster(world, 0);
	} else if (deed->event->verb == VERB_ABANDON) {
		play_abandon(deed->play, deed->event);
	} else if (deed->event->verb < VERB_ADD) {
		do_to_machinery(deed);
	} else {
		do_to_thing(deed);
	}
}
