// SPDX-License-Identifier: BSD-2-Clause
//! rust_marks THREADS ROUNDS [wait] [LIBRARY]
//!
//! Threads that make rounds; in each round every kind of mark, every type of value, two domains and nested
//! slices. For each mark it prints the line that tests/tools/canon prints of it, without the time and without
//! epoch and batch, after "expect"; for each thread "thread TID NAME"; and at the end "count KIND N" for each
//! kind and "total N".
//!
//! With "wait" it prints "ready PID" first and begins when a line arrives on standard input, and ends when
//! another one does. From LIBRARY it calls library_marks(), which makes 300 marks, 10 times, and unloads it each
//! time: "library N" are the marks.

use std::collections::BTreeMap;
use std::ffi::{c_void, CString};
use std::fmt::Write;
use std::io::BufRead;
use std::os::raw::{c_char, c_int};
use std::thread;

mod inner {
    pub mod deep {
        proftrace::domain!(
            /// The other domain; its name has a dot, and its path in the program is none of the name's.
            pub NET,
            "net.rpc"
        );
    }
}
use inner::deep::NET as Network;

extern "C" {
    fn gettid() -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
}

#[derive(Default)]
struct Worker {
    tid: i32,
    number: u32,
    output: String,
    counts: BTreeMap<&'static str, u64>,
}

impl Worker {
    fn new(number: u32) -> Self {
        // SAFETY: a function without arguments that always succeeds.
        Worker { tid: unsafe { gettid() }, number, ..Worker::default() }
    }

    fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    /// A mark of the thread.
    fn expect(&mut self, kind: &'static str, line: &str) {
        writeln!(self.output, "expect {} {} {}", self.tid, kind.to_uppercase(), line).unwrap();
        self.count(kind);
    }

    /// A mark of the process: a counter or an asynchronous slice.
    fn expect_apart(&mut self, kind: &'static str, line: &str) {
        writeln!(self.output, "expect - {} {}", kind.to_uppercase(), line).unwrap();
        self.count(kind);
    }
}

fn values(w: &mut Worker) {
    let long = "x".repeat(300);
    let owned = String::from("grüße, 日本");

    proftrace::instant!("signed", "i8" => -1_i8, "i16" => -300_i16, "i32" => -70000, "i64" => i64::MIN,
        "isize" => -5_isize);
    w.expect(
        "instant",
        "signed default i8=n:-1 i16=n:-300 i32=n:-70000 i64=n:-9223372036854775808 isize=n:-5",
    );
    proftrace::instant!("unsigned", "u8" => 255_u8, "u16" => u16::MAX, "u32" => u32::MAX, "u64" => u64::MAX,
        "usize" => 300_usize, "sixth" => 6_u8);
    w.expect(
        "instant",
        "unsigned default u8=n:255 u16=n:65535 u32=n:4294967295 u64=s:\"18446744073709551615\" usize=n:300 sixth=n:6",
    );
    proftrace::instant!("real", "f64" => 0.5, "f32" => 0.25_f32, "true" => true, "false" => false);
    w.expect("instant", "real default f64=d:0.5 f32=d:0.25 true=b:true false=b:false");
    proftrace::instant!("strings", "str" => "plain", "owned" => owned.as_str(), "empty" => "",
        "none" => None::<&str>, "long" => long.as_str(), "nul" => "before\0after");
    w.expect(
        "instant",
        &format!(
            "strings default str=s:\"plain\" owned=s:\"grüße, 日本\" empty=s:\"\" none=s:\"(null)\" \
             long=s:\"{}…\" nul=s:\"before\"",
            "x".repeat(256)
        ),
    );
    let here: *const Worker = w;
    proftrace::instant!("pointers", "null" => std::ptr::null::<u8>(), "here" => here);
    w.expect("instant", &format!("pointers default null=s:\"0x0\" here=s:\"{:?}\"", here));
    proftrace::instant_dyn!(&format!("number {}", w.number), "one" => 1);
    w.expect("instant", &format!("number {} default one=n:1", w.number));
}

fn factorial(w: &mut Worker, n: u64) -> u64 {
    proftrace::function!("n" => n);
    w.expect("begin", &format!("rust_marks::factorial default n=n:{}", n));
    let result = if n < 2 { 1 } else { n * factorial(w, n - 1) };
    w.expect("end", "- -");
    result
}

fn counters(w: &mut Worker, i: u64) {
    proftrace::counter!("round", i);
    w.expect_apart("counter", &format!("round n:{}", i));
    proftrace::counter!(in Network, "signed", -(i as i64) - 1);
    w.expect_apart("counter", &format!("signed n:-{}", i + 1));
    proftrace::counter!("half", 0.5 + i as f64);
    w.expect_apart("counter", &format!("half d:{}.5", i));
    proftrace::counters!("load", "user" => i, "system" => 0.25, "idle" => -1);
    w.expect_apart("counter", &format!("load user n:{}", i));
    writeln!(w.output, "expect - COUNTER load system d:0.25\nexpect - COUNTER load idle n:-1").unwrap();
}

fn network(w: &mut Worker, id: u64) {
    proftrace::begin!(in Network, "request", "id" => id, "host" => "localhost");
    w.expect("begin", &format!("request net.rpc id=n:{} host=s:\"localhost\"", id));
    proftrace::flow_out!(in Network, id);
    w.expect("flow_out", &format!("id={:#x}", id));
    {
        proftrace::scope!(in Network, "encode", "fields" => 3);
        w.expect("begin", "encode net.rpc fields=n:3");
        proftrace::instant!("in the other domain");
        w.expect("instant", "in the other domain default");
        w.expect("end", "- -");
    }
    proftrace::end!(in Network, "status" => 200);
    w.expect("end", "- - status=n:200");
    proftrace::scope_dyn!(in Network, &format!("reply {}", w.number), "a" => 1, "b" => 2, "c" => 3);
    w.expect("begin", &format!("reply {} net.rpc a=n:1 b=n:2 c=n:3", w.number));
    proftrace::flow_in!(in Network, id);
    w.expect("flow_in", &format!("id={:#x}", id));
    proftrace::async_begin!(in Network, "connection", id, "port" => 80);
    w.expect_apart("async_begin", &format!("connection net.rpc id={:#x} port=n:80", id));
    proftrace::async_end!(in Network, "connection", id);
    w.expect_apart("async_end", &format!("connection net.rpc id={:#x}", id));
    w.expect("end", "- -");
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };

    // SAFETY: the time is ours, and as the function wants it. 1 is CLOCK_MONOTONIC.
    unsafe { clock_gettime(1, &mut time) };
    (time.seconds * 1_000_000_000 + time.nanoseconds) as u64
}

fn times(w: &mut Worker) {
    let begin = now();

    proftrace::slice_at!("given", begin, begin + 100, "GPU-0/stream-7", "a" => 1, "b" => "text", "c" => true,
        "flow" => 77_u64);
    w.expect_apart(
        "slice_at",
        &format!("given default until={} on=\"GPU-0/stream-7\" a=n:1 b=s:\"text\" c=b:true flow=n:77", begin + 100),
    );
    proftrace::slice_at!(in Network, "alone", begin, begin, "");
    w.expect_apart("slice_at", &format!("alone net.rpc until={} on=\"\"", begin));
    proftrace::instant_at!("at", begin, "GPU-0");
    w.expect_apart("instant_at", &format!("at default until={} on=\"GPU-0\"", begin));
}

fn memory(w: &mut Worker) {
    let block = Box::new([0_u8; 64]);

    proftrace::alloc!("blocks", &*block, 64_usize);
    w.count("alloc");
    proftrace::free!("blocks", &*block);
    w.count("free");
}

fn panics(w: &mut Worker) {
    let unwound = std::panic::catch_unwind(|| {
        proftrace::scope!("panics");
        std::panic::resume_unwind(Box::new(0));
    });
    assert!(unwound.is_err());
    w.expect("begin", "panics default");
    w.expect("end", "- -");
}

fn round(w: &mut Worker, i: u64) {
    let id = u64::from(w.number) << 32 | i;

    proftrace::step(w.number, i);
    w.count("step");
    proftrace::begin!("round", "number" => i, "thread" => w.number);
    w.expect("begin", &format!("round default number=n:{} thread=n:{}", i, w.number));
    values(w);
    counters(w, i);
    factorial(w, 3);
    network(w, id);
    memory(w);
    times(w);
    if cfg!(panic = "unwind") {
        panics(w);
    }
    proftrace::end!("done" => true);
    w.expect("end", "- - done=b:true");
}

fn work(number: u32, rounds: u64) -> Worker {
    let mut w = Worker::new(number);

    if number % 2 == 1 {
        proftrace::thread_name(&format!("worker {}", number));
        w.count("thread_name");
    }
    writeln!(w.output, "thread {} worker {}", w.tid, number).unwrap();
    (0..rounds).for_each(|i| round(&mut w, i));
    w
}

fn use_library(path: &str) -> u64 {
    let path = CString::new(path).unwrap();

    // SAFETY: the path and the name are C strings; library_marks has this type, and is not called after its
    // library is gone.
    (0..10)
        .map(|_| unsafe {
            let library = dlopen(path.as_ptr(), 2);
            assert!(!library.is_null(), "cannot open {:?}", path);
            let symbol = dlsym(library, "library_marks\0".as_ptr().cast());
            let library_marks: extern "C" fn(u64) -> u64 = std::mem::transmute(symbol);
            let marks = library_marks(100);
            assert_eq!(dlclose(library), 0);
            marks
        })
        .sum()
}

fn main() {
    let mut words = std::env::args().skip(1);
    let threads: u32 = words.next().map_or(1, |n| n.parse().expect("THREADS is a number"));
    let rounds: u64 = words.next().map_or(1, |n| n.parse().expect("ROUNDS is a number"));
    let mut words = words.peekable();

    let wait = words.next_if(|word| word == "wait").is_some();
    if wait {
        println!("ready {}", std::process::id());
        std::io::stdin().lock().lines().next();
    }
    // Threads with even numbers have their names from the standard library.
    let running: Vec<_> = (1..=threads)
        .map(|number| {
            thread::Builder::new()
                .name(format!("worker {}", number))
                .spawn(move || work(number, rounds))
                .unwrap()
        })
        .collect();
    let mut counts = BTreeMap::new();
    for worker in running {
        let worker = worker.join().unwrap();
        print!("{}", worker.output);
        for (kind, count) in worker.counts {
            println!("thread_count {} {} {}", worker.tid, kind, count);
            *counts.entry(kind).or_default() += count;
        }
    }
    for (kind, count) in &counts {
        println!("count {} {}", kind, count);
    }
    println!("total {}", counts.values().sum::<u64>());
    if let Some(library) = words.next() {
        println!("library {}", use_library(&library));
    }
    if wait {
        std::io::stdin().lock().lines().next();
    }
}
