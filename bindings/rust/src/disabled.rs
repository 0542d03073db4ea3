// SPDX-License-Identifier: BSD-2-Clause
//! In place of stub.rs where there are no marks: every domain is off, as the compiler knows.

use crate::emit::Mark;

#[doc(hidden)]
#[macro_export]
macro_rules! __domain {
    ($(#[$attribute:meta])* $visibility:vis $id:ident, $name:literal) => {
        $(#[$attribute])*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        $visibility struct $id;
        // SAFETY: nobody calls a stub of a domain that is off.
        unsafe impl $crate::Domain for $id {
            #[inline(always)]
            fn semaphore() -> u32 {
                0
            }
            #[inline(always)]
            fn stub(_: u16) -> usize {
                0
            }
        }
    };
}

crate::__domain!(pub Control, "");

pub fn send(_: u32, _: usize, _: &Mark) {}

pub fn set_kernel_name(_: *const u8) {}
