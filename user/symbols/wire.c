/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of what the parser sends. */
#include "symbols/wire.h"

#include <errno.h>
#include <string.h>

#include "timeline/callstack.h"

int symbol_lines(const char *packet, size_t size, struct names *names, struct code_line *lines,
		 unsigned max)
{
	const char *at = packet + sizeof(struct symbol_head), *end = packet + size;
	struct symbol_head head;

	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, packet, sizeof(head));
	if (head.n_lines > max)
		return -EPROTO;
	for (uint32_t i = 0; i < head.n_lines; i++) {
		struct symbol_line line;
		const char *text = at + sizeof(line);

		if ((size_t)(end - at) < sizeof(line))
			return -EPROTO;
		memcpy(&line, at, sizeof(line));
		if (!line.function || (size_t)line.function + line.file > (size_t)(end - text))
			return -EPROTO;
		lines[i].function = names_intern(names, text, line.function, SYMBOL_MAX_TEXT);
		lines[i].file = NULL;
		if (line.file)
			lines[i].file = names_intern(names, text + line.function, line.file,
						     SYMBOL_MAX_TEXT);
		lines[i].line = line.line;
		at = text + line.function + line.file;
	}
	return (int)head.n_lines;
}
