/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel's programs need to find the Python frames of a thread, and how they send them.
 *
 * CPython keeps the frames of a thread in a list, and the threads of an interpreter in another one. Where in which
 * structure the pointers are depends on the version; the recorder knows that (user/capture/stacks/python_layout.c), and
 * writes one setup for each interpreter that is mapped at some address. Names and lines are not looked up in the kernel:
 * a record has the address of the code object, and the recorder reads it.
 */
#ifndef PROFTRACE_BPF_PYTHON_MAPS_H
#define PROFTRACE_BPF_PYTHON_MAPS_H

#define PYTHON_SETUPS  1024 /* a power of two; number 0 means none */
#define PYTHON_FRAMES  127  /* of one stack */
#define PYTHON_NOWHERE 0xffff

/* Offsets are in bytes. */
struct python_setup {
	__u64 runtime; /* the address of _PyRuntime; 0: the setup is not in use */
	/* _PyRuntime */
	__u16 interpreters;
	/* PyInterpreterState */
	__u16 next_interpreter;
	__u16 threads;
	/* PyThreadState */
	__u16 next_thread;
	__u16 thread_id; /* as pthread_self() returns it */
	__u16 frame;	 /* the current frame, or the structure that has it */
	__u16 frame_in;	 /* in that structure; PYTHON_NOWHERE: there is none */
	/* _PyInterpreterFrame, of which the first PYTHON_FRAME_BYTES are read */
	__u16 code;
	__u16 previous;
	__u16 instruction;
	__u16 owner;	/* one byte */
	__u16 is_entry; /* one byte; PYTHON_NOWHERE: there is none */
	/* PyCodeObject: two pointers, one after the other, that tell whether it is still the same */
	__u16 identity;
	__u16 instructions;
	__u16 reserved[2];
};

#define PYTHON_FRAME_WORDS   9
#define PYTHON_FRAME_BYTES   (PYTHON_FRAME_WORDS * 8)
#define PYTHON_OWNER_C_STACK 3 /* a frame that only marks where the interpreter was entered */

/*
 * A frame in a record: the address of the code object, and a second word with the offset of the instruction (signed, 32
 * bits), whether the frame is the first one of its entry into the interpreter, and a checksum of the two pointers.
 */
#define PYTHON_FRAME_ENTRY     (1ull << 32)
#define PYTHON_FRAME_CHECK(w)  ((__u32)((w) >> 33))
#define PYTHON_FRAME_OFFSET(w) ((__s32)(__u32)(w))

static inline __attribute__((always_inline)) __u32 python_check(__u64 name, __u64 lines)
{
	return (__u32)((name * 0x9e3779b97f4a7c15ull + lines) * 0x9e3779b97f4a7c15ull >> 33);
}

#endif
