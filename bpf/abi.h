/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the header include/proftrace.h and the tracer must agree about: the bits of a stub's
 * argument `meta`, and the words of an event in a batch. Programs are compiled with the header long
 * before they are traced, so none of this ever changes. The header has names of its own, since it
 * includes nothing of the tracer; tests/unit/test_abi.c compares the two. Kinds of marks, types of
 * values and the head of a batch are in event.h, which includes this file.
 */
#ifndef PROFTRACE_BPF_ABI_H
#define PROFTRACE_BPF_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define META_ARGS(meta)	   ((meta)&15) /* number of arguments */
#define META_A_TYPE(meta)  ((meta) >> 4 & 15)
#define META_TYPE_AT(i)	   (8 + 4 * (i)) /* lowest bit of the type of argument i */
#define META_TYPE(meta, i) ((meta) >> META_TYPE_AT(i) & 15)
#define META_NAME_DYNAMIC  (1ull << 32) /* the name is not a constant of the file */
#define META_HAS_STRINGS   (1ull << 33)
#define META_IN_REGISTERS  (1ull << 34) /* the values are in registers and not in an array */
#define META_CATEGORIES	   (1ull << 35)
#define META_OWNED	   (1ull << 36)		  /* all strings are in live objects */
#define META_OBJECT(meta)  ((__u8)((meta) >> 40)) /* bits 0-3 scope, 4-7 class of the object */
#define META_CLASS(class)  ((__u64)(class) << 44)
#define META_NOT_IN(phase) (1ull << (47 + (phase))) /* not recorded in this phase, from 1 on */
#define META_BITS	   ((1ull << 51) - 1)
#define META_CLASS_MARKER  1
#define META_CLASS_FRAME   3
#define META_CLASS_SPLIT   6 /* an instant with arguments of the mark that follows */
/* Instants with times of their own, which META_SCOPE_TICKS says are those of the track's clock. */
#define META_CLASS_SLICE_AT	 7
#define META_CLASS_INSTANT_AT	 8
#define META_CLASS_CLOCK_READING 9
#define META_SCOPE_TICKS	 1

/*
 * An event in a batch: a word with the time, a word with the low halves of the addresses of stub
 * and name, and a word with `meta`, in which the bits above META_BITS say which words follow. The
 * time is written last.
 */
#define BATCH_EVENT_HEAD	 3 /* words */
#define BATCH_EVENT_WORDS(event) ((event)[2] >> 56)
#define BATCH_EVENT_A		 (1ull << 52) /* a word with operand a follows */
#define BATCH_EVENT_KEYS_NEAR	 (1ull << 53) /* the distance of the keys from the name is in `meta` */
#define BATCH_EVENT_B		 (1ull << 54) /* a word with operand b follows */
#define BATCH_EVENT_NAME_BEFORE	 (1ull << 55) /* an earlier event of the batch has the name */
#define BATCH_KEYS_AT		 16	      /* bits of the third word, if the keys are near: */
#define BATCH_KEYS_BITS		 0xffffffull
#define BATCH_KEYS_NEAR		 0x800000 /* added to the distance, which may be negative */

#endif
