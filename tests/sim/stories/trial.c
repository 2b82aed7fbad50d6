#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "play.h"

#define CPU_LIMIT_S 120 /* of one story; the slowest take less than one second, under sanitizers some ten */
#define EXIT_BROKEN 3

void *trial_share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* "%s has no subnet" to "… has no subnet". */
static void name_rule(const char *format, char *out, size_t size)
{
	size_t length = 0;
	while (*format != '\0' && *format != '\n' && length + 4 < size) {
		if (*format != '%') {
			out[length++] = *format++;
			continue;
		}
		length += (size_t)snprintf(out + length, size - length, "…");
		format += 1 + strcspn(format + 1, "diuscx");
		format += *format != '\0';
	}
	out[length] = '\0';
}

static void say_broken(void *context, const char *rule, const char *sentence)
{
	struct verdict *verdict = context;
	name_rule(rule, verdict->rule, sizeof(verdict->rule));
	(void)snprintf(verdict->sentence, sizeof(verdict->sentence), "%s", sentence);
	verdict->broken = true;
	_exit(EXIT_BROKEN);
}

static void limit_cpu(void)
{
	struct itimerval limit = {.it_value = {.tv_sec = CPU_LIMIT_S}};
	(void)setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static void child_begins(bool aloud)
{
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	log_configure(getenv("SIM_LOG") != NULL ? LOG_DEBUG : LOG_ERROR, LOG_TEXT);
	if (!aloud && freopen("/dev/null", "w", stderr) == NULL)
		abort();
}

static void count(struct tally *tally, const struct story *story, const struct play_record *record)
{
	tally->stories++;
	tally->casts[story->cast]++;
	tally->virtual_ms += (uint64_t)record->virtual_ms;
	tally->effects += record->effects;
	tally->deaths += record->deaths;
	for (size_t i = 0; i < story->event_count; i++) {
		const struct story_event *event = &story->events[i];
		tally->verbs[event->verb]++;
		if (event->verb == VERB_FAULT)
			tally->faults[event->b]++;
	}
}

static void play_lane(struct lane *lane, const struct story_taste *taste)
{
	static struct story story;
	for (; lane->next < lane->end; lane->next += lane->stride) {
		struct play_record record = {0};
		lane->seed = lane->next;
		limit_cpu();
		story_make(&story, lane->seed, taste);
		story_play(&story, false, say_broken, &lane->verdict, &record);
		count(&lane->tally, &story, &record);
	}
}

pid_t trial_start(struct lane *lane, const struct story_taste *taste)
{
	pid_t child = fork();
	if (child < 0)
		abort();
	if (child > 0)
		return child;
	child_begins(false);
	play_lane(lane, taste);
	exit(0); /* not _exit: leaks are looked for */
}

bool trial_judge(int status, struct verdict *verdict)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (verdict->broken)
		return false;
	verdict->broken = true;
	if (WIFSIGNALED(status))
		(void)snprintf(verdict->rule, sizeof(verdict->rule), "%s",
		               WTERMSIG(status) == SIGVTALRM ? "the story ends" : strsignal(WTERMSIG(status)));
	else
		(void)snprintf(verdict->rule, sizeof(verdict->rule), "exit status %d", WEXITSTATUS(status));
	(void)snprintf(verdict->sentence, sizeof(verdict->sentence), "the process that played it died: %s", verdict->rule);
	return false;
}

static _Noreturn void play_aloud(const struct story *story)
{
	struct play_record record = {0};
	child_begins(true);
	story_play(story, true, NULL, NULL, &record);
	exit(0);
}

static _Noreturn void play_silently(const struct story *story, struct verdict *verdict)
{
	struct play_record record = {0};
	child_begins(false);
	story_play(story, false, say_broken, verdict, &record);
	exit(0);
}

void trial_play(const struct story *story, bool aloud, struct verdict *verdict)
{
	static struct verdict *shared;
	int status;
	if (shared == NULL)
		shared = trial_share(sizeof(*shared));
	memset(shared, 0, sizeof(*shared));
	(void)fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		abort();
	if (child == 0) {
		limit_cpu();
		if (aloud)
			play_aloud(story);
		play_silently(story, shared);
	}
	if (waitpid(child, &status, 0) != child)
		abort();
	(void)trial_judge(status, shared);
	*verdict = *shared;
}
