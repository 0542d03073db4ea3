/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another program that has to do with uprobes: attaches an empty eBPF program to a function of its own, prints `attached`,
 * and after a line on its input detaches it: `detached after MS`. Without uprobe_multi links: `failed`.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Debian 12's headers do not have these. */
struct link_create {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, link_flags, pid;
};
enum {
	TRACE_UPROBE_MULTI = 48
};

__attribute__((noinline)) static void site(void)
{
	__asm__ volatile("nop");
}

static uint64_t site_offset(void)
{
	unsigned long start, end, offset, address = (unsigned long)site;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    start <= address && address < end)
			return address - start + offset;
	}
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const uint64_t offset = site_offset();
	struct link_create create = { .type = TRACE_UPROBE_MULTI,
				      .n = 1,
				      .pid = (uint32_t)getpid() };
	union bpf_attr load;
	char line[16];
	double began;
	int link;

	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_KPROBE;
	load.insn_cnt = 2;
	load.insns = (uintptr_t)nothing;
	load.license = (uintptr_t) "GPL";
	load.expected_attach_type = TRACE_UPROBE_MULTI;
	create.program = (uint32_t)syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
	create.path = (uintptr_t) "/proc/self/exe";
	create.offsets = (uintptr_t)&offset;
	link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	if (link < 0) {
		printf("failed to attach: %s\n", strerror(errno));
		return 1;
	}
	site();
	printf("attached\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	began = now_ms();
	close(link);
	printf("detached after %.0f\n", now_ms() - began);
	return 0;
}
