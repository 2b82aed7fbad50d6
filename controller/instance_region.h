/*
 * The region that this EC2 instance is in, by its metadata service: the last resort where no flag, variable or profile names one.
 */
#ifndef CONTROLLER_INSTANCE_REGION_H
#define CONTROLLER_INSTANCE_REGION_H

#include "aws/credentials.h"
#include "net/client.h"

/*
 * Asks and waits, some ten seconds unless the variables of the metadata service say otherwise (one that is not there answers with silence);
 * a wake ends it early. Nothing else may be in flight in `client`. False: what can be set, and why the machine tells none. ERROR_ABSENT when
 * the service does not answer or is switched off (AWS_EC2_METADATA_DISABLED).
 */
bool instance_region(struct client *client, struct arena *arena, const struct aws_environment *environment,
                     const char **out, struct error *error);

#endif
