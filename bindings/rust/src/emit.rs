// SPDX-License-Identifier: BSD-2-Clause
//! What a mark does while someone records it: its arguments go into registers, and it calls the stub, or
//! in buffered mode writes an event into its thread's buffer.

use core::marker::PhantomData;

use crate::stub::send;
use crate::value::{Copied, Number, Values};
use crate::Domain;

/// Bytes of a name made at run time that are kept, one that shows that there were more, and a NUL.
pub type Name = Copied<130>;

pub const BEGIN: u16 = 1;
pub const END: u16 = 2;
pub const INSTANT: u16 = 3;
pub const COUNTER: u16 = 4;

pub const NAME_DYNAMIC: u64 = 1 << 32;
pub const IN_REGISTERS: u64 = 1 << 34;

/// The six arguments of a stub. Section 4 of include/proftrace.h describes them.
pub struct Mark {
    pub name: *const u8,
    pub meta: u64,
    pub a: u64,
    pub b: u64,
    pub keys: *const u8,
    pub values: u64,
}

/// The kernel cannot wait for a page: what it shall read has to be in memory. Names and keys are shorter
/// than a page, so their first and last bytes will do.
#[inline(always)]
fn touch(text: &str) -> *const u8 {
    if let (Some(first), Some(last)) = (text.as_bytes().first(), text.as_bytes().last()) {
        // SAFETY: both are references to bytes that live.
        unsafe {
            core::ptr::read_volatile(first);
            core::ptr::read_volatile(last);
        }
        first
    } else {
        core::ptr::null()
    }
}

#[inline(always)]
fn send_values<D: Domain, const KIND: u16, V: Values>(mut mark: Mark, values: V) {
    values.with(|values| {
        mark.meta |= V::META;
        match *values {
            [] => {}
            [only] => {
                mark.meta |= IN_REGISTERS;
                mark.b = only;
            }
            [first, second] => {
                mark.meta |= IN_REGISTERS;
                mark.b = first;
                mark.values = second;
            }
            _ => mark.values = values.as_ptr() as u64,
        }
        send(D::semaphore(), D::stub(KIND), &mark);
    });
}

/// `name` and `keys` are constants of this file, and end in a NUL unless they are empty.
#[cold]
#[inline(never)]
pub fn mark<D: Domain, const KIND: u16, V: Values>(
    name: &'static str,
    a: u64,
    b: u64,
    keys: &'static str,
    values: V,
) {
    let mark = Mark { name: touch(name), meta: 0, a, b, keys: touch(keys), values: 0 };

    send_values::<D, KIND, V>(mark, values);
}

/// The same with a name that is made at run time, and need not end in a NUL.
#[cold]
#[inline(never)]
pub fn mark_dynamic<D: Domain, const KIND: u16, V: Values>(
    name: &str,
    a: u64,
    keys: &'static str,
    values: V,
) {
    let mut copy = Name::default();
    let mark = Mark { name: copy.put(name), meta: NAME_DYNAMIC, a, b: 0, keys: touch(keys), values: 0 };

    send_values::<D, KIND, V>(mark, values);
}

/// A slice (object 7) or a moment (8) at times of its own. Its first values are the track and the end.
#[cold]
#[inline(never)]
pub fn mark_given<D: Domain, V: Values>(
    object: u64,
    name: &'static str,
    begin: u64,
    keys: &'static str,
    values: V,
) {
    let mark = Mark { name: touch(name), meta: object << 44, a: begin, b: 0, keys: touch(keys), values: 0 };

    send_values::<D, INSTANT, V>(mark, values);
}

/// A counter with one value.
#[cold]
#[inline(never)]
pub fn count<D: Domain, N: Number>(name: &'static str, value: N) {
    let mark = Mark {
        name: touch(name),
        meta: N::TYPE << 4,
        a: value.number(),
        b: 0,
        keys: core::ptr::null(),
        values: 0,
    };

    send(D::semaphore(), D::stub(COUNTER), &mark);
}

/// A byte that could change, so that no compiler takes a constant for it: each has an address of its own.
pub type Byte = core::mem::MaybeUninit<core::cell::Cell<u8>>;

/// A slice that ends when this is dropped, on whatever way the block is left.
///
/// Its token is the address of a byte that it borrows: no other slice that is open has it. A slice belongs
/// to its thread, so the guard cannot be sent to another one.
#[must_use]
pub struct Scope<'byte, D: Domain> {
    token: u64,
    of: PhantomData<(&'byte Byte, *const D)>,
}

#[doc(hidden)]
impl<'byte, D: Domain> Scope<'byte, D> {
    /// What a slice that is not recorded has.
    #[inline(always)]
    pub fn off() -> Self {
        Scope { token: 0, of: PhantomData }
    }

    #[inline(always)]
    pub fn begin<V: Values>(byte: &'byte Byte, name: &'static str, keys: &'static str, values: V) -> Self {
        let token = byte as *const Byte as u64;

        mark::<D, BEGIN, V>(name, token, 0, keys, values);
        Scope { token, of: PhantomData }
    }

    #[inline(always)]
    pub fn begin_dynamic<V: Values>(byte: &'byte Byte, name: &str, keys: &'static str, values: V) -> Self {
        let token = byte as *const Byte as u64;

        mark_dynamic::<D, BEGIN, V>(name, token, keys, values);
        Scope { token, of: PhantomData }
    }
}

impl<D: Domain> Drop for Scope<'_, D> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.token != 0 {
            mark::<D, END, ()>("", self.token, 0, "", ());
        }
    }
}

/// The path of a function, of which `inner` is an item.
pub fn function_name<F>(_inner: F) -> &'static str {
    let name = core::any::type_name::<F>();

    name.strip_suffix("::inner").unwrap_or(name)
}

/// The address of what is pointed to, for marks of memory.
#[inline(always)]
pub fn address<T: ?Sized>(pointer: *const T) -> u64 {
    pointer as *const () as u64
}
