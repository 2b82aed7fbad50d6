/*
 * YAML read into JSON values (base/json.h). The one place that includes libyaml.
 *
 * Core schema for plain scalars (null, true/false, integers, floats; everything else a string; quoted scalars are
 * strings). Anchors and aliases are followed within a bound of 10,000 nodes. JSON is YAML, so this reads both.
 * One document; a second is an error that says so, none is null. Keys are text; duplicate keys, merge keys (<<), tags of
 * one's own, NUL characters and nesting of more than 64 are errors. Infinities and NaN, which JSON lacks, are strings.
 * Error: ERROR_INPUT, "line 3, column 7: …".
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/json.h"

struct json *yaml_parse(struct arena *arena, const char *bytes, size_t length, struct error *error);

#endif
