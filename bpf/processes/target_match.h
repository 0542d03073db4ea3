/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a process that has just executed a program is one of those that the user waits for (bpf/processes/targets.h).
 * All others leave after the first comparison that fails; nothing about them reaches the recorder.
 */
#ifndef PROFTRACE_BPF_TARGET_MATCH_H
#define PROFTRACE_BPF_TARGET_MATCH_H

#include "bpf/state.h"
#include "bpf/processes/targets.h"

const volatile struct target_filter target_filter = {};

static const volatile __u64 target_zero = 0;

/*
 * 0, but the verifier does not know it. It is not in the memory that a recorder has mapped and could change. Before
 * Linux 6.7, the verifier follows a callback of bpf_loop() only once, and removes branches that are never taken after one
 * call. So what a callback counts up must begin with a number that it does not know; otherwise no glob of two characters
 * would match there.
 */
static __always_inline __u64 unknown_zero(void)
{
	__u64 zero = 0;

	bpf_probe_read_kernel(&zero, sizeof(zero), (const void *)&target_zero);
	return zero;
}

struct target_match {
	__u64 positions;
	__u32 glob;
	__u32 digits; /* hexadecimal ones before `end` */
	__u32 end;
	char text[TARGET_TEXT];
	char id[TARGET_CONTAINER_ID];
};

/* IDs of containers with names that the user gave. Only the broker writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TARGET_CONTAINERS_FOUND);
	__type(key, char[TARGET_CONTAINER_ID]);
	__type(value, __u8);
} target_containers SEC(".maps");

static __always_inline bool belongs_to_invoker(const struct task_struct *task)
{
	return BPF_CORE_READ(task, cred, uid.val) == invoker &&
	       BPF_CORE_READ(task, cred, euid.val) == invoker &&
	       BPF_CORE_READ(task, cred, suid.val) == invoker;
}

static long target_match_step(__u32 i, struct target_match *m)
{
	__u8 byte = m->text[i & (TARGET_TEXT - 1)];

	if (!byte)
		return 1;
	m->positions = target_glob_step(&target_filter.globs[m->glob & (TARGET_GLOBS - 1)],
					m->positions, byte);
	return 0;
}

/* Whether the text of `m` matches a glob of this kind. */
static __noinline bool target_match_text(struct target_match *m, __u32 kind)
{
	for (__u32 i = 0; i < TARGET_GLOBS; i++) {
		const volatile struct target_glob *glob = &target_filter.globs[i];

		if (i >= target_filter.n_globs)
			break;
		if (glob->kind != kind)
			continue;
		m->glob = i;
		m->positions = 1 | unknown_zero();
		bpf_loop(TARGET_TEXT, target_match_step, m, 0);
		if (m->positions & glob->final)
			return true;
	}
	return false;
}

static __always_inline bool target_has_name(struct target_match *m, struct task_struct *task,
					    struct linux_binprm *bprm)
{
	if (!(target_filter.kinds & (TARGET_NAME | TARGET_PATH)))
		return true;
	bpf_probe_read_kernel_str(m->text, sizeof(m->text), task->comm);
	if (target_match_text(m, TARGET_NAME))
		return true;
	bpf_probe_read_kernel_str(m->text, sizeof(m->text),
				  BPF_CORE_READ(bprm, file, f_path.dentry, d_name.name));
	if (target_match_text(m, TARGET_NAME))
		return true;
	bpf_probe_read_kernel_str(m->text, sizeof(m->text), BPF_CORE_READ(bprm, filename));
	return target_match_text(m, TARGET_PATH);
}

struct kernfs_node___since_6_15 {
	struct kernfs_node *__parent;
} __attribute__((preserve_access_index));

struct kernfs_node___before_6_15 {
	struct kernfs_node *parent;
} __attribute__((preserve_access_index));

static __always_inline struct kernfs_node *cgroup_parent_node(struct kernfs_node *node)
{
	const struct kernfs_node___since_6_15 *newer = (const void *)node;
	const struct kernfs_node___before_6_15 *older = (const void *)node;

	if (bpf_core_field_exists(newer->__parent))
		return BPF_CORE_READ(newer, __parent);
	return BPF_CORE_READ(older, parent);
}

static long target_digits_step(__u32 i, struct target_match *m)
{
	__u8 byte = m->text[i & (TARGET_TEXT - 1)];
	bool is_digit = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');

	if (!byte)
		return 1;
	m->digits = is_digit ? m->digits + 1 : 0;
	m->end = i + 1;
	return m->digits == TARGET_CONTAINER_ID;
}

/* Whether the text of `m` has the ID of a container that was found by its name. */
static __noinline bool target_is_found_container(struct target_match *m)
{
	m->digits = m->end = (__u32)unknown_zero();
	bpf_loop(TARGET_TEXT, target_digits_step, m, 0);
	if (m->digits != TARGET_CONTAINER_ID)
		return false;
	bpf_probe_read_kernel(m->id, sizeof(m->id),
			      m->text + ((m->end - TARGET_CONTAINER_ID) & (TARGET_TEXT / 2 - 1)));
	return bpf_map_lookup_elem(&target_containers, m->id);
}

/* Whether the text of `m`, which has so many bytes with its NUL, is the name of a slice, or none, as that of the root. */
static __noinline bool target_is_slice(struct target_match *m, __u32 size)
{
	static const char ending[] = ".slice";

	if (size == 1)
		return true;
	if (size <= sizeof(ending) || size >= TARGET_TEXT)
		return false;
	for (__u32 i = 0; i < sizeof(ending) - 1; i++) {
		if (m->text[(size - sizeof(ending) + i) & (TARGET_TEXT - 1)] != ending[i])
			return false;
	}
	return true;
}

/* Whether the names of the cgroups around the task match, one for each kind that is asked for. */
static __always_inline bool target_has_group_names(struct target_match *m, struct task_struct *task)
{
	__u32 missing = target_filter.kinds & (TARGET_UNIT | TARGET_CONTAINER), i;
	struct kernfs_node *node;
	long size;

	if (!missing)
		return true;
	node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
	for (i = 0; i < TARGET_CGROUP_DEPTH && node; i++) {
		if (BPF_CORE_READ(node, id) == target_filter.cgroup_root) {
			node = NULL;
			break;
		}
		size = bpf_probe_read_kernel_str(m->text, sizeof(m->text),
						 BPF_CORE_READ(node, name));
		/* What is below it is named by whom it is delegated to. */
		if (!target_is_slice(m, size < 0 ? 0 : (__u32)size))
			missing |= target_filter.kinds & TARGET_UNIT;
		if (missing & TARGET_UNIT && target_match_text(m, TARGET_UNIT))
			missing &= ~TARGET_UNIT;
		if (missing & TARGET_CONTAINER &&
		    (target_match_text(m, TARGET_CONTAINER) ||
		     (target_filter.n_containers && target_is_found_container(m))))
			missing &= ~TARGET_CONTAINER;
		node = cgroup_parent_node(node);
	}
	/* Above that, there may be another one than a slice, or the one that matches: who is that deep is counted. */
	if (node && (missing || target_filter.kinds & TARGET_UNIT))
		account_add(ACCOUNT_PROCESSES);
	return !missing && !(node && target_filter.kinds & TARGET_UNIT);
}

/* The current task. */
static __always_inline bool target_in_cgroup(void)
{
	for (__u32 i = 0; i < TARGET_CGROUPS; i++) {
		if (i < target_filter.n_cgroups &&
		    bpf_get_current_ancestor_cgroup_id(target_filter.cgroups[i].level) ==
			    target_filter.cgroups[i].id)
			return true;
	}
	return !target_filter.n_cgroups;
}

static __always_inline bool target_has_user(struct task_struct *task)
{
	__u32 user = BPF_CORE_READ(task, cred, euid.val), i;

	for (i = 0; i < TARGET_USERS; i++) {
		if (i < target_filter.n_users && target_filter.users[i] == user)
			return true;
	}
	return !target_filter.n_users;
}

/* Who is not root waits for processes of the same user alone. */
static __always_inline bool is_target(struct task_struct *task, struct linux_binprm *bprm)
{
	struct target_match m;

	if (!target_filter.waits || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return false;
	return (any_process || belongs_to_invoker(task)) && target_has_user(task) &&
	       target_in_cgroup() && target_has_name(&m, task, bprm) &&
	       target_has_group_names(&m, task);
}

#endif
