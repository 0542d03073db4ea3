// SPDX-License-Identifier: BSD-2-Clause
//! The macros for marks. Each puts the test of the semaphore where it stands, and all else, the evaluation
//! of its arguments too, into the branch that is not taken.

/// Defines a domain: `domain!(NET, "net")` or `domain!(pub NET, "net")`, where an item may stand.
///
/// `NET` becomes a type, which marks name: `begin!(in NET, "send")`. The name, by which people switch the
/// domain on, is a literal; domains of the same name are one to the tracer, whatever they are called here.
#[macro_export]
macro_rules! domain {
    ($($definition:tt)*) => { $crate::__domain!($($definition)*); };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mark {
    ($domain:ty, $kind:literal, $name:expr, $a:expr, $b:expr, $($key:literal => $value:expr),*) => {
        if $crate::is_enabled::<$domain>() {
            $crate::__private::mark::<$domain, $kind, _>(
                $name, $a, $b, concat!($($key, "\0"),*), ($($value,)*))
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mark_dynamic {
    ($domain:ty, $kind:literal, $name:expr, $($key:literal => $value:expr),*) => {
        if $crate::is_enabled::<$domain>() {
            $crate::__private::mark_dynamic::<$domain, $kind, _>(
                $name, 0, concat!($($key, "\0"),*), ($($value,)*))
        }
    };
}

/// Opens a slice on the calling thread: `begin!("name", "key" => value, ...)`.
#[macro_export]
macro_rules! begin {
    (in $domain:ty, $name:literal $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark!($domain, 1, concat!($name, "\0"), 0, 0, $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::begin!(in $crate::DEFAULT, $name $($more)*) };
}

/// Closes the innermost slice that [`begin!`] opened in the same domain: `end!("key" => value, ...)`.
#[macro_export]
macro_rules! end {
    (in $domain:ty $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark!($domain, 2, "", 0, 0, $($key => $value),*)
    };
    ($($key:literal => $value:expr),* $(,)?) => {
        $crate::end!(in $crate::DEFAULT $(, $key => $value)*)
    };
}

/// A slice from here to the end of the block, however that is left: `scope!("name", "key" => value, ...)`.
///
/// It knows its own beginning: it cannot be closed by [`end!`], nor close what another mark opened.
#[macro_export]
macro_rules! scope {
    (in $domain:ty, $name:literal $(, $key:literal => $value:expr)* $(,)?) => {
        let byte = $crate::__private::Byte::uninit();
        let _scope: $crate::__private::Scope<'_, $domain> = if $crate::is_enabled::<$domain>() {
            $crate::__private::Scope::begin(
                &byte, concat!($name, "\0"), concat!($($key, "\0"),*), ($($value,)*))
        } else {
            $crate::__private::Scope::off()
        };
    };
    ($name:literal $($more:tt)*) => { $crate::scope!(in $crate::DEFAULT, $name $($more)*); };
}

/// A [`scope!`] whose name the program makes while it runs: any `&str`, of which 128 bytes are kept.
#[macro_export]
macro_rules! scope_dyn {
    (in $domain:ty, $name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        let byte = $crate::__private::Byte::uninit();
        let _scope: $crate::__private::Scope<'_, $domain> = if $crate::is_enabled::<$domain>() {
            $crate::__private::Scope::begin_dynamic(
                &byte, $name, concat!($($key, "\0"),*), ($($value,)*))
        } else {
            $crate::__private::Scope::off()
        };
    };
    ($name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::scope_dyn!(in $crate::DEFAULT, $name $(, $key => $value)*);
    };
}

/// A [`scope!`] named after the enclosing function, with its path: `function!("key" => value, ...)`.
#[macro_export]
macro_rules! function {
    (in $domain:ty $(, $key:literal => $value:expr)* $(,)?) => {
        fn inner() {}
        $crate::scope_dyn!(
            in $domain, $crate::__private::function_name(inner) $(, $key => $value)*);
    };
    ($($key:literal => $value:expr),* $(,)?) => {
        $crate::function!(in $crate::DEFAULT $(, $key => $value)*);
    };
}

/// A [`begin!`] whose name the program makes while it runs.
#[macro_export]
macro_rules! begin_dyn {
    (in $domain:ty, $name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark_dynamic!($domain, 1, $name, $($key => $value),*)
    };
    ($name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::begin_dyn!(in $crate::DEFAULT, $name $(, $key => $value)*)
    };
}

/// A moment on the calling thread's track: `instant!("name", "key" => value, ...)`.
#[macro_export]
macro_rules! instant {
    (in $domain:ty, $name:literal $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark!($domain, 3, concat!($name, "\0"), 0, 0, $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::instant!(in $crate::DEFAULT, $name $($more)*) };
}

/// An [`instant!`] whose name the program makes while it runs.
#[macro_export]
macro_rules! instant_dyn {
    (in $domain:ty, $name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark_dynamic!($domain, 3, $name, $($key => $value),*)
    };
    ($name:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::instant_dyn!(in $crate::DEFAULT, $name $(, $key => $value)*)
    };
}

/// The value that something has from now on, kept exactly: `counter!("name", value)`.
#[macro_export]
macro_rules! counter {
    (in $domain:ty, $name:literal, $value:expr $(,)?) => {
        if $crate::is_enabled::<$domain>() {
            $crate::__private::count::<$domain, _>(concat!($name, "\0"), $value)
        }
    };
    ($name:literal, $value:expr $(,)?) => { $crate::counter!(in $crate::DEFAULT, $name, $value) };
}

/// Up to six series of one counter at one moment: `counters!("name", "key" => value, ...)`.
#[macro_export]
macro_rules! counters {
    (in $domain:ty, $name:literal $(, $key:literal => $value:expr)+ $(,)?) => {
        $crate::__mark!($domain, 4, concat!($name, "\0"), 0, 0,
            $($key => $crate::__private::only_number($value)),*)
    };
    ($name:literal $($more:tt)*) => { $crate::counters!(in $crate::DEFAULT, $name $($more)*) };
}

/// Begins a slice that may end on another thread, and overlap others: `async_begin!("name", id, ...)`.
///
/// The one that [`async_end!`](crate::async_end) ends with equal name and `id`, any integer, belongs to it.
#[macro_export]
macro_rules! async_begin {
    (in $domain:ty, $name:literal, $id:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark!($domain, 5, concat!($name, "\0"), $crate::__private::id($id), 0,
            $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::async_begin!(in $crate::DEFAULT, $name $($more)*) };
}

/// Ends the slice that [`async_begin!`] began: `async_end!("name", id, "key" => value, ...)`.
#[macro_export]
macro_rules! async_end {
    (in $domain:ty, $name:literal, $id:expr $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark!($domain, 6, concat!($name, "\0"), $crate::__private::id($id), 0,
            $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::async_end!(in $crate::DEFAULT, $name $($more)*) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mark_given {
    ($domain:ty, $object:literal, $name:literal, $begin:expr, $end:expr, $track:expr,
        $($key:literal => $value:expr),*) => {
        if $crate::is_enabled::<$domain>() {
            $crate::__private::mark_given::<$domain, _>(
                $object, concat!($name, "\0"), $crate::__private::id($begin),
                concat!("\0\0", $($key, "\0"),*),
                ($track, $crate::__private::id($end), $($value,)*))
        }
    };
}

/// A slice that is over, at times that the program gives: `slice_at!("name", begin, end, "track", ...)`.
///
/// Times are integers, in nanoseconds of `CLOCK_MONOTONIC`. Slices may come in any order and overlap. The
/// track is any `&str`: `"GPU 0/stream 7"` is a track within a track, and with `""` the slice is on a track of
/// its own name. These marks take up to four pairs; `"flow" => id` ends the arrow of [`flow_out!`].
#[macro_export]
macro_rules! slice_at {
    (in $domain:ty, $name:literal, $begin:expr, $end:expr, $track:expr
        $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark_given!($domain, 7, $name, $begin, $end, $track, $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::slice_at!(in $crate::DEFAULT, $name $($more)*) };
}

/// A moment at a time that the program gives: `instant_at!("name", time, "track", ...)`, as [`slice_at!`].
#[macro_export]
macro_rules! instant_at {
    (in $domain:ty, $name:literal, $time:expr, $track:expr
        $(, $key:literal => $value:expr)* $(,)?) => {
        $crate::__mark_given!($domain, 8, $name, $time, 0_u64, $track, $($key => $value),*)
    };
    ($name:literal $($more:tt)*) => { $crate::instant_at!(in $crate::DEFAULT, $name $($more)*) };
}

/// The beginning of an arrow, from the slice in which this stands: `flow_out!(id)`, any integer.
#[macro_export]
macro_rules! flow_out {
    (in $domain:ty, $id:expr) => { $crate::__mark!($domain, 7, "", $crate::__private::id($id), 0,) };
    ($id:expr) => { $crate::flow_out!(in $crate::DEFAULT, $id) };
}

/// The end of an arrow, in another thread's or process's slice: `flow_in!(id)`.
#[macro_export]
macro_rules! flow_in {
    (in $domain:ty, $id:expr) => { $crate::__mark!($domain, 8, "", $crate::__private::id($id), 0,) };
    ($id:expr) => { $crate::flow_in!(in $crate::DEFAULT, $id) };
}

/// So many bytes at this pointer were taken from the pool of that name: `alloc!("pool", pointer, size)`.
#[macro_export]
macro_rules! alloc {
    (in $domain:ty, $pool:literal, $pointer:expr, $size:expr $(,)?) => {
        $crate::__mark!($domain, 9, concat!($pool, "\0"), $crate::__private::address($pointer),
            $crate::__private::id($size),)
    };
    ($pool:literal $($more:tt)*) => { $crate::alloc!(in $crate::DEFAULT, $pool $($more)*) };
}

/// What [`alloc!`] took at this pointer was given back: `free!("pool", pointer)`. Mark it before.
#[macro_export]
macro_rules! free {
    (in $domain:ty, $pool:literal, $pointer:expr $(,)?) => {
        $crate::__mark!($domain, 10, concat!($pool, "\0"), $crate::__private::address($pointer), 0,)
    };
    ($pool:literal $($more:tt)*) => { $crate::free!(in $crate::DEFAULT, $pool $($more)*) };
}
