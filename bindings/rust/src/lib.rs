// SPDX-License-Identifier: BSD-2-Clause
//! Marks in a program that the tracer proftrace can see, and that cost next to nothing until then.
//!
//! ```
//! fn handle(request: &[u8]) -> usize {
//!     proftrace::function!("bytes" => request.len());
//!
//!     let fields = {
//!         proftrace::scope!("parse", "first" => request.first().copied().unwrap_or(0));
//!         request.split(|byte| *byte == b' ').count()
//!     };
//!     proftrace::counter!("fields", fields);
//!     fields
//! }
//! # assert_eq!(handle(b"a b"), 2);
//! ```
//!
//! ```text
//! # proftrace -o trace -- ./server      or, while it runs: proftrace -p PID
//! ```
//!
//! The crate has no dependencies, needs no C compiler, allocates nothing and works without `std`, on Linux
//! on x86-64 and arm64. Elsewhere, and with the feature `disable`, every mark compiles to nothing; its
//! arguments are still checked, and never evaluated.
//!
//! While nobody records, a mark is a load and a branch, and its arguments are not evaluated. While someone
//! does, they are evaluated once each, and the mark calls a tiny function at which the kernel notes the time.
//!
//! Names and keys are literals without a NUL. Values are integers of up to 64 bits, `bool`, `f32`, `f64`,
//! `&str`, `Option<&str>` and pointers, up to six of them ([`Value`]). The first 256 bytes of a string are
//! kept, up to a NUL.
//!
//! Every mark belongs to a domain, a group with a name and an on/off switch of its own: [`DEFAULT`], or the
//! one that [`domain!`] defines and that stands first, after `in`: `scope!(in NET, "send")`.
//!
//! Marks may stand anywhere, in signal handlers too. They allocate nothing, lock nothing and make no system
//! call ([`thread_name`] makes one).
#![no_std]
#![warn(missing_docs)]

mod emit;
mod macros;
#[cfg(all(
    not(feature = "disable"),
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod stub;
#[cfg(not(all(
    not(feature = "disable"),
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "disabled.rs"]
mod stub;
mod value;

use emit::Name;
use stub::Control;
pub use value::{Integer, Number, Value};

/// What the macros use.
#[doc(hidden)]
pub mod __private {
    pub use crate::emit::{address, count, function_name, mark, mark_dynamic, mark_given, Byte, Scope};
    pub use crate::stub::PUT;
    pub use crate::value::{id, only_number};
}

/// A group of marks with a name and an on/off switch of its own. [`domain!`] defines one.
///
/// # Safety
/// `call` calls a stub, as section 4 of include/proftrace.h describes it.
pub unsafe trait Domain {
    /// Not zero while someone records the domain.
    #[doc(hidden)]
    fn semaphore() -> u32;
    /// # Safety
    /// The arguments are those of the stub of this kind.
    #[doc(hidden)]
    unsafe fn call<const KIND: u16>(name: *const u8, meta: u64, a: u64, b: u64, keys: *const u8, values: u64);
}

domain! {
    /// The built-in domain, named "default".
    pub DEFAULT, "default"
}

/// Whether someone records the domain, to guard work that is only done for a mark's sake. Costs what a mark
/// costs that is off.
#[inline(always)]
#[must_use]
pub fn is_enabled<D: Domain>() -> bool {
    D::semaphore() != 0
}

/// Names the calling thread, and its track.
///
/// The kernel is told as well, recorded or not, so that a tracer which comes later knows it: it keeps the
/// first 15 bytes (`prctl`, `PR_SET_NAME`). Threads that `std` has named need no mark: the kernel knows.
#[inline]
pub fn thread_name(name: &str) {
    stub::set_kernel_name(Name::default().put(name));
    if is_enabled::<Control>() {
        emit::mark_dynamic::<Control, 32, ()>(name, 0, "", ());
    }
}

/// The program begins this batch of this epoch of its work; the numbers are used as they are.
///
/// Schedules count these, and events that follow on any thread of the process carry both as arguments.
#[inline(always)]
pub fn step(epoch: impl Integer, batch: impl Integer) {
    if is_enabled::<Control>() {
        emit::mark::<Control, 33, ()>("", epoch.number(), batch.number(), "", ());
    }
}

/// From the return of this on, no mark of any thread of the process is recorded, until [`resume`].
///
/// Slices that are open stay recorded to their end; those begun meanwhile end unrecorded.
#[inline(always)]
pub fn pause() {
    control::<34>();
}

/// Ends any number of [`pause`]s.
#[inline(always)]
pub fn resume() {
    control::<35>();
}

/// Has what was recorded so far written out soon, complete on disk, and goes on.
#[inline(always)]
pub fn dump() {
    control::<36>();
}

/// Ends the recording, or that of this process if it is recorded only because it matches. It does not wait for that.
#[inline(always)]
pub fn stop() {
    control::<37>();
}

#[inline(always)]
fn control<const KIND: u16>() {
    if is_enabled::<Control>() {
        emit::mark::<Control, KIND, ()>("", 0, 0, "", ());
    }
}

/// The recording shall contain this Chrome JSON trace, which some other profiler wrote: a complete file, of
/// at most 255 bytes of path. The file is read when the recording ends.
#[inline(always)]
pub fn include_chrome_json(path: &str) {
    if is_enabled::<Control>() {
        emit::mark::<Control, 38, (&str,)>("", 0, 0, "path\0", (path,));
    }
}
