/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts encoded items into the nested messages of an export request. */
#include "otlp/otlp_internal.h"

#include <string.h>

enum {
	FIELD_1 = 1 << 3 | 2, /* the tag of a field with a length */
	FIELD_2 = 2 << 3 | 2,
};

size_t otlp_put_varint(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static size_t varint_size(uint64_t value)
{
	uint8_t out[10];

	return otlp_put_varint(out, value);
}

static size_t put_head(uint8_t *out, uint8_t tag, size_t size)
{
	out[0] = tag;
	return 1 + otlp_put_varint(out + 1, size);
}

size_t otlp_frame(uint8_t *out, const void *resource, size_t resource_size, const void *items,
		  size_t size)
{
	Otlp__Scope name = OTLP__SCOPE__INIT;
	Otlp__ScopeItems scope = OTLP__SCOPE_ITEMS__INIT;
	uint8_t packed[64];
	size_t scope_size, items_size, all, n;

	name.name = (char *)"proftrace";
	name.version = (char *)PROFTRACE_VERSION;
	scope.scope = &name;
	scope_size = otlp__scope_items__pack(&scope, packed);
	items_size = scope_size + size;
	all = 1 + varint_size(resource_size) + resource_size + 1 + varint_size(items_size) +
	      items_size;
	n = put_head(out, FIELD_1, all);
	n += put_head(out + n, FIELD_1, resource_size);
	memcpy(out + n, resource, resource_size);
	n += resource_size;
	n += put_head(out + n, FIELD_2, items_size);
	memcpy(out + n, packed, scope_size);
	n += scope_size;
	memcpy(out + n, items, size);
	return n + size;
}

size_t otlp_put_field_2(uint8_t *out, const void *bytes, size_t size)
{
	size_t n = put_head(out, FIELD_2, size);

	memcpy(out + n, bytes, size);
	return n + size;
}
