/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of Chrome JSON. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_file(bytes, size, chrome_json_read_input);
}
