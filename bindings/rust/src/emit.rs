// SPDX-License-Identifier: BSD-2-Clause
//! What a mark does while someone records it: its arguments go into registers, and it calls the stub, or
//! in buffered mode writes an event into its thread's buffer.

use core::marker::PhantomData;

use crate::value::{Copied, Number, Values, HAS_STRINGS};
use crate::Domain;

/// Bytes of a name made at run time that are kept, one that shows that there were more, and a NUL.
pub type Name = Copied<130>;

pub const BEGIN: u16 = 1;
pub const END: u16 = 2;
pub const INSTANT: u16 = 3;
pub const COUNTER: u16 = 4;

pub const NAME_DYNAMIC: u64 = 1 << 32;
pub const IN_REGISTERS: u64 = 1 << 34;

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

/// Calls the stub: up to two values are in registers, more in memory.
#[inline(always)]
fn send<D: Domain, const KIND: u16, V: Values>(
    name: *const u8,
    meta: u64,
    a: u64,
    b: u64,
    keys: *const u8,
    values: V,
) {
    values.with(|values| {
        let (more, b, second) = match *values {
            [] => (0, b, 0),
            [only] => (IN_REGISTERS, only, 0),
            [first, second] => (IN_REGISTERS, first, second),
            _ => (0, b, values.as_ptr() as u64),
        };
        // SAFETY: these are the arguments of the stub, and all that they point to lives until it returns.
        unsafe { D::call::<KIND>(name, meta | V::META | more, a, b, keys, second) }
    });
}

/// The same, as a function. The copies of strings are large: here they do not enlarge the frame of a caller whom nobody records.
#[cold]
#[inline(never)]
fn send_strings<D: Domain, const KIND: u16, V: Values>(
    name: *const u8,
    meta: u64,
    a: u64,
    b: u64,
    keys: *const u8,
    values: V,
) {
    send::<D, KIND, V>(name, meta, a, b, keys, values);
}

/// Tells the compiler that the branch in which this stands is not taken often.
#[cold]
#[inline]
fn cold() {}

#[inline(always)]
fn mark_with<D: Domain, const KIND: u16, V: Values>(
    name: &'static str,
    meta: u64,
    a: u64,
    b: u64,
    keys: &'static str,
    values: V,
) {
    cold();
    if V::META & HAS_STRINGS != 0 {
        send_strings::<D, KIND, V>(touch(name), meta, a, b, touch(keys), values);
    } else {
        send::<D, KIND, V>(touch(name), meta, a, b, touch(keys), values);
    }
}

/// `name` and `keys` are constants of this file, and end in a NUL unless they are empty.
#[inline(always)]
pub fn mark<D: Domain, const KIND: u16, V: Values>(
    name: &'static str,
    a: u64,
    b: u64,
    keys: &'static str,
    values: V,
) {
    mark_with::<D, KIND, V>(name, 0, a, b, keys, values);
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

    send::<D, KIND, V>(copy.put(name), NAME_DYNAMIC, a, 0, touch(keys), values);
}

/// A slice (object 7) or a moment (8) at times of its own. Its first values are the track and the end.
#[inline(always)]
pub fn mark_given<D: Domain, V: Values>(
    object: u64,
    name: &'static str,
    begin: u64,
    keys: &'static str,
    values: V,
) {
    mark_with::<D, INSTANT, V>(name, object << 44, begin, 0, keys, values);
}

/// A counter with one value.
#[inline(always)]
pub fn count<D: Domain, N: Number>(name: &'static str, value: N) {
    mark_with::<D, COUNTER, ()>(name, N::TYPE << 4, value.number(), 0, "", ());
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
