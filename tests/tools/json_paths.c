/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_paths < FILE
 *
 * Prints the path and the type of every scalar in a JSON text, one a line: "slices[].count integer".
 * Sorted and without repetitions they are the schema of the text. Exits 1 where it is no JSON.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <yajl/yajl_parse.h>

enum {
	MAX_DEPTH = 64
};

struct paths {
	unsigned depth;
	size_t length[MAX_DEPTH]; /* of the path to what is open */
	bool is_list[MAX_DEPTH];
	size_t at;
	char path[4096];
};

static int say(struct paths *p, const char *type)
{
	const char *list = p->depth && p->is_list[p->depth - 1] ? "[]" : "";

	if (*list)
		p->at = p->length[p->depth - 1];
	printf("%.*s%s %s\n", (int)p->at, p->path, list, type);
	return 1;
}

static int on_null(void *context)
{
	return say(context, "null");
}

static int on_boolean(void *context, int value)
{
	(void)value;
	return say(context, "boolean");
}

static int on_number(void *context, const char *text, size_t length)
{
	bool real = memchr(text, '.', length) || memchr(text, 'e', length);

	return say(context, real ? "number" : "integer");
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
	(void)text, (void)length;
	return say(context, "string");
}

static int on_key(void *context, const unsigned char *text, size_t length)
{
	struct paths *p = context;

	p->at = p->length[p->depth - 1];
	if (p->at + length + 1 >= sizeof(p->path))
		return 0;
	if (p->at)
		p->path[p->at++] = '.';
	memcpy(p->path + p->at, text, length);
	p->at += length;
	return 1;
}

static int open_any(struct paths *p, bool is_list)
{
	if (p->depth == MAX_DEPTH || p->at + 2 >= sizeof(p->path))
		return 0;
	if (p->depth && p->is_list[p->depth - 1]) {
		p->at = p->length[p->depth - 1];
		memcpy(p->path + p->at, "[]", 2);
		p->at += 2;
	}
	p->length[p->depth] = p->at;
	p->is_list[p->depth++] = is_list;
	return 1;
}

static int on_start_map(void *context)
{
	return open_any(context, false);
}

static int on_start_array(void *context)
{
	return open_any(context, true);
}

static int on_end(void *context)
{
	((struct paths *)context)->depth--;
	return 1;
}

int main(void)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_boolean,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_map_key = on_key,
		.yajl_start_map = on_start_map,
		.yajl_start_array = on_start_array,
		.yajl_end_map = on_end,
		.yajl_end_array = on_end,
	};
	static unsigned char bytes[1 << 16];
	struct paths paths = { 0 };
	yajl_handle yajl = yajl_alloc(&callbacks, NULL, &paths);
	yajl_status status = yajl ? yajl_status_ok : yajl_status_error;
	size_t n;

	while (status == yajl_status_ok && (n = fread(bytes, 1, sizeof(bytes), stdin)) > 0)
		status = yajl_parse(yajl, bytes, n);
	if (status == yajl_status_ok)
		status = yajl_complete_parse(yajl);
	if (yajl)
		yajl_free(yajl);
	return status == yajl_status_ok ? 0 : 1;
}
