// SPDX-License-Identifier: BSD-2-Clause
//! Buffered mode: a mark goes into a buffer of its thread, and the kernel is entered when that is full.
//!
//! Section 4 of include/proftrace.h describes the buffers, and its implementation is the model of this one:
//! both may run in one program, and share the buffers. What belongs to a buffer is changed by its own thread
//! alone, in single instructions, since a signal handler may come in between and mark as well.

use core::mem::size_of;
use core::ptr::null;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

use crate::emit::{IN_REGISTERS, NAME_DYNAMIC};
use crate::stub::{flush, flush_stub};
use crate::value::HAS_STRINGS;

const VERSION: u32 = 3;
const SIZE: usize = 32768;
const BUFFERS: usize = 128;
const HEAD: u32 = size_of::<Batch>() as u32;
/// In `used`: more than there is room for.
const CLOSED: u32 = 1 << 20;
/// Why a buffer is handed over.
const FULL: u64 = 0;
const NEW: u64 = 1;
const ALONE: u64 = 2;
const UNLOADED: u64 = 4;
/// Marks past a buffer that never gets complete.
const STUCK: u32 = 64;
const NAME_KEPT: usize = 128;
const STRING_KEPT: usize = 256;

const META_BITS: u64 = (1 << 51) - 1;
const META_NEAR_BITS: u64 = ((1 << 51) - (1 << 40)) | 0xffff;
const A_FOLLOWS: u64 = 1 << 52;
const KEYS_NEAR: u64 = 1 << 53;
const B_FOLLOWS: u64 = 1 << 54;
const NEAR: u64 = 0x80_0000;
const STRING_CUT: u64 = 1 << 63;
const STRING_NULL: u64 = 1 << 61;
const TOO_FAR: u64 = 0x8000_0000;

/// The six arguments of a stub. Section 4 of include/proftrace.h describes them.
struct Mark {
    name: *const u8,
    meta: u64,
    a: u64,
    b: u64,
    keys: *const u8,
    values: u64,
}

#[repr(C)]
struct Batch {
    reserved0: AtomicU32,
    version: AtomicU32,
    used: AtomicU32,
    size: AtomicU32,
    complete: AtomicU32,
    naming: AtomicU32, // C code looks for a name in it
    base: AtomicU64,
    events: AtomicU64,
    turn: AtomicU32,
    stuck: AtomicU32,
    owner: AtomicU64,
    flush: AtomicU64,
}

#[repr(C)]
struct Batches {
    owners: [AtomicU64; BUFFERS], // thread pointers
    pad: [AtomicU64; 4096 / 8 - BUFFERS],
    batches: [[AtomicU64; SIZE / 8]; BUFFERS],
}

fn batches() -> &'static Batches {
    let place = crate::__address!("prof_batches") as *const Batches;

    // SAFETY: the assembly in stub.rs defines it with this size, aligned, and zero, which is a value of
    // every atomic. Nobody but this module and its twin in C accesses it, and both do so by atomics.
    unsafe { &*place }
}

/// Where the thread keeps the address of its buffer.
fn own_batch() -> &'static AtomicUsize {
    let place: usize;

    // SAFETY: this computes the address of a thread-local variable, which stub.rs defines. The thread
    // exists as long as it runs this. The reference is used at once and never sent elsewhere.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "movq %fs:0, {0}", "addq prof_batch@gottpoff(%rip), {0}", out(reg) place,
            options(att_syntax, readonly, nostack));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "adrp {1}, :gottprel:prof_batch", "ldr {1}, [{1}, #:gottprel_lo12:prof_batch]",
            "mrs {0}, tpidr_el0", "add {0}, {0}, {1}", out(reg) place, out(reg) _,
            options(readonly, nostack));
        &*(place as *const AtomicUsize)
    }
}

fn thread_pointer() -> u64 {
    let pointer: u64;

    // SAFETY: reads the thread pointer, which the platform's ABI keeps there.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("movq %fs:0, {0}", out(reg) pointer,
            options(att_syntax, readonly, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("mrs {0}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// The time of the processor's counter.
#[inline(always)]
fn now() -> u64 {
    // SAFETY: reads a counter that the kernel lets everybody read (who has no buffer does not come here).
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    unsafe {
        let counter: u64;
        core::arch::asm!("isb", "mrs {0}, cntvct_el0", out(reg) counter, options(nostack));
        counter
    }
}

/// Adds to what only this thread and its signal handlers change: one instruction, without the lock prefix,
/// which takes five times as long.
#[inline(always)]
fn take(word: &AtomicU32, amount: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut amount = amount;
        // SAFETY: the word is valid for writes, and the compiler is told that memory changes.
        unsafe {
            core::arch::asm!("xaddl {0:e}, ({1})", inout(reg) amount, in(reg) word as *const AtomicU32,
                options(att_syntax, nostack));
        }
        amount
    }
    #[cfg(target_arch = "aarch64")]
    word.fetch_add(amount, Release)
}

fn hand_over(batch: *const Batch, why: u64) {
    flush(batch.cast(), why);
}

fn batch_at(address: usize) -> Option<&'static Batch> {
    // SAFETY: what own_batch() holds is 0 or the address of one of batches().
    (address != 0).then(|| unsafe { &*(address as *const Batch) })
}

/// Clears the first bytes of events.
fn clear(batch: &'static Batch, bytes: u32) {
    // SAFETY: the events follow the head, within the buffer, and only this thread uses them.
    unsafe {
        (batch as *const Batch as *mut u8).add(HEAD as usize).write_bytes(0, bytes as usize);
    }
}

/// Hands the buffer over and empties it; false: it could not. Where an event in it is not complete, we have
/// interrupted the one who writes it. If he does not come back for long, the handler left by longjmp: the
/// buffer is handed over as it is, and stays for the tracer to look at; another takes its place.
fn hand_over_and_empty(batch: &'static Batch) -> bool {
    // From here on nothing more finds room in it.
    let used = take(&batch.used, CLOSED);
    let complete = batch.complete.load(Relaxed);

    if (complete & 0xffff) * 8 + HEAD != used || batch.naming.load(Relaxed) != 0 {
        take(&batch.used, CLOSED.wrapping_neg());
        if take(&batch.stuck, 1) + 1 < STUCK {
            return false;
        }
        // Unless a signal handler did that.
        let place = batch as *const Batch as usize;
        if own_batch().compare_exchange(place, 0, Relaxed, Relaxed).is_ok() {
            hand_over(batch, FULL);
        }
        return true;
    }
    hand_over(batch, FULL);
    clear(batch, used - HEAD);
    batch.stuck.store(0, Relaxed);
    batch.complete.store(0, Release);
    batch.events.store(batch.events.load(Relaxed) + u64::from(complete >> 16), Release);
    batch.base.store(batch.base.load(Relaxed) + u64::from(used - HEAD), Release);
    batch.used.store(HEAD, Release);
    true
}

/// Makes it this thread's: it begins empty, behind what another thread may have left there. Handed over at
/// once: the tracer shall find it before it is full.
fn own(batch: &'static Batch, thread: u64) {
    let left = (batch.used.load(Relaxed) & (CLOSED - 1)).min(SIZE as u32);

    if left > HEAD {
        clear(batch, left - HEAD);
        batch.base.fetch_add(u64::from(left - HEAD), Relaxed);
        batch.events.fetch_add(u64::from(batch.complete.load(Relaxed) >> 16), Relaxed);
    }
    batch.flush.store(flush_stub() as u64, Relaxed);
    batch.version.store(VERSION, Relaxed);
    batch.size.store(SIZE as u32, Relaxed);
    batch.complete.store(0, Relaxed);
    batch.naming.store(0, Relaxed);
    batch.stuck.store(0, Relaxed);
    batch.owner.store(thread, Relaxed);
    batch.used.store(HEAD, Release);
    batch.turn.fetch_add(1, Release);
    hand_over(batch, NEW);
}

/// That of an earlier thread with our thread pointer, or one that is nobody's; None: all have owners. A
/// signal handler may come in between, and then gets another one.
fn find_batch() -> Option<&'static Batch> {
    let me = thread_pointer();
    let all = batches();

    for (owner, words) in all.owners.iter().zip(&all.batches) {
        let batch_address = words.as_ptr() as usize;
        let batch = batch_at(batch_address)?;

        match owner.load(Relaxed) {
            owned if owned == me => {}
            0 if owner.compare_exchange(0, me, AcqRel, Relaxed).is_ok() => {}
            _ => continue,
        }
        let turn = batch.turn.load(Acquire);
        // A signal handler has got it since we looked, and has marked in there.
        if own_batch().load(Acquire) == batch_address {
            return Some(batch);
        }
        if turn % 2 != 0
            || batch.stuck.load(Relaxed) >= STUCK
            || batch.turn.compare_exchange(turn, turn.wrapping_add(1), AcqRel, Relaxed).is_err()
        {
            continue;
        }
        own(batch, me);
        return Some(batch);
    }
    None
}

/// The thread's buffer, and space in it for so many bytes.
fn reserve(size: u32) -> Option<(&'static Batch, *mut u64)> {
    for _ in 0..3 {
        let batch = match batch_at(own_batch().load(Relaxed)) {
            Some(batch) => batch,
            None => {
                let found = find_batch()?;
                let place = found as *const Batch as usize;
                // A signal handler may have got one meanwhile, and marked in it: that one is it.
                match own_batch().compare_exchange(0, place, Relaxed, Relaxed) {
                    Ok(_) => found,
                    Err(other) => batch_at(other)?,
                }
            }
        };
        if let Some(to) = reserve_in(batch, size) {
            return Some((batch, to));
        }
        if !hand_over_and_empty(batch) {
            return None;
        }
    }
    None
}

#[inline(always)]
fn reserve_in(batch: &'static Batch, size: u32) -> Option<*mut u64> {
    let at = take(&batch.used, size);

    if at + size > batch.size.load(Relaxed) {
        take(&batch.used, size.wrapping_neg());
        return None;
    }
    Some((batch as *const Batch as usize + at as usize) as *mut u64)
}

/// The time goes last: an event without one is not complete.
#[inline(always)]
fn complete(batch: &Batch, to: *mut u64, words: u32) {
    // SAFETY: the first word of an event that this thread has reserved, aligned.
    unsafe { &*(to as *const AtomicU64) }.store(now(), Release);
    take(&batch.complete, 1 << 16 | words);
}

/// What puts a mark into the thread's buffer: the six arguments of a stub, and its address. Marks bring its address
/// along, because assembly at module level cannot name a function of Rust.
pub const PUT: extern "C" fn(*const u8, u64, u64, u64, *const u8, u64, usize) = put;

#[cold]
extern "C" fn put(name: *const u8, meta: u64, a: u64, b: u64, keys: *const u8, values: u64, stub: usize) {
    let mark = Mark { name, meta, a, b, keys, values };

    if put_simple(&mark, stub).is_none() {
        put_slowly(&mark, stub);
    }
}

/// Marks without strings and names that are made at run time, whose texts are not far away, and for which there is
/// space; None: this is no such mark. On x86-64 those with up to two values seldom come here: the assembly in stub.rs
/// does the same.
#[inline(always)]
fn put_simple(mark: &Mark, stub: usize) -> Option<()> {
    let base = if mark.name.is_null() { stub } else { mark.name as usize };
    let near = (mark.keys as u64).wrapping_sub(base as u64).wrapping_add(NEAR);
    let near_name = (base as u64).wrapping_sub(stub as u64).wrapping_add(1 << 30) < 1 << 31;
    let n = (mark.meta & 15).min(6) as u32;
    let batch = batch_at(own_batch().load(Relaxed))?;

    if mark.meta & (NAME_DYNAMIC | HAS_STRINGS) != 0 || !near_name || n != 0 && near >= 2 * NEAR {
        return None;
    }
    let in_registers = mark.meta & IN_REGISTERS != 0;
    let a = u32::from(mark.a != 0);
    let b = u32::from(mark.b != 0 && !in_registers);
    let keys = u32::from(n != 0 && !in_registers);
    let words = 3 + a + b + keys + n;
    let to = reserve_in(batch, words * 8)?;
    let head = if in_registers {
        mark.meta & META_NEAR_BITS | near << 16 | KEYS_NEAR
    } else {
        mark.meta & META_BITS
    };

    // SAFETY: so many words are reserved there, for this event alone, and emit.rs passes so many values.
    unsafe {
        to.add(1).write((stub as u64 & 0xffff_ffff) | (base as u64).wrapping_sub(stub as u64) << 32);
        to.add(2).write(
            head | u64::from(words) << 56
                | if a != 0 { A_FOLLOWS } else { 0 }
                | if b != 0 { B_FOLLOWS } else { 0 },
        );
        let mut to = to.add(3);
        let mut append = |word| {
            to.write(word);
            to = to.add(1);
        };
        if a != 0 {
            append(mark.a);
        }
        if b != 0 || in_registers {
            append(mark.b);
        }
        if n == 2 && in_registers {
            append(mark.values);
        }
        if keys != 0 {
            append(distance(mark.keys, stub));
            for i in 0..n as usize {
                append((mark.values as *const u64).add(i).read());
            }
        }
    }
    complete(batch, to, words);
    Some(())
}

/// What is kept of a C string: its bytes, and its length with the flags of an event.
struct Kept {
    text: *const u8,
    length: u64,
}

impl Kept {
    const NONE: Kept = Kept { text: null(), length: 0 };

    fn of(text: *const u8, limit: usize) -> Kept {
        let mut n = 0;

        if text.is_null() {
            return Kept { text, length: STRING_NULL };
        }
        // SAFETY: emit.rs passes strings that end in a NUL, which nothing here goes past.
        unsafe {
            while n < limit && *text.add(n) != 0 {
                n += 1;
            }
            let cut = n == limit && *text.add(n) != 0;
            Kept { text, length: n as u64 | if cut { STRING_CUT } else { 0 } }
        }
    }

    fn bytes(&self) -> usize {
        (self.length & 0xffff_ffff) as usize
    }
}

fn distance(text: *const u8, stub: usize) -> u64 {
    let distance = (text as u64).wrapping_sub(stub as u64);

    if text.is_null() {
        0
    } else if distance.wrapping_add(0x7fff_ffff) < 0xffff_ffff {
        distance & 0xffff_ffff
    } else {
        TOO_FAR
    }
}

/// A mark of any kind, measured.
struct Event<'a> {
    mark: &'a Mark,
    stub: usize,
    values: [u64; 6],
    n: usize,
    name: Kept,
    strings: [Kept; 6],
    words: usize,
}

impl<'a> Event<'a> {
    fn new(mark: &'a Mark, stub: usize) -> Self {
        let n = ((mark.meta & 15) as usize).min(6);
        let mut event =
            Event { mark, stub, values: [0; 6], n, name: Kept::NONE, strings: [Kept::NONE; 6], words: 3 };
        if event.in_registers() {
            event.values[0] = mark.b;
            event.values[1] = mark.values;
        } else if n != 0 {
            // SAFETY: emit.rs passes so many values there.
            event.values[..n]
                .copy_from_slice(unsafe { core::slice::from_raw_parts(mark.values as *const u64, n) });
        }
        if event.is_dynamic() {
            event.name = Kept::of(mark.name, NAME_KEPT);
        }
        let mut bytes = event.name.bytes();
        for i in 0..n {
            if mark.meta >> (8 + 4 * i) & 15 == 4 {
                event.strings[i] = Kept::of(event.values[i] as *const u8, STRING_KEPT);
                event.values[i] = event.strings[i].length;
                bytes += event.strings[i].bytes();
            }
        }
        event.words += usize::from(mark.a != 0)
            + usize::from(event.b() != 0)
            + usize::from(event.is_dynamic())
            + if n != 0 { 1 + n } else { 0 }
            + (bytes + 7) / 8;
        event
    }

    fn in_registers(&self) -> bool {
        self.mark.meta & IN_REGISTERS != 0
    }

    fn is_dynamic(&self) -> bool {
        self.mark.meta & NAME_DYNAMIC != 0
    }

    fn b(&self) -> u64 {
        if self.in_registers() {
            0
        } else {
            self.mark.b
        }
    }

    /// All but the time, whose place is the first word.
    ///
    /// # Safety
    /// There are `self.words` words at `to`, for this event alone.
    unsafe fn write(&self, to: *mut u64) {
        let Mark { a, meta, .. } = *self.mark;
        let b = self.b();
        let name = if self.is_dynamic() { 0 } else { distance(self.mark.name, self.stub) };
        let mut at = 3;
        let mut append = |word| {
            to.add(at).write(word);
            at += 1;
        };
        if a != 0 {
            append(a);
        }
        if b != 0 {
            append(b);
        }
        if self.is_dynamic() {
            append(self.name.length);
        }
        if self.n != 0 {
            append(distance(self.mark.keys, self.stub));
        }
        self.values[..self.n].iter().for_each(|value| append(*value));

        let mut bytes = to.add(at) as *mut u8;
        for kept in core::iter::once(&self.name).chain(&self.strings) {
            if kept.bytes() != 0 {
                core::ptr::copy_nonoverlapping(kept.text, bytes, kept.bytes());
                bytes = bytes.add(kept.bytes());
            }
        }
        to.add(1).write((self.stub as u64 & 0xffff_ffff) | name << 32);
        to.add(2).write(
            meta & META_BITS
                | (self.words as u64) << 56
                | if a != 0 { A_FOLLOWS } else { 0 }
                | if b != 0 { B_FOLLOWS } else { 0 },
        );
    }
}

#[inline(never)]
fn put_slowly(mark: &Mark, stub: usize) {
    let event = Event::new(mark, stub);

    match reserve(event.words as u32 * 8) {
        Some((batch, to)) => {
            // SAFETY: reserved for it.
            unsafe { event.write(to) };
            complete(batch, to, event.words as u32);
        }
        None => send_alone(&event),
    }
}

/// Past the buffer, at the price of entering the kernel: one event in a buffer of its own.
#[inline(never)]
fn send_alone(event: &Event) {
    #[repr(C)]
    struct Alone {
        head: Batch,
        words: [u64; 256],
    }
    let size = HEAD + event.words as u32 * 8;
    let mut alone = Alone {
        head: Batch {
            reserved0: 0.into(),
            version: VERSION.into(),
            used: size.into(),
            size: size.into(),
            complete: (1 << 16 | event.words as u32).into(),
            naming: 0.into(),
            base: 0.into(),
            events: 0.into(),
            turn: 0.into(),
            stuck: 0.into(),
            owner: 0.into(),
            flush: (flush_stub() as u64).into(),
        },
        words: [0; 256],
    };
    // SAFETY: an event has 255 words at most: 3, a, the name's length, and six values with their keys make
    // 12, a name 16, and each of six strings 32.
    unsafe { event.write(alone.words.as_mut_ptr()) };
    // Or else the kernel's: who has no buffer may not even be allowed to read the counter.
    if own_batch().load(Relaxed) != 0 {
        alone.words[0] = now();
    }
    hand_over(&alone.head, ALONE);
}

/// Whether this is linked to a program and not to a library: only programs have an entry point of that name.
fn is_program() -> bool {
    let start: usize;

    // SAFETY: reads an entry of the global offset table: the address of the symbol, or 0 where there is none.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(".weak _start", ".hidden _start", "movq _start@GOTPCREL(%rip), {0}", out(reg) start,
            options(att_syntax, pure, readonly, nostack, preserves_flags));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(".weak _start", ".hidden _start", "adrp {0}, :got:_start",
            "ldr {0}, [{0}, #:got_lo12:_start]", out(reg) start,
            options(pure, readonly, nostack, preserves_flags));
    }
    start != 0
}

/// A library is unloaded, and its buffers go with it: what is in there, whosever it is, is handed over as
/// long as it is there. Last of all its destructors, since these may mark. Programs hand over what their
/// threads have as these end. Nothing tells here whether someone records: the semaphore of the control site is on only where the
/// linker has kept one of its stubs, and to call the stub in vain costs nothing.
extern "C" fn unload() {
    if is_program() {
        return;
    }
    let all = batches();
    for (owner, words) in all.owners.iter().zip(&all.batches) {
        // They are taken in this order.
        if owner.load(Acquire) == 0 {
            return;
        }
        match batch_at(words.as_ptr() as usize) {
            Some(batch) if batch.used.load(Relaxed) & (CLOSED - 1) > HEAD => hand_over(batch, UNLOADED),
            _ => {}
        }
    }
}

#[used]
#[link_section = ".fini_array.00000"]
static UNLOAD: extern "C" fn() = unload;
