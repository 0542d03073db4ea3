/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Aggregating marks in the kernel (--stats-only, top). This replaces marks.bpf.c at the same sites,
 * with the same state of threads, but sends no records. bpf/table/table.h describes the tables.
 */
#include "bpf/table/table_asyncs.h"
#include "bpf/table/table_numbers.h"
#include "bpf/registers.h"
#include "bpf/threads.h"

/*
 * Whether a value below 2^63 is above the limit, as 1 or 0. A comparison would be a branch in BPF.
 */
static __always_inline __u64 is_above(__u64 value, __u64 limit)
{
	return (limit - value) >> 63;
}

/*
 * The index of the highest bit of a value that is not 0. It has neither a loop nor a branch, for
 * the verifier's sake.
 */
static __always_inline __u32 integer_log2(__u64 value)
{
	__u64 n = is_above(value, 0xffffffff) << 5, step;

	value >>= n;
	step = is_above(value, 0xffff) << 4;
	value >>= step;
	n |= step;
	step = is_above(value, 0xff) << 3;
	value >>= step;
	n |= step;
	step = is_above(value, 0xf) << 2;
	value >>= step;
	n |= step;
	step = is_above(value, 3) << 1;
	value >>= step;
	return n | step | value >> 1;
}

/*
 * The bucket of a duration. The first sixteen buckets hold one value each; then there are 16 per
 * power of 2.
 */
static __always_inline __u32 duration_bucket(__u64 value)
{
	__u32 shift;

	value &= ~(1ull << 63);
	if (value < 1 << TABLE_BUCKET_BITS)
		return value;
	shift = integer_log2(value) - TABLE_BUCKET_BITS;
	return (shift << TABLE_BUCKET_BITS) + (value >> shift);
}

static __always_inline void count_bucket(__u32 index, __u64 duration)
{
	struct table_page *page = page_at(index);
	__u32 bucket = duration_bucket(duration);

	/* the counter saturates */
	if (page && bucket < TABLE_BUCKETS && page->buckets[bucket] != 0xffffffff)
		page->buckets[bucket]++;
}

/* Adds to a row that all threads share. The counts are exact; minimum and maximum are not. */
__noinline int add_other_times(__u32 index, __u64 duration, __u64 self)
{
	struct table_row *row = row_at(index);

	if (!row)
		return 0;
	__sync_fetch_and_add(&row->count, 1);
	__sync_fetch_and_add(&row->times.total, duration);
	__sync_fetch_and_add(&row->times.self, self);
	__sync_fetch_and_add(&row->times.sum, duration);
	if (row->resets != table_resets) {
		row->resets = table_resets;
		row->times.min = ~0ull;
		row->times.max = 0;
	}
	if (duration < row->times.min)
		row->times.min = duration;
	if (duration > row->times.max)
		row->times.max = duration;
	return 0;
}

static __always_inline void add_row_times(struct table_row *row, __u32 index, __u64 duration,
					  __u64 self, bool outermost)
{
	row->count++;
	row->times.sum += duration;
	row->times.self += self;
	if (outermost)
		row->times.total += duration;
	if (row->resets != table_resets) {
		row->resets = table_resets;
		row->times.min = duration;
		row->times.max = duration;
	} else if (duration < row->times.min) {
		row->times.min = duration;
	} else if (duration > row->times.max) {
		row->times.max = duration;
	}
	count_bucket(index, duration);
}

/*
 * Adds the time of a slice to the children of the innermost recorded level. The levels are bits,
 * since a bound would cost the verifier a thousand times more.
 */
__noinline int add_to_parent(struct table_thread *t, __u64 levels, __u64 duration)
{
	if (!t)
		return 0;
	for (int i = MAX_NESTING - 1; i >= 0; i--) {
		if (levels >> i & 1 && t->levels[i].row) {
			t->levels[i].children += duration;
			return 0;
		}
	}
	return 0;
}

/* Drops a slice that gets no END of its own. */
__noinline int drop_level(struct table_thread *t, __u32 level)
{
	struct table_row *row;
	__u32 index;

	if (!t || level >= MAX_NESTING)
		return 0;
	index = t->levels[level].row;
	if (!index)
		return 0;
	t->unfinished++;
	t->outermost = level;
	row = row_at(index);
	if (row && index >= TABLE_FIRST_ROW)
		row->open--;
	return 0;
}

/* Drops the slices from level `to` on, which get no END of their own. */
__noinline int drop_levels(struct table_thread *t, __u32 to, __u64 ts)
{
	__u64 levels;
	__u32 outermost;

	if (!t)
		return 0;
	levels = levels_below(t->depth) & ~levels_below(to);
	t->depth = to;
	t->outermost = MAX_NESTING;
	for (int i = MAX_NESTING - 1; i >= 0; i--) {
		if (levels >> i & 1)
			drop_level(t, i);
	}
	/* The dropped slices inside it have ended with it. */
	outermost = t->outermost;
	if (outermost < MAX_NESTING)
		add_to_parent(t, levels_below(outermost), ts - t->levels[outermost].begin);
	return 0;
}

static __always_inline void begin_table_slice(struct table_thread *t, const struct mark *m,
					      __u64 address)
{
	struct table_level *level = &t->levels[m->level & (MAX_NESTING - 1)];
	__u32 index = get_row(t, address);
	struct table_row *row = row_at(index);

	if (row && index >= TABLE_FIRST_ROW)
		row->open++;
	level->row = index;
	level->children = 0;
	t->depth = m->level + 1;
	/* Taken last, so that the slice begins after the work done here. */
	level->begin = bpf_ktime_get_ns();
}

static __always_inline void end_table_slice(struct table_thread *t, const struct mark *m)
{
	__u32 number = m->level & (MAX_NESTING - 1), index;
	struct table_level *level = &t->levels[number];
	__u64 duration, self;
	struct table_row *row;

	if (m->flags & RECORD_CLOSES_INNER)
		drop_levels(t, number + 1, m->ts);
	t->depth = number;
	duration = m->ts - level->begin;
	self = duration - level->children;
	if (number && t->levels[(number - 1) & (MAX_NESTING - 1)].row)
		t->levels[(number - 1) & (MAX_NESTING - 1)].children += duration;
	else if (number)
		add_to_parent(t, levels_below(number), duration);
	index = level->row;
	row = row_at(index);
	if (!row)
		return;
	if (index < TABLE_FIRST_ROW)
		add_other_times(index, duration, self);
	else
		add_row_times(row, index, duration, self, !--row->open);
}

/* Returns 0 for an END of a process that is left out, if it ends nothing that was recorded. */
static __always_inline int add_async(struct table_thread *t, const struct mark *m, __u64 address,
				     __u64 id)
{
	struct table_row *row;
	__u64 key, text, begin;
	__u32 index;

	index = get_row(t, address);
	row = row_at(index);
	if (!row)
		return 1;
	text = index < TABLE_FIRST_ROW ? t->text : row->text;
	key = async_key(t, id, text);
	if (m->kind == RECORD_ASYNC_BEGIN) {
		if (begin_async(t, key, first_far_bundle(id, text)))
			t->marks++;
		else
			t->limit++;
		return 1;
	}
	begin = end_async(key, t->tgid, first_far_bundle(id, text),
			  TABLE_CLASS(t->what) == TABLE_FRAME);
	if (!begin && m->flags & RECORD_LEFT_OUT)
		return 0;
	t->marks++;
	if (!begin)
		__sync_fetch_and_add(&row->times.unmatched, 1);
	else if (index < TABLE_FIRST_ROW)
		add_other_times(index, m->ts > begin ? m->ts - begin : 0, 0);
	else
		add_row_times(row, index, m->ts > begin ? m->ts - begin : 0, 0, true);
	return 1;
}

static __always_inline bool type_is_number(__u32 type)
{
	return type == VALUE_INT || type == VALUE_UINT || type == VALUE_DOUBLE ||
	       type == VALUE_BOOL || type == VALUE_POINTER;
}

/* Adds the values of a counter that has several series. */
static __noinline int add_series(struct pt_regs *ctx, struct table_thread *t, const struct mark *m,
				 __u64 address)
{
	__u32 n = count_args(m->meta), i, added = 0, what;

	if (!t)
		return 0;
	if (m->meta & META_IN_REGISTERS) {
		t->values[0] = ARG(ctx, 4);
		t->values[1] = ARG(ctx, 6);
	} else if (bpf_probe_read_user(t->values, n * sizeof(__u64), (void *)ARG(ctx, 6))) {
		n = 0;
	}
	what = t->what;
	for (i = 0; i < MAX_ARGS; i++) {
		__u32 type = META_TYPE(m->meta, i);

		if (i >= n)
			break;
		if (!type_is_number(type))
			continue;
		t->what = what | i;
		add_row_sample(get_row(t, address), type, t->values[i], m->ts);
		added++;
	}
	return added;
}

static __always_inline void add_counter_sample(struct pt_regs *ctx, struct table_thread *t,
					       const struct mark *m, __u64 address)
{
	__u32 type = META_A_TYPE(m->meta);
	bool added;

	if (count_args(m->meta)) {
		added = add_series(ctx, t, m, address);
	} else {
		added = type_is_number(type);
		if (added)
			add_row_sample(get_row(t, address), type, ARG(ctx, 3), m->ts);
	}
	if (added)
		t->marks++;
	else
		t->malformed++;
}

/* Adds a training step as a counter without a name. */
static __noinline int add_step(struct table_thread *t, const struct mark *m, __u64 epoch,
			       __u64 batch)
{
	if (!t || !m)
		return 0;
	t->id = 0;
	add_row_sample(get_row(t, 0), VALUE_UINT, epoch, m->ts);
	t->what |= 1;
	add_row_sample(get_row(t, 0), VALUE_UINT, batch, m->ts);
	t->marks++;
	return 0;
}

/* Stores the name that the program gives its thread. */
__noinline int set_table_thread_name(struct table_thread *t)
{
	if (!t)
		return 0;
	for (int i = 0; i < MAX_NAME / 8; i++)
		((__u64 *)t->name)[i] = t->bytes[i];
	t->name_length = t->length;
	t->marks++;
	return 0;
}

static __always_inline void add_instant(struct table_thread *t, __u64 address)
{
	__u32 index = get_row(t, address);
	struct table_row *row = row_at(index);

	if (row && index < TABLE_FIRST_ROW)
		__sync_fetch_and_add(&row->count, 1);
	else if (row)
		row->count++;
	t->marks++;
}

/* Puts together the key of the mark's row. */
static __always_inline void fill_row_key(struct pt_regs *ctx, struct table_thread *t,
					 const struct mark *m, __u64 address)
{
	__u64 categories = ARG(ctx, 4);

	if (!(m->meta & META_CATEGORIES))
		categories = 0;
	t->site = m->site;
	t->kind = m->kind;
	t->what = TABLE_OBJECT(META_OBJECT(m->meta) >> 4);
	t->categories = categories;
	t->categories_distance = site_distance(categories, m->ip);
	t->keys = m->kind == RECORD_COUNTER ? site_distance(ARG(ctx, 5), m->ip) : 0;
	if (m->meta & META_NAME_DYNAMIC) {
		t->what |= TABLE_DYNAMIC;
		t->id = 0;
		read_mark_text(t, address);
		t->id = t->keys ? hash_mix(t->text, t->keys) : t->text;
		return;
	}
	t->id = (__u32)site_distance(address, m->ip) |
		(__u64)(__u32)(t->keys ^ t->categories_distance) << 32;
}

static __always_inline void add_mark(struct pt_regs *ctx, struct table_thread *t,
				     struct thread_state *st, const struct mark *m, __u64 address)
{
	/* While a process is left out, only the end of an asynchronous slice may be wanted. */
	if (m->flags & RECORD_LEFT_OUT && m->kind != RECORD_ASYNC_END) {
		account_left_out(st);
		return;
	}
	/* The arguments of another mark, the reading of a clock (include/proftrace.h): not in a table. */
	if (m->kind == RECORD_INSTANT && (META_OBJECT(m->meta) >> 4 == META_CLASS_SPLIT ||
					  META_OBJECT(m->meta) >> 4 == META_CLASS_CLOCK_READING)) {
		t->marks++;
		return;
	}
	fill_row_key(ctx, t, m, address);
	switch (m->kind) {
	case RECORD_INSTANT:
		add_instant(t, address);
		break;
	case RECORD_COUNTER:
		add_counter_sample(ctx, t, m, address);
		break;
	case RECORD_ASYNC_BEGIN:
	case RECORD_ASYNC_END:
		if (!add_async(t, m, address, ARG(ctx, 3)))
			account_left_out(st);
		break;
	case RECORD_STEP:
		add_step(t, m, ARG(ctx, 3), ARG(ctx, 4));
		break;
	case RECORD_THREAD_NAME:
		set_table_thread_name(t);
		break;
	default: /* nothing to aggregate */
		t->marks++;
	}
}

/* Opens a level that is not recorded, so that the levels inside it find their parent. */
static __always_inline void open_unrecorded_level(struct thread_state *st, struct table_thread *t)
{
	if (st->depth <= t->depth)
		return;
	t->levels[t->depth & (MAX_NESTING - 1)].row = TABLE_NO_ROW;
	t->depth = st->depth;
}

/* Control marks are sent to the recorder as in marks.bpf.c. */
static __always_inline void send_control(struct pt_regs *ctx, struct thread_state *st,
					 struct mark *m)
{
	m->wakeup = BPF_RB_FORCE_WAKEUP;
	m->name = site_distance(ARG(ctx, 1), m->ip);
	if (!emit_plain(ctx, st, m, false))
		account_add(ACCOUNT_FULL);
}

static __always_inline void aggregate_end(struct thread_state *st, struct table_thread *t,
					  struct mark *m, __u64 token)
{
	int level = close_slice(st, token, &m->flags);

	if (level >= 0) {
		m->level = level;
		end_table_slice(t, m);
		t->marks++;
	} else if (t->depth > st->depth) {
		drop_levels(t, st->depth, m->ts);
	}
}

static __always_inline void aggregate_begin(struct pt_regs *ctx, struct thread_state *st,
					    struct table_thread *t, struct mark *m, __u64 token,
					    __u64 address, bool left_out)
{
	int level = open_slice(st, token, left_out);

	if (level < 0) {
		open_unrecorded_level(st, t);
		return;
	}
	m->level = level;
	fill_row_key(ctx, t, m, address);
	t->marks++;
	begin_table_slice(t, m, address);
}

/* The thread's slot in the tables. NULL: all slots are in use, and the mark is lost. */
static __always_inline struct table_thread *get_table_thread(struct thread_state *st,
							     __u64 pid_tgid)
{
	struct table_thread *t;

	if (!st->table)
		table_thread_begin(st, pid_tgid);
	t = table_thread_at(st->table);
	if (t)
		return t;
	account_add(ACCOUNT_MARKS);
	account_add(ACCOUNT_NO_STATE);
	return NULL;
}

/* A global function as handle_mark_hit(). */
__noinline int aggregate_hit(struct bpf_user_pt_regs_t *regs, struct thread_state *st,
			     __u64 pid_tgid)
{
	struct pt_regs *ctx = (struct pt_regs *)regs;
	struct table_thread *t;
	struct mark m = {};
	__u64 cookie, address, token;
	bool left_out;

	if (!st)
		return 0;
	m.pid_tgid = pid_tgid;
	if (st->generation != generation)
		refresh_selection(st, m.pid_tgid >> 32);
	cookie = bpf_get_attach_cookie(ctx);
	m.kind = cookie >> COOKIE_KIND_SHIFT;
	if (m.kind == RECORD_END || m.kind == RECORD_ASYNC_END || m.kind == RECORD_COUNTER ||
	    m.kind == RECORD_STEP)
		m.ts = bpf_ktime_get_ns();
	m.site = (__u32)cookie;
	address = ARG(ctx, 1);
	m.meta = ARG(ctx, 2);
	m.ip = PT_REGS_IP(ctx);
	token = mark_token(ctx, cookie);
	if (!mark_is_selected(st, &m, token, cookie))
		return 0;
	t = get_table_thread(st, m.pid_tgid);
	if (!t)
		return 0;
	t->marked++;
	t->category = cookie >> COOKIE_DOMAIN_SHIFT & (PLAIN_TOKENS - 1);
	left_out = (m.meta | META_EVERY) & st->skip_mask;
	if (m.kind == RECORD_END)
		aggregate_end(st, t, &m, token);
	else if (m.kind == RECORD_BEGIN)
		aggregate_begin(ctx, st, t, &m, token, address, left_out);
	else if (level_of_other(st, &m, left_out) < 0)
		return 0;
	else if (m.kind >= RECORD_PAUSE && m.kind <= RECORD_STOP)
		send_control(ctx, st, &m);
	else
		add_mark(ctx, t, st, &m, address);
	return 0;
}

SEC("uprobe")
int aggregate(struct pt_regs *ctx)
{
	__u64 pid_tgid;
	struct thread_state *st = current_thread_state(&pid_tgid);

	if (!st || hit_is_recorded(ctx, st))
		return 0;
	stay_on_thread_stack(ctx);
	return aggregate_hit((struct bpf_user_pt_regs_t *)ctx, st, pid_tgid);
}
