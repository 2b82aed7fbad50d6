/*
 * The XML of the Query protocols, read into a small tree. The one place that includes expat.
 *
 * Bounds: 16 MiB of text, depth 64, 2,000,000 elements; DTDs and entities other than the five built-in ones are
 * refused. Namespaces are ignored. Readers of NULL answer "not there".
 */
#ifndef AWS_XML_H
#define AWS_XML_H

#include "base/arena.h"
#include "base/error.h"

struct xml {
	const char *name;
	const char *text; /* character data, "" when there is none or there are children */
	struct xml *first_child;
	struct xml *next; /* sibling */
};

/* ERROR_MALFORMED (or ERROR_LIMIT) with line and what is there instead. */
const struct xml *xml_parse(struct arena *arena, const char *bytes, size_t length, struct error *error);

/* The first child of that name. */
const struct xml *xml_child(const struct xml *xml, const char *name);

/* "Result/AutoScalingGroups": from child to child. */
const struct xml *xml_path(const struct xml *xml, const char *path);

/* The text of a path, or NULL. */
const char *xml_path_text(const struct xml *xml, const char *path);

/* The next sibling of the same name, for lists of <member> and <item>. */
const struct xml *xml_next(const struct xml *xml);

#endif
