// SPDX-License-Identifier: BSD-2-Clause
//! The types of values that a mark can carry, and what 64 bits become of each.

/// Bytes of a string that are kept. One more is passed, so that the tracer sees that there were more.
const STRING_KEPT: usize = 256;

const INT: u64 = 1;
const UINT: u64 = 2;
const DOUBLE: u64 = 3;
const STRING: u64 = 4;
const BOOL: u64 = 5;
const POINTER: u64 = 6;

pub const HAS_STRINGS: u64 = 1 << 33;

mod sealed {
    pub trait Sealed {}
}

/// What may stand behind a key: integers of up to 64 bits, `bool`, `f32`, `f64`, `&str`, and pointers.
///
/// `Option<&str>` is a string that may be missing. Cast what is none of these, and write `&*s` or
/// `s.as_str()` for a `String`.
pub trait Value: sealed::Sealed {
    #[doc(hidden)]
    const TYPE: u64;
    #[doc(hidden)]
    type Copy: Default;
    #[doc(hidden)]
    fn bits(self, copy: &mut Self::Copy) -> u64;
}

/// What a counter may have: integers of up to 64 bits, `bool`, `f32`, `f64`.
pub trait Number: Value<Copy = ()> {
    #[doc(hidden)]
    #[inline(always)]
    fn number(self) -> u64
    where
        Self: Sized,
    {
        self.bits(&mut ())
    }
}

/// What may identify an asynchronous slice or an arrow: integers of up to 64 bits.
pub trait Integer: Number {}

macro_rules! plain {
    ($($type:ty: $kind:ident, $value:ident => $bits:expr, $($trait:ident)*;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Value for $type {
            const TYPE: u64 = $kind;
            type Copy = ();
            #[inline(always)]
            fn bits(self, _: &mut ()) -> u64 {
                let $value = self;
                $bits
            }
        }
        $(impl $trait for $type {})*
    )*};
}
plain! {
    i8: INT, v => v as i64 as u64, Number Integer;
    i16: INT, v => v as i64 as u64, Number Integer;
    i32: INT, v => v as i64 as u64, Number Integer;
    i64: INT, v => v as u64, Number Integer;
    isize: INT, v => v as i64 as u64, Number Integer;
    u8: UINT, v => v as u64, Number Integer;
    u16: UINT, v => v as u64, Number Integer;
    u32: UINT, v => v as u64, Number Integer;
    u64: UINT, v => v, Number Integer;
    usize: UINT, v => v as u64, Number Integer;
    bool: BOOL, v => v as u64, Number;
    f32: DOUBLE, v => f64::from(v).to_bits(), Number;
    f64: DOUBLE, v => v.to_bits(), Number;
}

impl<T: ?Sized> sealed::Sealed for *const T {}
impl<T: ?Sized> Value for *const T {
    const TYPE: u64 = POINTER;
    type Copy = ();
    #[inline(always)]
    fn bits(self, _: &mut ()) -> u64 {
        self as *const () as u64
    }
}
impl<T: ?Sized> sealed::Sealed for *mut T {}
impl<T: ?Sized> Value for *mut T {
    const TYPE: u64 = POINTER;
    type Copy = ();
    #[inline(always)]
    fn bits(self, _: &mut ()) -> u64 {
        self as *const () as u64
    }
}

/// A copy of a string that ends in a NUL, which Rust's strings do not, on the stack of the mark.
pub struct Copied<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> Default for Copied<SIZE> {
    #[inline(always)]
    fn default() -> Self {
        Copied([0; SIZE])
    }
}

impl<const SIZE: usize> Copied<SIZE> {
    /// A string with a NUL inside ends there.
    #[inline]
    pub fn put(&mut self, text: &str) -> *const u8 {
        let n = text.len().min(SIZE - 1);
        self.0[..n].copy_from_slice(&text.as_bytes()[..n]);
        self.0[n] = 0;
        self.0.as_ptr()
    }
}

impl sealed::Sealed for &str {}
impl Value for &str {
    const TYPE: u64 = STRING;
    type Copy = Copied<{ STRING_KEPT + 2 }>;
    #[inline(always)]
    fn bits(self, copy: &mut Self::Copy) -> u64 {
        copy.put(self) as u64
    }
}
impl sealed::Sealed for Option<&str> {}
impl Value for Option<&str> {
    const TYPE: u64 = STRING;
    type Copy = Copied<{ STRING_KEPT + 2 }>;
    #[inline(always)]
    fn bits(self, copy: &mut Self::Copy) -> u64 {
        self.map_or(0, |text| copy.put(text) as u64)
    }
}

const fn string_flag(kind: u64) -> u64 {
    if kind == STRING {
        HAS_STRINGS
    } else {
        0
    }
}

/// The values of a mark: a tuple of up to six.
pub trait Values {
    /// Their number and types, as bits of the stub's argument `meta`.
    #[doc(hidden)]
    const META: u64;
    /// Calls `send` with their bits, and with the copies of strings still there.
    #[doc(hidden)]
    fn with<R>(self, send: impl FnOnce(&[u64]) -> R) -> R;
}

macro_rules! values {
    ($count:literal $($type:ident $value:ident $at:literal)*) => {
        impl<$($type: Value),*> Values for ($($type,)*) {
            const META: u64 = $count $(| $type::TYPE << (8 + 4 * $at) | string_flag($type::TYPE))*;
            #[inline(always)]
            fn with<R>(self, send: impl FnOnce(&[u64]) -> R) -> R {
                let ($($value,)*) = self;
                // Each copy lives until the block ends, after the call.
                send(&[$($value.bits(&mut <$type::Copy as Default>::default())),*])
            }
        }
    };
}
values!(0);
values!(1 A a 0);
values!(2 A a 0 B b 1);
values!(3 A a 0 B b 1 C c 2);
values!(4 A a 0 B b 1 C c 2 D d 3);
values!(5 A a 0 B b 1 C c 2 D d 3 E e 4);
values!(6 A a 0 B b 1 C c 2 D d 3 E e 4 F f 5);

/// Lets numbers through, and nothing else.
#[doc(hidden)]
#[inline(always)]
pub fn only_number<T: Number>(value: T) -> T {
    value
}

/// The bits of what identifies something.
#[doc(hidden)]
#[inline(always)]
pub fn id(id: impl Integer) -> u64 {
    id.number()
}
