/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the record of a system call to an event, and from that of a thread that blocks (struct record_wait) to an event:
 * the reason, and what it waits for as arguments: the system call, the file, the address of the lock.
 */
#include "capture/internal.h"

#include <arpa/inet.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bpf/sched/sched_records.h"
#include "timeline/fact.h"

/* How the kernel encodes a device number within itself. */
#define KERNEL_MAJOR(device) ((device) >> 20)
#define KERNEL_MINOR(device) ((device)&0xfffff)
#define MAX_ERRNO	     4095 /* results from -MAX_ERRNO on are errors */

static const struct name *wait_call_name(struct capture *c, int32_t call)
{
	const struct name **name = &c->waiting.calls[call & (WAIT_CALLS - 1)];
	char *text, number[32];

	if (*name && call < WAIT_CALLS)
		return *name;
	text = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
	snprintf(number, sizeof(number), "system call %d", call);
	if (call >= WAIT_CALLS)
		name = &c->waiting.rare;
	*name = names_intern_string(c->options.names, text ? text : number);
	free(text);
	return *name;
}

/* A socket as `tcp 10.0.0.1:5432`. */
static void describe_socket(const struct record_wait *r, char *out, size_t size)
{
	const char *kind = r->protocol == SOCK_STREAM  ? "tcp"
			   : r->protocol == SOCK_DGRAM ? "udp"
						       : "ip";
	char address[INET6_ADDRSTRLEN] = "";
	uint16_t port = ntohs(r->port);

	if (r->family == AF_UNIX) {
		snprintf(out, size, "unix socket:[%llu]", (unsigned long long)r->inode);
	} else if (r->family != AF_INET && r->family != AF_INET6) {
		snprintf(out, size, "socket:[%llu]", (unsigned long long)r->inode);
	} else if (!port && r->local_port) {
		snprintf(out, size, "%s port %u", kind, r->local_port);
	} else {
		inet_ntop(r->family, r->file, address, sizeof(address));
		snprintf(out, size, r->family == AF_INET6 ? "%s [%s]:%u" : "%s %s:%u", kind,
			 address, port);
	}
}

static void describe_file(const struct record_wait *r, char *out, size_t size)
{
	bool changed = false;

	if (S_ISSOCK(r->mode))
		describe_socket(r, out, size);
	else if (S_ISFIFO(r->mode) && !r->file[0])
		snprintf(out, size, "pipe:[%llu]", (unsigned long long)r->inode);
	else
		text_clean(out, size, r->file, strnlen(r->file, sizeof(r->file)), &changed);
}

static struct arg *wait_add_arg(struct capture *c, struct event *e, const char *key,
				enum arg_type type)
{
	struct arg *arg = &c->args[e->n_args++];

	*arg = (struct arg){ .key = names_intern_string(c->options.names, key), .type = type };
	return arg;
}

static void wait_add_text(struct capture *c, struct event *e, const char *key, const char *text)
{
	struct arg *arg = wait_add_arg(c, e, key, ARG_STRING);

	arg->s = text;
	arg->length = (uint32_t)strlen(text);
}

static void wait_add_file(struct capture *c, const struct record_wait *r, struct event *e)
{
	char *file = c->text, *device = c->text + sizeof(c->text) / 2;

	describe_file(r, file, sizeof(c->text) / 2);
	if (*file)
		wait_add_text(c, e, "file", file);
	if (!S_ISREG(r->mode) && !S_ISDIR(r->mode))
		return;
	snprintf(device, 32, "%u:%u", KERNEL_MAJOR(r->device), KERNEL_MINOR(r->device));
	wait_add_text(c, e, "device", device);
}

bool decode_syscall(struct capture *c, const struct record *record, size_t size, struct event *e)
{
	const struct record_syscall *r = (const struct record_syscall *)record;
	unsigned reason = r->class & WAIT_REASON;

	if (size < sizeof(*r) || r->call < 0)
		return false;
	e->kind = EVENT_SYSCALL;
	e->name = wait_call_name(c, r->call);
	e->size = r->ts > r->begin ? r->ts - r->begin : 0;
	e->args = c->args;
	wait_add_arg(c, e, "result", ARG_INT)->i = r->result;
	if (r->result < 0 && r->result >= -MAX_ERRNO && strerrorname_np((int)-r->result))
		wait_add_text(c, e, "error", strerrorname_np((int)-r->result));
	if (r->class & WAIT_OF_FILE)
		wait_add_arg(c, e, "fd", ARG_INT)->i = r->fd;
	if (r->result >= 0 && (reason == WAIT_READ || reason == WAIT_WRITE))
		wait_add_arg(c, e, "bytes", ARG_INT)->i = r->result;
	return true;
}

bool decode_wait(struct capture *c, const struct record *record, size_t size, struct event *e)
{
	const struct record_wait *r = (const struct record_wait *)record;

	if (size < sizeof(*r) || r->reason >= WAIT_REASONS)
		return false;
	e->kind = EVENT_WAIT_BEGIN;
	e->name = names_intern_string(c->options.names, wait_reason_text(r->reason));
	e->args = c->args;
	if (r->call >= 0)
		wait_add_text(c, e, "call", wait_call_name(c, r->call)->text);
	if (r->address)
		wait_add_arg(c, e, r->reason == WAIT_PAGE_FAULT ? "instruction" : "address",
			     ARG_POINTER)
			->u = r->address;
	if (r->flags & WAIT_HAS_FILE)
		wait_add_file(c, r, e);
	return true;
}
