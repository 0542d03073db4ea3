/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any memory as that of a CPython: code objects at any address, with texts and a table of lines. What comes out has to
 * be text of bounded length, and a line is asked for at every instruction.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/stacks/python_layout.h"

#define BASE 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct python_layout layout = {
	.setup.identity = 16,
	.filename = 0,
	.function = 16,
	.lines = 24,
	.first_line = 8,
	.text_length = 0,
	.text_state = 8,
	.text_ascii = 12,
	.text_wide = 16,
	.bytes_size = 0,
	.bytes_data = 8,
};

struct memory {
	const uint8_t *bytes;
	size_t size;
};

static bool read_memory(void *context, uint64_t address, void *out, size_t size)
{
	const struct memory *m = context;

	/* Small numbers lead into it. */
	address &= 0xffff;
	if (size > m->size || address > m->size - size)
		return false;
	memcpy(out, m->bytes + address, size);
	return true;
}

static void must(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory m = { data, size };
	struct python_code code;
	uint64_t identity[2];
	int32_t offset;

	if (size >= 32) {
		memcpy(identity, data + layout.setup.identity, sizeof(identity));
		if (python_code_read(&layout, 0, python_check(identity[0], identity[1]),
				     read_memory, &m, &code)) {
			must(strnlen(code.function, sizeof(code.function)) <= PYTHON_MAX_NAME);
			must(strnlen(code.file, sizeof(code.file)) <= PYTHON_MAX_PATH);
			must(code.table_size <= PYTHON_MAX_TABLE &&
			     (code.table || !code.table_size));
			for (offset = -2; offset < 64; offset += 3)
				python_code_line(code.table, code.table_size, code.first_line,
						 offset);
			free(code.table);
		} else {
			must(!code.table);
		}
	}
	/* Each walks the table from its beginning: few of them, so that there are more inputs. */
	for (offset = -2; offset < (int32_t)(16 * size); offset += 2 + (int32_t)size / 2)
		must(python_code_line(data, size, 1, offset) <= INT32_MAX);
	return 0;
}
