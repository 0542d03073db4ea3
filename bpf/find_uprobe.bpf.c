/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the uprobes that the kernel has at places of a file, with its copies of the instructions there.
 *
 * The kernel has a tree of all uprobes, by the address of the inode and the offset. It shows the tree to nobody. But a link of
 * the broker's own leads to a uprobe (since Linux 6.12), from there one comes up to the root, and from the root to any other.
 * What is read is checked by nobody: a program may read any address, and at a wrong one it reads nothing.
 *
 * The tree may change meanwhile. Then a search may end too early, where it finds nothing, but never goes on for ever. So it
 * searches again before it says that there is nothing.
 */
#include "bpf/find_uprobe.h"
#include "bpf/state.h"

#define TREE_DEPTH    64 /* of 4 billion uprobes */
#define SEARCHES      3
#define UPROBE_COPIED 1 /* the kernel's UPROBE_COPY_INSN */

struct uprobe___kept {
	struct rb_node rb_node;
	struct inode *inode;
	loff_t offset;
	unsigned long flags;
	struct arch_uprobe arch;
} __attribute__((preserve_access_index));

struct bpf_uprobe___since_6_12 {
	struct uprobe___kept *uprobe;
} __attribute__((preserve_access_index));

struct bpf_uprobe_multi_link___since_6_12 {
	struct bpf_link link;
	struct bpf_uprobe___since_6_12 *uprobes;
} __attribute__((preserve_access_index));

/* One search in the tree. */
struct uprobe_search {
	struct rb_node *node;
	__u64 inode, offset;
	struct uprobe___kept *found;
};

/* The sites, one after the other. */
struct site_search {
	__u64 anchor, inode, found;
	__u64 sites;
	__u32 site_size, at;
	bool failed;
};

static __always_inline struct file *file_of(int fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;

	if (fd >= 0)
		bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

/* The first one of the link. */
static __always_inline struct uprobe___kept *uprobe_of_link(int fd)
{
	struct file *file = file_of(fd);
	void *link = file ? BPF_CORE_READ(file, private_data) : NULL;
	const struct bpf_uprobe_multi_link___since_6_12 *multi;

	if (!link)
		return NULL;
	multi = link - bpf_core_field_offset(struct bpf_uprobe_multi_link___since_6_12, link);
	return BPF_CORE_READ(multi, uprobes, uprobe);
}

/* The lowest bits of the address of the parent are for something else. */
static long climb_step(__u32 i, struct uprobe_search *s)
{
	struct rb_node *node = s->node;
	unsigned long parent = BPF_CORE_READ(node, __rb_parent_color) & ~3ul;

	if (!parent)
		return 1;
	s->node = (struct rb_node *)parent;
	return 0;
}

static long descend_step(__u32 i, struct uprobe_search *s)
{
	struct rb_node *node = s->node;
	struct uprobe___kept *uprobe =
		(void *)node - bpf_core_field_offset(struct uprobe___kept, rb_node);
	__u64 inode = (__u64)BPF_CORE_READ(uprobe, inode);
	__u64 offset = (__u64)BPF_CORE_READ(uprobe, offset);

	if (s->inode == inode && s->offset == offset) {
		s->found = uprobe;
		return 1;
	}
	if (s->inode < inode || (s->inode == inode && s->offset < offset))
		s->node = BPF_CORE_READ(node, rb_left);
	else
		s->node = BPF_CORE_READ(node, rb_right);
	return !s->node;
}

/*
 * A uprobe, or 0. A global function, like the next one: the verifier follows it once, by itself. In loops within loops it
 * followed each step in every state of those around it, for 13 ms, for which each recording waits.
 */
__noinline __u64 search_tree(__u64 anchor, __u64 inode, __u64 offset)
{
	struct uprobe_search s = {
		.node = (struct rb_node *)anchor,
		.inode = inode,
		.offset = offset,
	};

	bpf_loop(TREE_DEPTH, climb_step, &s, 0);
	bpf_loop(TREE_DEPTH, descend_step, &s, 0);
	return (__u64)s.found;
}

__noinline __u64 search_again(__u64 anchor, __u64 inode, __u64 offset)
{
	__u64 found = 0;

	for (int i = 0; i < SEARCHES && !found; i++)
		found = search_tree(anchor, inode, offset);
	return found;
}

static long site_step(__u32 i, struct site_search *s)
{
	__u64 offset = 0;

	if (bpf_copy_from_user(&offset, sizeof(offset),
			       (void *)(s->sites + (__u64)s->at * s->site_size))) {
		s->failed = true;
		return 1;
	}
	s->found = search_again(s->anchor, s->inode, offset);
	if (s->found)
		return 1;
	s->at++;
	return 0;
}

static __always_inline __u64 inode_of(const struct uprobe_query *q)
{
	struct file *file = file_of(q->file);
	struct uprobe___kept *uprobe = uprobe_of_link(q->link);

	return q->file >= 0 ? (__u64)BPF_CORE_READ(file, f_inode)
			    : (__u64)BPF_CORE_READ(uprobe, inode);
}

/* In the structures of a later kernel, anything may have another name. Then what follows is never reached. */
static __always_inline bool layout_is_known(void)
{
	return bpf_core_field_exists(struct bpf_uprobe___since_6_12, uprobe) &&
	       bpf_core_field_exists(struct bpf_uprobe_multi_link___since_6_12, link) &&
	       bpf_core_field_exists(struct bpf_uprobe_multi_link___since_6_12, uprobes) &&
	       bpf_core_field_exists(struct uprobe___kept, rb_node) &&
	       bpf_core_field_exists(struct uprobe___kept, inode) &&
	       bpf_core_field_exists(struct uprobe___kept, offset) &&
	       bpf_core_field_exists(struct uprobe___kept, flags) &&
	       bpf_core_field_exists(struct uprobe___kept, arch) &&
	       bpf_core_field_exists(struct task_struct, files) &&
	       bpf_core_field_exists(struct files_struct, fdt) &&
	       bpf_core_field_exists(struct fdtable, fd) &&
	       bpf_core_field_exists(struct file, private_data) &&
	       bpf_core_field_exists(struct file, f_inode) &&
	       bpf_core_field_exists(struct rb_node, __rb_parent_color);
}

SEC("?syscall")
int find_uprobe(struct uprobe_query *q)
{
	struct site_search s = { .sites = q->sites, .site_size = q->site_size, .at = q->from };
	struct uprobe___kept *anchor, *found;
	__u32 size;
	__u8 copy[UPROBE_COPY] = { 0 };

	q->failed = 1;
	if (!layout_is_known())
		return 0;
	anchor = uprobe_of_link(q->anchor);
	s.inode = inode_of(q);
	if (!anchor || !s.inode || q->from > q->n)
		return 0;
	s.anchor = (__u64)anchor + bpf_core_field_offset(struct uprobe___kept, rb_node);
	bpf_loop(q->n - q->from, site_step, &s, 0);
	q->at = s.at;
	if (s.failed || !s.found) {
		q->failed = s.failed;
		return 0;
	}
	found = (void *)s.found;
	q->is_copied = BPF_CORE_READ(found, flags) & UPROBE_COPIED;
	size = bpf_core_field_size(struct uprobe___kept, arch);
	size = size < sizeof(copy) ? size : sizeof(copy);
	q->failed = bpf_probe_read_kernel(copy, size, &found->arch) != 0;
	__builtin_memcpy(q->copy, copy, sizeof(copy));
	return 0;
}
