/*
 * stories: as many stories as one likes against the simulated world, on all cores; what breaks a rule is shrunk and told.
 *
 * Exit status: 0 = all was well, 1 = a story broke a rule, 2 = the command line is wrong.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trial.h"

#define JOBS_MAX 64
#define RULES_MAX 32
#define SHRINK_S 60
#define POLL_NS 50000000

struct options {
	uint64_t runs;
	uint64_t seed;
	unsigned jobs;
	const char *file; /* a story to play */
	const char *out;  /* the folder for shrunk stories */
	bool keep_going;
	bool quiet;
	bool shrink;
	bool tell;
	struct story_taste taste;
};

struct runner {
	const struct options *options;
	struct lane *lanes; /* shared with the workers */
	pid_t workers[JOBS_MAX];
	time_t started;
	double next_word;
	uint64_t failures;
	char rules[RULES_MAX][192]; /* that were broken */
	uint64_t breaks[RULES_MAX];
	size_t rule_count;
};

static const char usage[] =
	"usage: stories [--runs N] [--seed S] [--jobs J] [--keep-going] [--no-shrink] [--quiet] [--other-zones] [--out FOLDER]\n"
	"       stories --tell --seed S\n"
	"       stories --story FILE\n"
	"\n"
	"  --runs N       so many stories, one a seed (10000; 1 when only a seed is given)\n"
	"  --seed S       the first seed (1)\n"
	"  --jobs J       so many processes (one a core)\n"
	"  --keep-going   go on after a broken story\n"
	"  --no-shrink    tell a broken story as it is\n"
	"  --quiet        say only what is broken\n"
	"  --other-zones  in every story evacuations of two zones at the same time (guards.allowOtherZones); else in one of five\n"
	"  --out FOLDER   where shrunk stories go (.)\n"
	"  --tell         print the story of the seed, and how it goes, whatever becomes of it\n"
	"  --story FILE   play that story, told step by step\n";

static double seconds_now(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Command line */

static uint64_t number_of(const char *name, const char *text)
{
	long long value = 0;
	if (text == NULL || !text_parse_integer(text, 0, INT64_MAX, &value)) {
		fprintf(stderr, "stories: %s wants a number\n", name);
		exit(2);
	}
	return (uint64_t)value;
}

static bool take_number(struct options *options, const char *name, const char *value)
{
	if (strcmp(name, "--runs") == 0)
		options->runs = number_of(name, value);
	else if (strcmp(name, "--seed") == 0)
		options->seed = number_of(name, value);
	else if (strcmp(name, "--jobs") == 0)
		options->jobs = (unsigned)number_of(name, value);
	else if (strcmp(name, "--story") == 0)
		options->file = value;
	else if (strcmp(name, "--out") == 0)
		options->out = value;
	else
		return false;
	return true;
}

static bool take_flag(struct options *options, const char *name)
{
	if (strcmp(name, "--keep-going") == 0)
		options->keep_going = true;
	else if (strcmp(name, "--quiet") == 0)
		options->quiet = true;
	else if (strcmp(name, "--tell") == 0)
		options->tell = true;
	else if (strcmp(name, "--no-shrink") == 0)
		options->shrink = false;
	else if (strcmp(name, "--other-zones") == 0)
		options->taste.other_zones = true;
	else
		return false;
	return true;
}

static void read_options(int argc, char **argv, struct options *options)
{
	bool seeded = false;
	*options = (struct options){.seed = 1, .out = ".", .shrink = true};
	for (int i = 1; i < argc; i++) {
		seeded = seeded || strcmp(argv[i], "--seed") == 0;
		if (take_flag(options, argv[i]))
			continue;
		if (i + 1 == argc || !take_number(options, argv[i], argv[i + 1])) {
			bool asked = strcmp(argv[i], "--help") == 0;
			fputs(usage, asked ? stdout : stderr);
			exit(asked ? 0 : 2);
		}
		i++;
	}
	if (options->runs == 0)
		options->runs = seeded ? 1 : 10000;
	if (options->jobs == 0)
		options->jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (options->jobs > JOBS_MAX)
		options->jobs = JOBS_MAX;
	if (options->jobs > options->runs)
		options->jobs = (unsigned)options->runs;
}

/* Telling */

static struct tally sum(const struct runner *runner)
{
	struct tally all = {0};
	for (unsigned i = 0; i < runner->options->jobs; i++) {
		const struct tally *one = &runner->lanes[i].tally;
		all.stories += one->stories;
		all.virtual_ms += one->virtual_ms;
		all.effects += one->effects;
		all.deaths += one->deaths;
		for (size_t n = 0; n < CASTS; n++)
			all.casts[n] += one->casts[n];
		for (size_t n = 0; n < VERBS; n++)
			all.verbs[n] += one->verbs[n];
		for (size_t n = 0; n < FAULT_KINDS; n++)
			all.faults[n] += one->faults[n];
	}
	return all;
}

static void tell_progress(struct runner *runner)
{
	bool terminal = isatty(STDOUT_FILENO) != 0;
	double now = seconds_now();
	if (runner->options->quiet || now < runner->next_word)
		return;
	struct tally all = sum(runner);
	double passed = now - (double)runner->started;
	printf("%s%" PRIu64 " of %" PRIu64 " stories, %.0f/s, %" PRIu64 " broken, %.0f s%s", terminal ? "\r" : "",
	       all.stories, runner->options->runs, (double)all.stories / (passed > 0.1 ? passed : 0.1), runner->failures,
	       passed, terminal ? "   " : "\n");
	(void)fflush(stdout);
	runner->next_word = now + (terminal ? 5 : 15);
}

static void tell_counts(const char *what, const char *name, uint64_t count)
{
	if (count > 0)
		printf("  %-8s %-24s %12" PRIu64 "\n", what, name, count);
}

static void tell_summary(const struct runner *runner)
{
	struct tally all = sum(runner);
	double passed = seconds_now() - (double)runner->started;
	if (isatty(STDOUT_FILENO))
		printf("\n");
	printf("%" PRIu64 " stories in %.1f s, %.0f/s; %.1f days of virtual time, %" PRIu64 " effects, %" PRIu64
	       " deaths; %" PRIu64 " broken\n",
	       all.stories, passed, (double)all.stories / (passed > 0.01 ? passed : 0.01),
	       (double)all.virtual_ms / 86400000.0, all.effects, all.deaths, runner->failures);
	for (size_t i = 0; i < CASTS; i++)
		tell_counts("cast", story_casts[i], all.casts[i]);
	for (size_t i = 0; i < VERBS; i++)
		tell_counts("event", story_verbs[i], all.verbs[i]);
	for (size_t i = 0; i < FAULT_KINDS; i++)
		tell_counts("fault", world_fault_name((enum world_fault)i), all.faults[i]);
	for (size_t i = 0; i < runner->rule_count; i++)
		printf("  broken %6" PRIu64 " times: %s\n", runner->breaks[i], runner->rules[i]);
}

static void write_story(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	if (file == NULL || fputs(text, file) < 0)
		perror(path);
	if (file != NULL)
		(void)fclose(file);
}

static bool tell_story(const struct options *options, const struct story *story)
{
	struct verdict verdict;
	struct text text;
	char path[512];
	text_init(&text, 64 * 1024);
	story_print(story, &text);
	(void)snprintf(path, sizeof(path), "%s/story-%" PRIu64 ".txt", options->out, story->seed);
	write_story(path, text.at);
	printf("\n%s\nhow it goes:\n", text.at);
	text_done(&text);
	trial_play(story, true, &verdict);
	printf("again: ./dev sim --story %s\n", path);
	return verdict.broken;
}

/* True: this rule was not broken before. */
static bool note_rule(struct runner *runner, const char *rule)
{
	for (size_t i = 0; i < runner->rule_count; i++)
		if (strcmp(runner->rules[i], rule) == 0) {
			runner->breaks[i]++;
			return false;
		}
	if (runner->rule_count == RULES_MAX)
		return false;
	(void)snprintf(runner->rules[runner->rule_count], sizeof(runner->rules[0]), "%s", rule);
	runner->breaks[runner->rule_count++] = 1;
	return true;
}

static void tell_broken(struct runner *runner, uint64_t seed, const struct verdict *verdict)
{
	const struct options *options = runner->options;
	struct story story;
	runner->failures++;
	printf("%sbroken: seed %" PRIu64 " rule \"%s\"\n        %s\n        again: ./dev sim --seed %" PRIu64 "%s\n",
	       isatty(STDOUT_FILENO) ? "\n" : "", seed, verdict->rule, verdict->sentence, seed,
	       options->taste.other_zones ? " --other-zones" : "");
	(void)fflush(stdout);
	if (!note_rule(runner, verdict->rule) || options->quiet)
		return;
	story_make(&story, seed, &options->taste);
	if (options->shrink) {
		unsigned trials = story_shrink(&story, verdict->rule, SHRINK_S);
		printf("shrunk in %u trials to %zu things and %zu events\n", trials, story.thing_count, story.event_count);
	}
	(void)tell_story(options, &story);
}

/* Running */

static void end_workers(struct runner *runner)
{
	for (unsigned i = 0; i < runner->options->jobs; i++)
		if (runner->workers[i] > 0) {
			(void)kill(runner->workers[i], SIGKILL);
			(void)waitpid(runner->workers[i], NULL, 0);
			runner->workers[i] = 0;
		}
}

/* A worker has ended: it was done, or its story broke a rule and the next one goes on after it. */
static void worker_ended(struct runner *runner, unsigned i, int status)
{
	struct lane *lane = &runner->lanes[i];
	runner->workers[i] = 0;
	if (trial_judge(status, &lane->verdict))
		return;
	struct verdict verdict = lane->verdict;
	uint64_t seed = lane->seed;
	if (!runner->options->keep_going)
		end_workers(runner);
	lane->tally.stories++;
	lane->next = seed + lane->stride;
	memset(&lane->verdict, 0, sizeof(lane->verdict));
	if (runner->options->keep_going)
		runner->workers[i] = trial_start(lane, &runner->options->taste);
	tell_broken(runner, seed, &verdict);
}

static bool look_at_workers(struct runner *runner)
{
	bool any = false;
	for (unsigned i = 0; i < runner->options->jobs; i++) {
		int status;
		if (runner->workers[i] > 0 && waitpid(runner->workers[i], &status, WNOHANG) > 0)
			worker_ended(runner, i, status);
		any = any || runner->workers[i] > 0;
	}
	return any;
}

static int run(const struct options *options)
{
	static struct runner runner;
	runner.options = options;
	runner.started = (time_t)seconds_now();
	runner.lanes = trial_share(options->jobs * sizeof(struct lane));
	runner.next_word = seconds_now() + 5;
	(void)fflush(NULL);
	for (unsigned i = 0; i < options->jobs; i++) {
		runner.lanes[i].next = options->seed + i;
		runner.lanes[i].stride = options->jobs;
		runner.lanes[i].end = options->seed + options->runs;
		runner.workers[i] = trial_start(&runner.lanes[i], &options->taste);
	}
	while (look_at_workers(&runner)) {
		tell_progress(&runner);
		(void)nanosleep(&(struct timespec){0, POLL_NS}, NULL);
	}
	if (!options->quiet)
		tell_summary(&runner);
	return runner.failures > 0 ? 1 : 0;
}

static int tell_seed(const struct options *options)
{
	static struct story story;
	story_make(&story, options->seed, &options->taste);
	bool broken = tell_story(options, &story);
	printf("%s\n", broken ? "broken" : "all was well");
	return broken ? 1 : 0;
}

static int play_file(const char *path)
{
	static char text[64 * 1024];
	static struct story story;
	struct verdict verdict;
	char why[320];
	FILE *file = fopen(path, "r");
	if (file == NULL) {
		perror(path);
		return 2;
	}
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);
	if (!story_read(text, &story, why, sizeof(why))) {
		fprintf(stderr, "stories: %s: %s\n", path, why);
		return 2;
	}
	trial_play(&story, true, &verdict);
	printf("%s\n", verdict.broken ? "broken" : "all was well");
	return verdict.broken ? 1 : 0;
}

int main(int argc, char **argv)
{
	static struct options options;
	read_options(argc, argv, &options);
	if (options.tell)
		return tell_seed(&options);
	return options.file != NULL ? play_file(options.file) : run(&options);
}
