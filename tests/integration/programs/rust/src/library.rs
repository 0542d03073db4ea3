// SPDX-License-Identifier: BSD-2-Clause
//! A library that is loaded while the program runs; its domain has the name of one of the program's. It is also
//! linked to a program in C (mixed.c).

proftrace::domain!(NET, "net.rpc");

/// Makes three marks for each number below `n`, and returns how many those are.
#[no_mangle]
pub extern "C" fn library_marks(n: u64) -> u64 {
    for number in 0..n {
        proftrace::scope!(in NET, "from the library", "number" => number);
        proftrace::instant!("library", "text" => "static");
    }
    3 * n
}

/// So many marks, in the domain of C's.
#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_instants(n: u64) {
    for i in 0..n {
        proftrace::instant!("of Rust", "number" => i);
    }
}
