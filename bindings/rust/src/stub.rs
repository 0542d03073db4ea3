// SPDX-License-Identifier: BSD-2-Clause
//! The stubs that marks call, their ELF notes and the semaphores, in assembly.
//!
//! Section 4 of include/proftrace.h describes them. Those of the control site and of buffered mode have
//! the symbols and section groups of the header, so that a program with marks in C and in Rust has them
//! once. The symbols of a domain contain the path of its Rust module, so they collide with nobody's.

#[path = "batch.rs"]
mod batch;

pub use batch::PUT;

/// Assembles at module level. The syntax is chosen for the notes, which are the same on all architectures.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __assemble {
    ($($text:expr),* $(,)?) => { ::core::arch::global_asm!($($text),*, options(att_syntax)); };
}
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __assemble {
    ($($text:expr),* $(,)?) => { ::core::arch::global_asm!($($text),*); };
}

/// The architecture's part of a stub and of its notes. A `marks` stub is one of a domain: as in the header, it
/// tests whether its mark belongs into a buffer, and only a mark that is in none passes its steady nop. An `on` stub
/// has the steady nop alone, and a `plain` one neither. Then follow the breakpoint nop, on x86-64 the optimised nop
/// behind it, and the return. On arm64 the entry is a landing pad (BTI).
///
/// The bytes of the `marks` stub up to its nops are counted in its notes: `cmpw` has eight and `jne` two.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __of_stub {
    (plain code $stub:expr, $semaphore:expr) => {
        "nop\n.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\nret\n"
    };
    (on code $stub:expr, $semaphore:expr) => {
        concat!("nop\n", $crate::__of_stub!(plain code "", ""))
    };
    (marks code $stub:expr, $semaphore:expr) => {
        concat!(
            "cmpw $0, \"", $semaphore, "\" + 2(%rip)\n",
            "jne 981f\n",
            "nop\n",
            "980:\n", $crate::__of_stub!(plain code "", ""),
            "981: leaq \"", $stub, "\"(%rip), %rax\n",
            "cmpw $0, \"", $semaphore, "\"(%rip)\n",
            "je prof_batch_mark_by\n",
            "call prof_batch_mark_by_too\n",
            "jmp 980b\n"
        )
    };
    (plain nops) => {
        "0, 1"
    };
    (on nops) => {
        "1, 2"
    };
    (marks nops) => {
        "11, 12"
    };
    (plain breakpoint) => {
        ""
    };
    (marks breakpoint) => {
        " + 11"
    };
    (no_relocation) => {
        "R_X86_64_NONE"
    };
    (arguments) => {
        "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9"
    };
}
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __of_stub {
    (plain code $stub:expr, $semaphore:expr) => {
        "hint 34\nnop\nret\n"
    };
    (on code $stub:expr, $semaphore:expr) => {
        "hint 34\nnop\nnop\nret\n"
    };
    (marks code $stub:expr, $semaphore:expr) => {
        concat!(
            "hint 34\n",
            "adrp x16, \"",
            $semaphore,
            "\"\n",
            "ldrh w17, [x16, #:lo12:\"",
            $semaphore,
            "\"+2]\n",
            "cbnz w17, 981f\n",
            "nop\n",
            "980: nop\n",
            "ret\n",
            "981: ldrh w17, [x16, #:lo12:\"",
            $semaphore,
            "\"]\n",
            "adr x6, \"",
            $stub,
            "\"\n",
            "cbnz w17, 982f\n",
            "b prof_batch_mark_by\n",
            "982: stp x29, x30, [sp, #-16]!\n",
            ".cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\n",
            "bl prof_batch_mark_by_too\n",
            "ldp x29, x30, [sp], #16\n",
            ".cfi_def_cfa_offset 0\n.cfi_restore 29\n.cfi_restore 30\n",
            "b 980b\n"
        )
    };
    (plain nops) => {
        "4, 255"
    };
    (on nops) => {
        "8, 255"
    };
    (marks nops) => {
        "20, 255"
    };
    (plain breakpoint) => {
        " + 4"
    };
    (marks breakpoint) => {
        " + 20"
    };
    (no_relocation) => {
        "R_AARCH64_NONE"
    };
    (arguments) => {
        "8@x0 8@x1 8@x2 8@x3 8@x4 8@x5"
    };
}

/// Opens a section of the group `$symbol`, of which the linker keeps one, and declares the symbol.
#[doc(hidden)]
#[macro_export]
macro_rules! __section {
    ($name:expr, $flags:literal, $bits:literal, $symbol:expr, $type:literal) => {
        concat!(
            ".ifndef \"",
            $symbol,
            "\"\n",
            ".pushsection ",
            $name,
            ", \"",
            $flags,
            "\", %",
            $bits,
            ", \"",
            $symbol,
            "\", comdat\n",
            ".weak \"",
            $symbol,
            "\"\n.hidden \"",
            $symbol,
            "\"\n",
            ".type \"",
            $symbol,
            "\", %",
            $type,
            "\n"
        )
    };
}

/// The semaphore of the domain `$id`: two counters of 16 bits, exact and buffered.
#[doc(hidden)]
#[macro_export]
macro_rules! __semaphore {
    ($id:expr) => {
        $crate::__assemble!(
            $crate::__section!(".probes", "awG", "progbits", concat!("prof_domain_", $id), "object"),
            concat!(
                ".balign 4\n\"prof_domain_",
                $id,
                "\": .4byte 0\n",
                ".size \"prof_domain_",
                $id,
                "\", 4\n.popsection\n.endif\n"
            )
        );
    };
}

/// A stub and its notes: its `$sort` (`__of_stub`), `$kind` and `$number` of the mark, `$half` of the
/// semaphore, what it `$keeps` in the program, the `$usdt` note, `$flags` and the `$name` of the domain, and
/// `$more` in the note.
#[doc(hidden)]
#[macro_export]
macro_rules! __stub {
    ($sort:ident $kind:literal, $number:literal, $id:expr, $half:literal, $keeps:expr, $usdt:expr, $flags:literal, $name:expr, $more:expr) => {
        $crate::__assemble!(
            $crate::__section!(
                concat!("\".text.prof_", $kind, "_", $id, "\""),
                "axG",
                "progbits",
                concat!("prof_", $kind, "_", $id),
                "function"
            ),
            concat!(
                ".balign 32\n\"prof_",
                $kind,
                "_",
                $id,
                "\":\n.cfi_startproc\n",
                $keeps,
                $crate::__of_stub!($sort code concat!("prof_", $kind, "_", $id), concat!("prof_domain_", $id)),
                ".cfi_endproc\n",
                ".size \"prof_",
                $kind,
                "_",
                $id,
                "\", . - \"prof_",
                $kind,
                "_",
                $id,
                "\"\n",
                // Linkers that fold identical code would otherwise leave one address for several stubs.
                ".ascii \"",
                $kind,
                " ",
                $id,
                "\"\n.popsection\n"
            ),
            $usdt,
            concat!(
                ".pushsection .note.proftrace, \"aG\", %note, \"prof_",
                $kind,
                "_",
                $id,
                "\", comdat\n",
                ".balign 4\n.4byte 992f - 991f, 994f - 993f, 1\n",
                "991: .asciz \"proftrace\"\n992: .balign 4\n",
                "993: .8byte \"prof_",
                $kind,
                "_",
                $id,
                "\" - .\n",
                ".8byte \"prof_domain_",
                $id,
                "\"",
                $half,
                " - .\n",
                ".2byte ",
                $number,
                "\n.byte ",
                $crate::__of_stub!($sort nops),
                "\n",
                ".4byte ",
                $flags,
                "\n.asciz ",
                $name,
                "\n",
                $more,
                "994: .balign 4\n.popsection\n.endif\n"
            )
        );
    };
}

/// The note of a stub for USDT tools.
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note {
    ($sort:ident $kind:literal, $id:expr, $provider:expr) => {
        concat!(
            ".pushsection .note.stapsdt, \"G\", %note, \"prof_",
            $kind,
            "_",
            $id,
            "\", comdat\n",
            ".balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n",
            "991: .asciz \"stapsdt\"\n992: .balign 4\n",
            "993: .8byte \"prof_",
            $kind,
            "_",
            $id,
            "\"",
            $crate::__of_stub!($sort breakpoint),
            "\n",
            ".8byte _.stapsdt.base\n.8byte \"prof_domain_",
            $id,
            "\"\n",
            ".asciz \"",
            $provider,
            "\"\n.asciz \"",
            $kind,
            "\"\n",
            ".asciz \"",
            $crate::__of_stub!(arguments),
            "\"\n994: .balign 4\n.popsection\n"
        )
    };
}

/// All that a domain has in the file. Nobody calls `batch_on`: probes there turn one half of the semaphore
/// on each, so every other stub keeps it in the program; and what aligns the semaphores.
#[doc(hidden)]
#[macro_export]
macro_rules! __define_domain {
    ($id:expr, $provider:expr, $name:expr) => {
        $crate::__semaphore!($id);
        $crate::__define_domain!(@ $id, $provider, $name,
            1 "begin", 2 "end", 3 "instant", 4 "counter", 5 "async_begin", 6 "async_end",
            7 "flow_out", 8 "flow_in", 9 "alloc", 10 "free");
        $crate::__stub!(on "batch_on", 49, $id, " + 2", "", "", "2", $name, "");
    };
    (@ $id:expr, $provider:expr, $name:expr, $($number:literal $kind:literal),*) => {
        $($crate::__stub!(
            marks $kind, $number, $id, "",
            concat!(
                ".reloc ., ", $crate::__of_stub!(no_relocation), ", \"prof_batch_on_", $id, "\"\n",
                ".reloc ., ", $crate::__of_stub!(no_relocation), ", prof_probes_page\n"
            ),
            $crate::__usdt_note!(marks $kind, $id, $provider), "3", $name, ""
        );)*
    };
}

/// The address of a symbol that is in this executable or library.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __address {
    ($symbol:expr) => {{
        let address: usize;
        // SAFETY: computes a number, without a memory access.
        unsafe {
            ::core::arch::asm!(concat!("leaq \"", $symbol, "\"(%rip), {0}"), out(reg) address,
                options(att_syntax, pure, nomem, nostack, preserves_flags));
        }
        address
    }};
}
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __address {
    ($symbol:expr) => {{
        let address: usize;
        // SAFETY: computes a number, without a memory access.
        unsafe {
            ::core::arch::asm!(
                concat!("adrp {0}, \"", $symbol, "\""),
                concat!("add {0}, {0}, #:lo12:\"", $symbol, "\""), out(reg) address,
                options(pure, nomem, nostack, preserves_flags));
        }
        address
    }};
}

/// Reads the semaphore of a domain, in one instruction where the architecture can.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __read_semaphore {
    ($id:expr) => {{
        let semaphore: u32;
        // SAFETY: the semaphore is no memory of the Rust program: the assembly above defines it, only the
        // kernel writes to it, and no reference to it exists. So `nomem` holds. Without `pure`, each mark
        // reads it anew.
        unsafe {
            ::core::arch::asm!(concat!("movl \"prof_domain_", $id, "\"(%rip), {0:e}"), out(reg) semaphore,
                options(att_syntax, nomem, nostack, preserves_flags));
        }
        semaphore
    }};
}
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __read_semaphore {
    ($id:expr) => {{
        let semaphore: u32;
        // SAFETY: as on x86-64.
        unsafe {
            ::core::arch::asm!(
                concat!("adrp {1}, \"prof_domain_", $id, "\""),
                concat!("ldr {0:w}, [{1}, #:lo12:\"prof_domain_", $id, "\"]"),
                out(reg) semaphore, out(reg) _,
                options(nomem, nostack, preserves_flags));
        }
        semaphore
    }};
}

/// Defines the type of a domain. Its symbols contain the path of its module.
#[doc(hidden)]
#[macro_export]
macro_rules! __domain {
    ($(#[$attribute:meta])* $visibility:vis $id:ident, $name:literal) => {
        $crate::__define_domain!(
            concat!(module_path!(), "::", stringify!($id)), stringify!($id), stringify!($name)
        );
        $(#[$attribute])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        $visibility struct $id;
        // SAFETY: the assembly above defines the semaphore and the stubs of this domain.
        unsafe impl $crate::Domain for $id {
            #[inline(always)]
            fn semaphore() -> u32 {
                $crate::__read_semaphore!(concat!(module_path!(), "::", stringify!($id)))
            }
            #[inline(always)]
            unsafe fn call<const KIND: u16>(
                name: *const u8, meta: u64, a: u64, b: u64, keys: *const u8, values: u64,
            ) {
                $crate::__call_of!(KIND, concat!(module_path!(), "::", stringify!($id)),
                    (name, meta, a, b, keys, values),
                    1 "begin", 2 "end", 3 "instant", 4 "counter", 5 "async_begin", 6 "async_end",
                    7 "flow_out", 8 "flow_in", 9 "alloc", 10 "free")
            }
        }
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __call_of {
    ($kind:ident, $id:expr, $arguments:tt, $($number:literal $word:literal),*) => {
        match $kind {
            $($number => $crate::__call!(concat!("prof_", $word, "_", $id), $arguments),)*
            _ => unreachable!(),
        }
    };
}

/// Calls a stub with its six arguments in registers, as C does, and in one more register with what does the work
/// of a mark that belongs into a buffer and is more than the assembly can do (`prof_batch_mark_by`).
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    ($stub:expr, ($name:ident, $meta:ident, $a:ident, $b:ident, $keys:ident, $values:ident)) => {
        ::core::arch::asm!(concat!("call \"", $stub, "\""), in("rdi") $name, in("rsi") $meta, in("rdx") $a,
            in("rcx") $b, in("r8") $keys, in("r9") $values, in("r10") $crate::__private::PUT,
            clobber_abi("C"), options(att_syntax))
    };
}
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    ($stub:expr, ($name:ident, $meta:ident, $a:ident, $b:ident, $keys:ident, $values:ident)) => {
        ::core::arch::asm!(concat!("bl \"", $stub, "\""), in("x0") $name, in("x1") $meta, in("x2") $a,
            in("x3") $b, in("x4") $keys, in("x5") $values, in("x7") $crate::__private::PUT,
            clobber_abi("C"))
    };
}

// The control site, and by the same macros what buffered mode needs: the stub that hands a buffer over, whose
// note says where the buffers are and their layout, the thread's pointer to its buffer, and the buffers: zero
// pages, which cost nothing until a thread is recorded.
crate::__semaphore!("prof_control");

macro_rules! control_stubs {
    ($($number:literal $kind:literal),*) => {
        $(crate::__stub!(plain $kind, $number, "prof_control", "", "",
            crate::__usdt_note!(plain $kind, "prof_control", "prof_control"), "0", "\"\"", "");)*
    };
}
control_stubs!(
    32 "thread_name", 33 "step", 34 "pause", 35 "resume", 36 "dump", 37 "stop", 38 "include_json",
    39 "scope_push", 40 "scope_pop"
);
crate::__stub!(plain "flush", 48, "prof_control", "",
    concat!(".reloc ., ", crate::__of_stub!(no_relocation), ", prof_read_strings_prof_control\n"),
    "", "4", "\"\"", ".8byte prof_batches - .\n.4byte 3\n");
// Nobody calls it. By a probe here a tracer asks that marks let the kernel read their strings, if these may be
// unreadable, which Rust's never are.
crate::__stub!(plain "read_strings", 52, "prof_control", " + 2", "", "", "0", "\"\"", "");

crate::__assemble!(
    crate::__section!(".tbss.prof_batch", "awTG", "nobits", "prof_batch", "tls_object"),
    ".balign 8\nprof_batch: .zero 8\n.size prof_batch, 8\n.popsection\n.endif\n"
);
crate::__assemble!(
    crate::__section!(".bss.prof_batches", "awG", "nobits", "prof_batches", "object"),
    ".balign 4096\nprof_batches: .zero 4096 + 128 * 32768\n",
    ".size prof_batches, . - prof_batches\n.popsection\n.endif\n"
);
// A stub comes here when its mark belongs into a buffer: with the six arguments of the stub, its own address and the
// address of PUT, which takes these seven. prof_batch_mark_by_too also keeps the arguments for the probe sites.
//
// As prof_batch_mark in the header, which has the reasons, this handles most marks on x86-64 and none on arm64: those
// without pairs or with values in registers, for which there is space.
#[cfg(target_arch = "x86_64")]
crate::__assemble!(
    crate::__section!(".text.prof_batch_mark_by", "axG", "progbits", "prof_batch_mark_by", "function"),
    ".weak prof_batch_mark_by_too\n.hidden prof_batch_mark_by_too\n.type prof_batch_mark_by_too, %function\n",
    ".balign 32\nprof_batch_mark_by:\n.cfi_startproc\n",
    "pushq %rax\n.cfi_adjust_cfa_offset 8\n",
    // Where signals do not come by. Free from here on: %r9, %r10, %r11, soon %rax.
    "movq %r9, -8(%rsp)\n",
    "movq %r10, -16(%rsp)\n",
    "movq prof_batch@gottpoff(%rip), %r11\n",
    "movq %fs:(%r11), %r11\n",
    "testq %r11, %r11\n",
    "jz 970f\n",
    // What the keys are counted from: the name, or else the stub.
    "movq %rdi, %r10\n",
    "testq %rdi, %rdi\n",
    "cmovzq %rax, %r10\n",
    // Whether anything is dynamic, a string, in registers, or categories; how many pairs.
    "movq %rsi, %r9\n",
    "shrq $32, %r9\n",
    "andl $15, %r9d\n",
    "movl %esi, %eax\n",
    "andl $15, %eax\n",
    "jz 971f\n",
    // In registers, and nothing else. The keys are near.
    "cmpl $4, %r9d\n",
    "jne 970f\n",
    "movq %r8, %r9\n",
    "subq %r10, %r9\n",
    "addq $0x800000, %r9\n",
    "cmpq $0x1000000, %r9\n",
    "jae 970f\n",
    // The third word without its highest bits. Those: the keys are near, so many words.
    "shlq $16, %r9\n",
    "xorq %rsi, %r9\n",
    "btcq $34, %r9\n",
    "shll $4, %eax\n",
    "addl $0x32, %eax\n",
    "972:\n",
    // Is the name too far away?
    "subq (%rsp), %r10\n",
    "addq $0x40000000, %r10\n",
    "shrq $31, %r10\n",
    "jnz 970f\n",
    // `a` follows, one word more.
    "testq %rdx, %rdx\n",
    "jz 973f\n",
    "addl $0x11, %eax\n",
    "973:\n",
    // The third word; bytes.
    "movl %eax, %r10d\n",
    "shlq $52, %rax\n",
    "orq %rax, %r9\n",
    "shrl $1, %r10d\n",
    "andl $-8, %r10d\n",
    // Of `used`, up to `size`.
    "movl %r10d, %eax\n",
    "xaddl %eax, 8(%r11)\n",
    "addl %eax, %r10d\n",
    "cmpl 12(%r11), %r10d\n",
    "ja 974f\n",
    "addq %r11, %rax\n",
    // The second word, in halves; the third one.
    "movq (%rsp), %r8\n",
    "testq %rdi, %rdi\n",
    "cmovzq %r8, %rdi\n",
    "subl %r8d, %edi\n",
    "movl %r8d, 8(%rax)\n",
    "movl %edi, 12(%rax)\n",
    "movq %r9, 16(%rax)\n",
    // What follows.
    "leaq 24(%rax), %rdi\n",
    "testq %rdx, %rdx\n",
    "jz 975f\n",
    "movq %rdx, (%rdi)\n",
    "addq $8, %rdi\n",
    "975:\n",
    "andl $15, %esi\n",
    "jz 976f\n",
    "movq %rcx, (%rdi)\n",
    "cmpl $1, %esi\n",
    "je 977f\n",
    "movq -8(%rsp), %rdx\n",
    "movq %rdx, 8(%rdi)\n",
    "977:\n",
    // Last the time: an event without one is not complete. Then `complete`.
    "movq %rax, %rdi\n",
    "shrq $56, %r9\n",
    "addl $0x10000, %r9d\n",
    "rdtsc\n",
    "shlq $32, %rdx\n",
    "orq %rdx, %rax\n",
    "movq %rax, (%rdi)\n",
    "addl %r9d, 16(%r11)\n",
    "popq %rax\n.cfi_adjust_cfa_offset -8\n",
    "ret\n.cfi_adjust_cfa_offset 8\n",
    "976:\n",
    "testq %rcx, %rcx\n",
    "jz 977b\n",
    "movq %rcx, (%rdi)\n",
    "jmp 977b\n",
    // No pairs: perhaps `b` follows.
    "971:\n",
    "testl %r9d, %r9d\n",
    "jnz 970f\n",
    "movq %rsi, %r9\n",
    "movl $0x30, %eax\n",
    "testq %rcx, %rcx\n",
    "jz 972b\n",
    "addl $0x14, %eax\n",
    "jmp 972b\n",
    // Given back: what a signal handler took meanwhile was too much as well.
    "974:\n",
    "subl %eax, %r10d\n",
    "negl %r10d\n",
    "xaddl %r10d, 8(%r11)\n",
    // The seventh argument is where the calling convention wants it.
    "970:\n",
    "movq -16(%rsp), %r10\n",
    "movq -8(%rsp), %r9\n",
    "callq *%r10\n",
    "popq %rax\n.cfi_adjust_cfa_offset -8\n",
    "ret\n.cfi_endproc\n",
    ".size prof_batch_mark_by, . - prof_batch_mark_by\n",
    "prof_batch_mark_by_too:\n.cfi_startproc\n",
    "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\n.cfi_adjust_cfa_offset 48\n",
    "callq prof_batch_mark_by\n",
    "popq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n.cfi_adjust_cfa_offset -48\n",
    "ret\n.cfi_endproc\n",
    ".size prof_batch_mark_by_too, . - prof_batch_mark_by_too\n.popsection\n.endif\n"
);
#[cfg(target_arch = "aarch64")]
crate::__assemble!(
    crate::__section!(".text.prof_batch_mark_by", "axG", "progbits", "prof_batch_mark_by", "function"),
    ".weak prof_batch_mark_by_too\n.hidden prof_batch_mark_by_too\n.type prof_batch_mark_by_too, %function\n",
    ".balign 64\nprof_batch_mark_by:\n.cfi_startproc\n",
    "hint 34\n",
    "br x7\n.cfi_endproc\n",
    ".size prof_batch_mark_by, . - prof_batch_mark_by\n",
    "prof_batch_mark_by_too:\n.cfi_startproc\n",
    "hint 34\n",
    "stp x29, x30, [sp, #-64]!\n.cfi_def_cfa_offset 64\n.cfi_offset 29, -64\n.cfi_offset 30, -56\n",
    "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n",
    "blr x7\n",
    "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\n",
    "ldp x29, x30, [sp], #64\n.cfi_def_cfa_offset 0\n",
    "ret\n.cfi_endproc\n",
    ".size prof_batch_mark_by_too, . - prof_batch_mark_by_too\n.popsection\n.endif\n"
);
// Brings the section of the semaphores to a page of its own. lld puts the data that only the dynamic linker
// writes, and all other data, into two mappings that share a page of the file. Both are writable as a program
// begins, and the kernel would count in the first one, where nobody looks.
crate::__assemble!(
    crate::__section!(".probes", "awG", "progbits", "prof_probes_page", "object"),
    ".balign 4096\nprof_probes_page:\n.size prof_probes_page, 0\n.popsection\n.endif\n"
);
// By this systemtap's tools learn how far the file was moved after its notes were written.
crate::__assemble!(
    ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n",
    ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n",
    ".size _.stapsdt.base, 1\n.popsection\n.endif\n"
);

/// The control site, which belongs to no domain and has kinds of its own.
pub struct Control;

// SAFETY: the assembly above defines the semaphore and these stubs.
unsafe impl crate::Domain for Control {
    #[inline(always)]
    fn semaphore() -> u32 {
        crate::__read_semaphore!("prof_control")
    }
    #[inline(always)]
    unsafe fn call<const KIND: u16>(
        name: *const u8,
        meta: u64,
        a: u64,
        b: u64,
        keys: *const u8,
        values: u64,
    ) {
        crate::__call_of!(KIND, "prof_control", (name, meta, a, b, keys, values),
            32 "thread_name", 33 "step", 34 "pause", 35 "resume", 36 "dump", 37 "stop", 38 "include_json",
            39 "scope_push", 40 "scope_pop")
    }
}

/// The stub that hands a buffer over.
pub fn flush_stub() -> usize {
    crate::__address!("prof_flush_prof_control")
}

/// Hands a buffer over.
pub fn flush(batch: *const u8, why: u64) {
    let (name, meta, a, keys, values) =
        (core::ptr::null::<u8>(), 0_u64, batch, core::ptr::null::<u8>(), 0_u64);

    // SAFETY: the stub takes these, and only the kernel looks at them.
    unsafe { crate::__call!("prof_flush_prof_control", (name, meta, a, why, keys, values)) }
}

/// Gives the calling thread a name (`prctl`, `PR_SET_NAME`) that ends in a NUL.
pub fn set_kernel_name(name: *const u8) {
    // SAFETY: a system call that reads up to 16 bytes and up to a NUL; registers that it changes are listed.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("syscall", inlateout("rax") 157_usize => _, in("rdi") 15_usize, in("rsi") name,
            in("rdx") 0_usize, out("rcx") _, out("r11") _, options(nostack));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("svc 0", in("x8") 167_usize, inlateout("x0") 15_usize => _, in("x1") name,
            in("x2") 0_usize, options(nostack));
    }
}
