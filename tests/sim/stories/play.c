/*
 * Playing a story: the processes, and time.
 */
#include "play.h"

#include <stdio.h>
#include <string.h>

#define MINUTE_MS ((int64_t)60 * 1000)
#define REST_LIMIT_MS (6 * 60 * MINUTE_MS)
#define END_LIMIT_MS (12 * 60 * MINUTE_MS)
#define LAST_ARRIVAL_MS (6 * MINUTE_MS)
#define STEPS_MAX 3000000

static const char *environment_get(void *context, const char *name)
{
	static const char *const table[][2] = {
		{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"}, {"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"},
		{"AWS_REGION", WORLD_REGION},         {"AWS_ENDPOINT_URL", WORLD_AWS_URL},
		{"AWS_CONFIG_FILE", "/dev/null"},     {"AWS_SHARED_CREDENTIALS_FILE", "/dev/null"},
	};
	(void)context;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i][0], name) == 0)
			return table[i][1];
	return NULL;
}

static const struct aws_environment environment = {environment_get, NULL};

static void actor_init(struct play *play, size_t number)
{
	struct actor *actor = &play->actors[number];
	actor->client = &play->world->clients[number].client;
	actor->kube.base_url = WORLD_KUBE_URL;
	actor->kube.namespace_ = "zonevac";
	actor->kube.source = "simulated";
	(void)snprintf(actor->kube.token, sizeof(actor->kube.token), "token");
	actor->settings = (struct engine_settings){
		.region = WORLD_REGION,
		.table = WORLD_TABLE,
		.leader_elect = play->story->cast != CAST_ALONE,
		.lease_namespace = "zonevac",
		.identity = actor->identity,
		.resync_ms = 5 * MINUTE_MS,
		.poll_ms = 5000,
		.kube = &actor->kube,
		.environment = &environment,
	};
}

static void actor_ends(struct play *play, struct actor *actor)
{
	engine_free(actor->engine);
	actor->engine = NULL;
	world_bury_client(play->world, actor->client);
	actor->born = instant_after(world_now(play->world), 1000 + sim_chance(play->world, 2000));
}

static bool can_begin(struct play *play, const struct actor *actor)
{
	return actor->engine != NULL || instant_reached(actor->born, world_now(play->world));
}

/* False when it cannot: it is dead, or stopped. */
static bool actor_step(struct play *play, struct actor *actor)
{
	if (!can_begin(play, actor))
		return false;
	if (actor->engine == NULL) {
		world_begin_client(play->world, actor->client);
		(void)snprintf(actor->identity, sizeof(actor->identity), "p%zu_%u", (size_t)(actor - play->actors) + 1,
		               ++actor->lives);
		actor->engine = engine_new(&actor->settings, actor->client);
	}
	if (world_client_killed(play->world, actor->client)) {
		actor_ends(play, actor);
		return true;
	}
	if (world_paused(play->world, actor->client))
		return false;
	bool goes_on = engine_step(actor->engine);
	if (!goes_on || world_client_killed(play->world, actor->client))
		actor_ends(play, actor);
	return true;
}

/* Nobody can do anything: to when the first one can again. */
static void sleep_all(struct play *play)
{
	struct instant first = {INT64_MAX};
	for (size_t i = 0; i < play->actor_count; i++) {
		const struct actor *actor = &play->actors[i];
		first = instant_earlier(first, actor->engine != NULL ? play->world->clients[i].paused_until : actor->born);
	}
	int64_t left_ms = instant_between_ms(world_now(play->world), first);
	world_advance(play->world, left_ms > 0 ? left_ms : 1);
}

static bool play_until(struct play *play, bool (*reached)(struct play *play), struct instant limit)
{
	for (long steps = 0; reached == NULL || !reached(play); steps++) {
		bool moved = false;
		if (instant_reached(limit, world_now(play->world)))
			return false;
		if (steps > STEPS_MAX)
			sim_broken(play->world, "the engine steps for ever");
		for (size_t i = 0; i < play->actor_count; i++)
			moved = actor_step(play, &play->actors[i]) || moved;
		if (!moved)
			sleep_all(play);
		play_check_claims(play);
	}
	return true;
}

static void delete_all(struct play *play)
{
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++) {
		const struct json *object;
		char names[PLAY_EVACUATIONS_MAX][40];
		size_t count = 0;
		world_turn_to_cluster(play->world, cluster);
		for (; count < PLAY_EVACUATIONS_MAX &&
		       (object = sim_kube_object_at(play->world, "zonalevacuations", count)) != NULL;
		     count++)
			(void)snprintf(names[count], sizeof(names[count]), "%s", json_path_string(object, "metadata.name"));
		for (size_t i = 0; i < count; i++)
			world_delete_evacuation(play->world, names[i]);
	}
	world_turn_to_cluster(play->world, 0);
}

static struct instant in(const struct play *play, int64_t ms)
{
	return instant_after(world_now(play->world), ms);
}

/* Phases of those that are left, for the sentence. */
static const char *who_is_left(struct play *play)
{
	struct string_list left = {0};
	const struct json *object;
	for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++) {
		world_turn_to_cluster(play->world, cluster);
		for (size_t i = 0; (object = sim_kube_object_at(play->world, "zonalevacuations", i)) != NULL; i++)
			string_list_add(&left, &play->arena,
			                arena_printf(&play->arena, "%s %s", json_path_string(object, "metadata.name"),
			                             json_path_string(object, "status.phase")));
	}
	world_turn_to_cluster(play->world, 0);
	return string_list_join(&left, &play->arena, ", ");
}

/* What was let go is taken over by a new object, and put back with it. */
static void take_over_all(struct play *play)
{
	(void)play_until(play, NULL, in(play, 3 * MINUTE_MS)); /* a table that was lost is there again */
	for (size_t zone = 0; zone < 3; zone++) {
		for (size_t cluster = 0; cluster < sim_cluster_count(play->world); cluster++)
			play_apply_heir(play, cluster, zone);
		if (!play_until(play, play_at_rest, in(play, REST_LIMIT_MS)))
			sim_broken(play->world, "who takes over never comes to rest: %s", who_is_left(play));
		(void)play_until(play, NULL, in(play, MINUTE_MS)); /* what is left of things that are gone is taken over last */
		delete_all(play);
		if (!play_until(play, play_is_over, in(play, END_LIMIT_MS)))
			sim_broken(play->world, "who takes over is never over: %s", who_is_left(play));
	}
}

/* Every other story is let come to rest before all is deleted. */
static void play_end(struct play *play)
{
	world_calm(play->world);
	if (play->story->seed % 2 == 0 && !play_until(play, play_at_rest, in(play, REST_LIMIT_MS)))
		sim_broken(play->world, "it never comes to rest: %s", who_is_left(play));
	delete_all(play);
	if (!play_until(play, play_is_over, in(play, END_LIMIT_MS)))
		sim_broken(play->world, "it is never over: %s", who_is_left(play));
	if (play->abandoned)
		take_over_all(play);
}

static void play_init(struct play *play, const struct story *story, bool aloud, world_broken_hook hook, void *context)
{
	memset(play, 0, sizeof(*play));
	arena_init(&play->arena, "play", 64 * 1024 * 1024);
	play->story = story;
	play->world = world_new(story->seed);
	world_on_broken(play->world, hook, context);
	if (!aloud)
		world_be_silent(play->world);
	if (story->cast == CAST_CLUSTERS)
		world_add_second_cluster(play->world);
	play->actor_count = story->cast == CAST_ONE || story->cast == CAST_ALONE ? 1 : 2;
	play_set_up(play);
	play->before = world_fingerprint(play->world, &play->arena);
	for (size_t i = 0; i < play->actor_count; i++)
		actor_init(play, i);
	play->world->clients[0].used = false;
	for (size_t i = 0; i < story->event_count; i++) {
		play->deeds[i] = (struct deed){play, &story->events[i]};
		world_at(play->world, story->events[i].at_ms, play_do, &play->deeds[i]);
	}
}

static void play_done(struct play *play)
{
	for (size_t i = 0; i < play->actor_count; i++)
		kube_config_done(&play->actors[i].kube);
	world_free(play->world);
	arena_done(&play->arena);
}

static int64_t last_event_ms(const struct story *story)
{
	return story->event_count > 0 ? story->events[story->event_count - 1].at_ms : 0;
}

void story_play(const struct story *story, bool aloud, world_broken_hook hook, void *context, struct play_record *out)
{
	static struct play play;
	play_init(&play, story, aloud, hook, context);
	struct instant start = world_now(play.world);
	(void)play_until(&play, NULL, in(&play, last_event_ms(story) + 1));
	play_end(&play);
	for (size_t i = 0; i < play.actor_count; i++) {
		out->deaths += play.actors[i].lives - 1;
		engine_free(play.actors[i].engine);
	}
	world_advance(play.world, LAST_ARRIVAL_MS);
	play_check_end(&play);
	out->virtual_ms += instant_between_ms(start, world_now(play.world));
	out->effects += world_effects(play.world);
	if (aloud)
		world_print_timeline(play.world);
	play_done(&play);
}
