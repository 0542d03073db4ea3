// SPDX-License-Identifier: BSD-2-Clause
//! The stubs that marks call, their ELF notes and the semaphores, in assembly.
//!
//! Section 4 of include/proftrace.h describes them. Those of the control site and of buffered mode have
//! the symbols and section groups of the header, so that a program with marks in C and in Rust has them
//! once. The symbols of a domain contain the path of its Rust module, so they collide with nobody's.

#[path = "batch.rs"]
mod batch;

pub use batch::send;

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

/// The architecture's part of a stub and of its notes: `code` is the breakpoint nop, on x86-64 the
/// optimised nop behind it, and the return. A `steady` nop precedes them in the stubs of domains: marks that are
/// in a buffer as well enter past it. On arm64 both entries are landing pads (BTI).
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __of_stub {
    (plain code) => {
        "nop\n.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\nret\n"
    };
    (steady code) => {
        concat!("nop\n", $crate::__of_stub!(plain code))
    };
    (plain nops) => {
        "0, 1"
    };
    (steady nops) => {
        "1, 2"
    };
    (plain breakpoint) => {
        ""
    };
    (steady breakpoint) => {
        " + 1"
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
    (plain code) => {
        "hint 34\nnop\nret\n"
    };
    (steady code) => {
        "hint 34\nnop\nnop\nret\nhint 34\nb . - 12\n"
    };
    (plain nops) => {
        "4, 255"
    };
    (steady nops) => {
        "8, 255"
    };
    (plain breakpoint) => {
        " + 4"
    };
    (steady breakpoint) => {
        " + 8"
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

/// The entry of a domain's stub that is past its steady nop, from the stub on.
pub const PAST_STEADY_NOP: usize = if cfg!(target_arch = "x86_64") { 1 } else { 16 };

/// A stub and its notes: whether it is `steady` or `plain`, `$kind` and `$number` of the mark, `$half` of the
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
                $crate::__of_stub!($sort code),
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
        $crate::__stub!(steady "batch_on", 49, $id, " + 2", "", "", "2", $name, "");
    };
    (@ $id:expr, $provider:expr, $name:expr, $($number:literal $kind:literal),*) => {
        $($crate::__stub!(
            steady $kind, $number, $id, "",
            concat!(
                ".reloc ., ", $crate::__of_stub!(no_relocation), ", \"prof_batch_on_", $id, "\"\n",
                ".reloc ., ", $crate::__of_stub!(no_relocation), ", prof_probes_page\n"
            ),
            $crate::__usdt_note!(steady $kind, $id, $provider), "3", $name, ""
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
            fn stub(kind: u16) -> usize {
                $crate::__stub_of!(kind, concat!(module_path!(), "::", stringify!($id)),
                    1 "begin", 2 "end", 3 "instant", 4 "counter", 5 "async_begin", 6 "async_end",
                    7 "flow_out", 8 "flow_in", 9 "alloc", 10 "free")
            }
        }
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __stub_of {
    ($kind:ident, $id:expr, $($number:literal $word:literal),*) => {
        match $kind {
            $($number => $crate::__address!(concat!("prof_", $word, "_", $id)),)*
            _ => unreachable!(),
        }
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
crate::__stub!(plain "flush", 48, "prof_control", "", "", "", "0", "\"\"", ".8byte prof_batches - .\n.4byte 3\n");

crate::__assemble!(
    crate::__section!(".tbss.prof_batch", "awTG", "nobits", "prof_batch", "tls_object"),
    ".balign 8\nprof_batch: .zero 8\n.size prof_batch, 8\n.popsection\n.endif\n"
);
crate::__assemble!(
    crate::__section!(".bss.prof_batches", "awG", "nobits", "prof_batches", "object"),
    ".balign 4096\nprof_batches: .zero 4096 + 128 * 32768\n",
    ".size prof_batches, . - prof_batches\n.popsection\n.endif\n"
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
    fn stub(kind: u16) -> usize {
        crate::__stub_of!(kind, "prof_control",
            32 "thread_name", 33 "step", 34 "pause", 35 "resume", 36 "dump", 37 "stop", 38 "include_json",
            39 "scope_push", 40 "scope_pop")
    }
}

/// The stub that hands a buffer over.
pub fn flush_stub() -> usize {
    crate::__address!("prof_flush_prof_control")
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
