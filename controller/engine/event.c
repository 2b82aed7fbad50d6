#include "event.h"

#include "kube/objects.h"
#include "nodes/eks_node.h"
#include "state.h"

#define TELL_EVERY_MS 60000

/* An event that is lost is not written again; that they are lost is told from time to time. */
static void heard(void *self, struct exchange *exchange, const struct answer *answer)
{
	struct engine *engine = self;

	(void)exchange;
	if (!answer->error)
		return;
	if (engine->events_told.ms && instant_between_ms(engine->events_told, answer->now) < TELL_EVERY_MS)
		return;
	engine->events_told = answer->now;
	log_event(LOG_WARN, "an event could not be written", "error", answer->error->message, NULL);
}

static void send(struct evacuation *evacuation, struct kube_event *event, bool warning, const char *reason,
                 const char *note)
{
	struct engine *engine = evacuation->engine;
	struct exchange *exchange = exchange_new(engine, heard, engine);

	event->type = warning ? "Warning" : "Normal";
	event->reason = reason;
	event->note = note;
	event->action = evacuation->restoring ? "Restore" : "Evacuate";
	event->reporting_instance = engine->settings->identity;
	kube_ask_event(&exchange->arena, event, engine_wall(engine), engine_random(engine), &exchange->ask.request);
	exchange->ask.what = ASK_HTTP;
	exchange->ask.once = true;
	exchange_queue(engine, exchange);
}

void event_tell(struct evacuation *evacuation, bool warning, const char *reason, const char *note)
{
	struct kube_event event = {
		.regarding_kind = "ZonalEvacuation",
		.regarding_api_version = "zonevac.dev/v1alpha1",
		.regarding_name = evacuation->manifest.name,
		.regarding_uid = evacuation->manifest.uid,
	};

	log_event(warning ? LOG_WARN : LOG_INFO, note, "evacuation", evacuation->manifest.name, "zone",
	          evacuation->manifest.zone_id, "reason", reason, NULL);
	send(evacuation, &event, warning, reason, note);
}

void event_tell_node(struct item *item, bool warning, const char *reason, const char *note)
{
	struct kube_event event = {
		.regarding_kind = "Node",
		.regarding_api_version = "v1",
		.regarding_name = item->change.name,
		.regarding_uid = item->change.incarnation,
	};

	log_event(warning ? LOG_WARN : LOG_DEBUG, note, "evacuation", item->evacuation->manifest.name, "node",
	          item->change.name, "reason", reason, NULL);
	send(item->evacuation, &event, warning, reason, note);
}
