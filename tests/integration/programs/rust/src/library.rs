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

/// Functions that make so many marks, in the domain of C's; mixed.c has the same.
macro_rules! forms {
    ($($name:ident, $i:ident => $mark:stmt;)*) => {$(
        #[no_mangle]
        #[inline(never)]
        #[allow(unused_variables, missing_docs)]
        pub extern "C" fn $name(n: u64) {
            for $i in 0..n {
                $mark
            }
        }
    )*};
}
forms! {
    rust_instant_0, i => proftrace::instant!("of Rust");
    rust_instant_1, i => proftrace::instant!("of Rust", "number" => i);
    rust_instant_2, i => proftrace::instant!("of Rust", "number" => i, "b" => 2);
    rust_instant_3, i => proftrace::instant!("of Rust", "number" => i, "b" => 2, "c" => 3);
    rust_instant_4, i => proftrace::instant!("of Rust", "number" => i, "b" => 2, "c" => 3, "d" => 4);
    rust_instant_5, i => proftrace::instant!("of Rust", "number" => i, "b" => 2, "c" => 3, "d" => 4,
        "e" => 5);
    rust_instant_6, i => proftrace::instant!("of Rust", "number" => i, "b" => 2, "c" => 3, "d" => 4,
        "e" => 5, "f" => 0.5);
    rust_counter_1, i => proftrace::counter!("of Rust", i);
    rust_counter_2, i => proftrace::counters!("of Rust", "number" => i, "b" => 2);
    rust_counter_6, i => proftrace::counters!("of Rust", "number" => i, "b" => 2, "c" => 3, "d" => 4,
        "e" => 5, "f" => 0.5);
}

/// The same of scopes, which are several statements.
macro_rules! scopes {
    ($($name:ident, $i:ident => ($($argument:tt)*);)*) => {$(
        #[no_mangle]
        #[inline(never)]
        #[allow(unused_variables, missing_docs)]
        pub extern "C" fn $name(n: u64) {
            for $i in 0..n {
                proftrace::scope!($($argument)*);
            }
        }
    )*};
}
scopes! {
    rust_scope_0, i => ("of Rust");
    rust_scope_1, i => ("of Rust", "number" => i);
    rust_scope_2, i => ("of Rust", "number" => i, "b" => 2);
    rust_scope_6, i => ("of Rust", "number" => i, "b" => 2, "c" => 3, "d" => 4, "e" => 5, "f" => 0.5);
}
