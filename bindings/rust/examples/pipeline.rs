// SPDX-License-Identifier: BSD-2-Clause
//! pipeline [ITEMS]
//!
//! A thread makes numbers and another one looks for their prime factors, with a queue between them.
//! Record it:
//!
//!     cargo build --release --example pipeline
//!     sudo proftrace -o pipeline -- target/release/examples/pipeline

use std::sync::mpsc::{sync_channel, Receiver};
use std::thread;

proftrace::domain!(QUEUE, "queue");
proftrace::domain!(MATH, "math");

fn factors(mut number: u64) -> usize {
    proftrace::function!(in MATH, "number" => number);
    let mut found = 0;
    let mut divisor = 2;

    while divisor * divisor <= number {
        if number % divisor == 0 {
            number /= divisor;
            found += 1;
        } else {
            divisor += 1;
        }
    }
    found + 1
}

fn consume(queue: Receiver<u64>) -> usize {
    let mut total = 0;

    for number in queue {
        proftrace::scope!("consume");
        proftrace::flow_in!(in QUEUE, number);
        let found = factors(number);
        if found == 1 {
            proftrace::instant!(in MATH, "prime", "number" => number, "even" => number % 2 == 0);
        }
        proftrace::async_end!(in QUEUE, "in flight", number);
        total += found;
        proftrace::counter!(in MATH, "factors", total);
    }
    total
}

fn main() {
    let items: u64 = std::env::args().nth(1).map_or(1000, |n| n.parse().expect("ITEMS is a number"));
    let (sender, receiver) = sync_channel(16);
    let consumer = thread::Builder::new()
        .name("consumer".into())
        .spawn(move || consume(receiver))
        .expect("cannot start a thread");

    proftrace::thread_name("producer");
    for i in 0..items {
        let number = 1_000_000_000 + i * 7919;

        proftrace::begin!(in QUEUE, "send", "number" => number, "half" => number as f64 / 2.0);
        proftrace::async_begin!(in QUEUE, "in flight", number);
        proftrace::flow_out!(in QUEUE, number);
        sender.send(number).expect("the consumer is there");
        proftrace::end!(in QUEUE, "by" => "channel");
    }
    drop(sender);
    println!("factors {}", consumer.join().expect("the consumer ended"));
}
