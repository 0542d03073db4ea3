/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs pass to the functions of NVTX and ITT: structures with sizes and versions of their own, values with
 * types and counts, text that does not end with a NUL, handles of any kind. Each lies in memory of exactly its size. The
 * marks are made as if somebody recorded: by probe sites that nobody probes, or into the buffer of the thread.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/annotations/itt.h"
#include "../../lib/annotations/nvtx.h"
#include "../../lib/annotations/nvtx_payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static uint64_t input_number(struct input *in, size_t bytes)
{
	uint64_t n = 0;

	if (bytes > in->left)
		bytes = in->left;
	memcpy(&n, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return n;
}

/* Memory of that size, with bytes of the input as far as there are any. */
static void *input_memory(struct input *in, size_t size)
{
	uint8_t *memory = calloc(1, size ? size : 1);
	const size_t n = size < in->left ? size : in->left;

	if (!memory)
		abort();
	memcpy(memory, in->at, n);
	in->at += n;
	in->left -= n;
	return memory;
}

/* Few names, since those that are registered stay for good. */
static char *input_name(struct input *in)
{
	const size_t length = input_number(in, 1);
	char *name = malloc(length + 1);

	if (!name)
		abort();
	memset(name, "ab,\xff"[input_number(in, 1) & 3], length);
	name[length] = '\0';
	return name;
}

#define PAYLOADS     ((int32_t)0xdfbd0009)
#define MAX_PAYLOADS 3

static void payloads_free(const struct nvtx_attributes *a)
{
	struct nvtx_payload *payloads;
	int32_t i;

	if (a->size < sizeof(*a) || a->payload_type != PAYLOADS)
		return;
	payloads = (struct nvtx_payload *)(uintptr_t)a->payload.u64;
	for (i = 0; i < a->n_payloads; i++)
		free((void *)payloads[i].data);
	free(payloads);
}

/* Pointers to payloads are the program's word; what they point to may be anything. */
static void input_payloads(struct input *in, struct nvtx_attributes *a)
{
	struct nvtx_payload *payloads;
	int32_t i;

	a->n_payloads &= MAX_PAYLOADS;
	payloads = input_memory(in, (size_t)a->n_payloads * sizeof(*payloads));
	for (i = 0; i < a->n_payloads; i++) {
		payloads[i].size &= 0xff;
		payloads[i].data = input_memory(in, payloads[i].size);
	}
	a->payload.u64 = (uintptr_t)payloads;
}

static struct nvtx_attributes *input_attributes(struct input *in, void **ret_text)
{
	const uint16_t size = (uint16_t)(input_number(in, 1) * 2);
	struct nvtx_attributes *a = input_memory(in, size < 4 ? 4 : size);
	const size_t length = input_number(in, 1);
	wchar_t *wide;

	a->size = size;
	*ret_text = NULL;
	if (size < sizeof(*a))
		return a;
	if (a->payload_type == PAYLOADS)
		input_payloads(in, a);
	if (a->message_type == NVTX_MESSAGE_ASCII) {
		*ret_text = input_name(in);
		a->message.ascii = *ret_text;
	} else if (a->message_type == NVTX_MESSAGE_WIDE) {
		wide = input_memory(in, (length + 1) * sizeof(*wide));
		wide[length] = L'\0';
		*ret_text = wide;
		a->message.wide = wide;
	}
	return a;
}

static void nvtx_call(struct input *in, unsigned what)
{
	void *handles[] = { NULL, nvtx_domain_create("fuzz"), NULL, NULL };
	void *domain, *text;
	struct nvtx_attributes *a = input_attributes(in, &text);

	handles[2] = (void *)(uintptr_t)input_number(in, 8);
	handles[3] = nvtx_string_register(NULL, "fuzz string");
	domain = handles[input_number(in, 1) & 3];
	if (a->size >= sizeof(*a) && a->message_type == NVTX_MESSAGE_REGISTERED)
		a->message.registered = domain;
	switch (what) {
	case 0:
		nvtx_domain_mark_ex(domain, a);
		break;
	case 1:
		nvtx_domain_range_push_ex(domain, a);
		break;
	case 2:
		nvtx_domain_range_pop(domain);
		break;
	case 3:
		nvtx_domain_range_start_ex(domain, a);
		break;
	case 4:
		nvtx_domain_range_end(domain, input_number(in, 4));
		break;
	}
	free(text);
	payloads_free(a);
	free(a);
}

static void nvtx_name(struct input *in)
{
	char *name = input_name(in);

	if (!nvtx_domain_create(name) || !nvtx_string_register(NULL, name))
		abort();
	nvtx_domain_name_category(nvtx_domain_create("fuzz"), (uint32_t)input_number(in, 1), name);
	nvtx_name_thread((uint32_t)input_number(in, 2), name);
	free(name);
}

static void itt_fuzz_clock(struct itt_clock_info *info, void *data)
{
	*info = *(struct itt_clock_info *)data;
}

/* Tasks with times of a clock of any speed, relations, histograms. */
static void itt_call_timed(struct input *in, struct itt_id id, int type)
{
	static struct itt_domain domain = { .enabled = 1, .name = "fuzz" };
	static struct itt_string string = { .text = "fuzz" };
	static struct itt_clock_info info;
	static struct itt_clock *clock;
	static void *histograms[16];
	const unsigned h = input_number(in, 1) & 15, x_type = h & 3, y_type = h >> 2;
	const uint64_t time = input_number(in, 8);
	const size_t count = input_number(in, 1);
	void *x, *y;

	info.frequency = input_number(in, 4);
	info.base = input_number(in, 8);
	if (!clock)
		clock = itt_clock_domain_create(itt_fuzz_clock, &info);
	itt_clock_domain_reset();
	switch (input_number(in, 1) % 6) {
	case 0:
		itt_task_begin_ex(&domain, clock, time, id, id, &string);
		break;
	case 1:
		itt_task_end_ex(&domain, count & 1 ? clock : NULL, time);
		break;
	case 2:
		itt_task_begin_overlapped_ex(&domain, count & 1 ? clock : NULL, time, id, id, NULL);
		break;
	case 3:
		itt_task_end_overlapped_ex(&domain, clock, time, id);
		itt_marker_ex(NULL, clock, time, id, &string, type);
		break;
	case 4:
		itt_relation_add_to_current(&domain, type, id);
		itt_task_begin(&domain, id, id, &string);
		itt_task_end(&domain);
		break;
	case 5:
		/* Handles stay for good: there is one for each pair of types. */
		if (!histograms[h])
			histograms[h] = itt_histogram_create(&domain, "h", (int)x_type * 2,
							     (int)y_type * 2 + 1);
		x = input_memory(in, count * itt_type_size((enum itt_type)(x_type * 2)));
		y = input_memory(in, count * itt_type_size((enum itt_type)(y_type * 2 + 1)));
		itt_histogram_submit(histograms[h], count, x, y);
		free(x);
		free(y);
		break;
	}
}

static void itt_call(struct input *in, unsigned what)
{
	static struct itt_domain domain = { .enabled = 1, .name = "fuzz" };
	static struct itt_string string = { .text = "fuzz" };
	const int type = (int)input_number(in, 4);
	size_t count = input_number(in, 1);
	const struct itt_id id = { input_number(in, 1), input_number(in, 1), 0 };
	void *memory;

	switch (what) {
	case 0:
		memory = input_memory(in, count * itt_type_size((enum itt_type)type));
		itt_metadata_add(&domain, id, &string, type, count, memory);
		free(memory);
		break;
	case 1:
		count += !count;
		memory = input_memory(in, count);
		itt_metadata_str_add(&domain, id, &string, memory, count);
		free(memory);
		break;
	case 2:
		itt_task_begin_overlapped(count & 1 ? &domain : NULL, id, id,
					  count & 2 ? &string : NULL);
		break;
	case 3:
		itt_task_end_overlapped(count & 1 ? &domain : NULL, id);
		break;
	case 4:
		memory = input_memory(in, 8);
		itt_counter_set_value((void *)(uintptr_t)input_number(in, 8), memory);
		itt_counter_set_value_ex((void *)(uintptr_t)input_number(in, 8), NULL,
					 input_number(in, 8), memory);
		itt_counter_inc_v3(&domain, &string);
		free(memory);
		break;
	case 5:
		itt_frame_submit_v3(&domain, NULL, input_number(in, 8), input_number(in, 8));
		itt_event_end(itt_event_start(type));
		itt_marker(&domain, id, &string, type);
		break;
	case 6:
		itt_call_timed(in, id, type);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	/* The lower half of the switch is that of probes, the upper one that of buffers. */
	prof_domain_in_prof_runtime.on = input_number(&in, 1) & 1 ? 1 : 1u << 16;
	while (in.left) {
		const unsigned what = (unsigned)input_number(&in, 1) % 13;

		if (what < 5)
			nvtx_call(&in, what);
		else if (what < 6)
			nvtx_name(&in);
		else
			itt_call(&in, what - 6);
	}
	return 0;
}
