/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Statistics of counters: minimum, maximum, last value and sum. BPF has no floating point, and with
 * rounding the sum would depend on the order of the samples. So the sum of doubles is kept exactly,
 * as a fixed-point number of 72 digits.
 */
#ifndef PROFTRACE_BPF_TABLE_NUMBERS_H
#define PROFTRACE_BPF_TABLE_NUMBERS_H

#include "bpf/table/table_rows.h"

/* Adds magnitude * 2^(bit - TABLE_ONE). Each digit keeps 32 bits and passes on the carry. */
static __always_inline void add_digits(struct table_page *page, __u64 magnitude, __u32 bit,
				       bool negative)
{
	__u32 digit = bit >> 5, shift = bit & 31;
	__u64 low = (magnitude << shift) & 0xffffffff, rest = magnitude >> (32 - shift);
	__s64 d0 = low, d1 = rest & 0xffffffff, d2 = rest >> 32;

	/* The compiler knows that this cannot be and would remove the test; kernel 6.1 needs it. */
	barrier_var(digit);
	if (digit > TABLE_DIGITS - 4)
		return;
	if (negative) {
		d0 = -d0;
		d1 = -d1;
		d2 = -d2;
	}
	d0 += page->digits[digit];
	page->digits[digit] = d0 & 0xffffffff;
	d1 += page->digits[digit + 1] + (d0 >> 32);
	page->digits[digit + 1] = d1 & 0xffffffff;
	page->digits[digit + 2] += d2 + (d1 >> 32);
}

static __always_inline void add_double(struct table_numbers *n, struct table_page *page, __u64 bits)
{
	__u32 exponent = bits >> 52 & 0x7ff;
	__u64 fraction = bits & ((1ull << 52) - 1), order = order_of_double(bits);

	if (exponent == 0x7ff && fraction) {
		n->nans++;
		return;
	}
	if (!(n->seen & 1 << VALUE_DOUBLE) || order < n->double_min)
		n->double_min = order;
	if (!(n->seen & 1 << VALUE_DOUBLE) || order > n->double_max)
		n->double_max = order;
	n->seen |= 1 << VALUE_DOUBLE;
	if (exponent == 0x7ff)
		n->infinities |= bits >> 63 ? 2 : 1;
	else if (exponent)
		add_digits(page, fraction | 1ull << 52, exponent - 1, bits >> 63);
	else
		add_digits(page, fraction, 0, bits >> 63);
}

static __always_inline void add_integer(struct table_numbers *n, __u64 value, bool is_signed)
{
	__s64 s = value;

	n->sum_low += value;
	n->sum_high += n->sum_low < value;
	if (!is_signed) {
		if (!(n->seen & 1 << VALUE_UINT) || value < n->uint_min)
			n->uint_min = value;
		if (!(n->seen & 1 << VALUE_UINT) || value > n->uint_max)
			n->uint_max = value;
		n->seen |= 1 << VALUE_UINT;
		return;
	}
	n->sum_high += s >> 63;
	if (!(n->seen & 1 << VALUE_INT) || s < n->int_min)
		n->int_min = s;
	if (!(n->seen & 1 << VALUE_INT) || s > n->int_max)
		n->int_max = s;
	n->seen |= 1 << VALUE_INT;
}

/* Only doubles need the row's page. A global function, so that the verifier checks it only once. */
__noinline int add_row_double(__u32 index, __u64 bits)
{
	struct table_row *row = row_at(index);
	struct table_page *page = page_at(index);

	if (row && page)
		add_double(&row->numbers, page, bits);
	return 0;
}

/* Adds a sample to a row. The shared rows only count samples. */
static __always_inline void add_row_sample(__u32 index, __u32 type, __u64 value, __u64 ts)
{
	struct table_row *row = row_at(index);
	struct table_numbers *n;

	if (!row)
		return;
	if (index < TABLE_FIRST_ROW) {
		__sync_fetch_and_add(&row->count, 1);
		return;
	}
	n = &row->numbers;
	if (row->resets != table_resets) {
		row->resets = table_resets;
		n->seen = 0;
		n->infinities = 0;
	}
	row->count++;
	n->last = value;
	n->last_type = type;
	n->last_ts = ts;
	if (type == VALUE_DOUBLE)
		add_row_double(index, value);
	else
		add_integer(n, value, type == VALUE_INT);
}

#endif
