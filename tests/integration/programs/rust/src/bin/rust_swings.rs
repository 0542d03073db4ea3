// SPDX-License-Identifier: BSD-2-Clause
//! rust_swings CYCLES THREADS
//!
//! The bursts of marks of tests/integration/programs/swings.c, in Rust: each thread marks about 100,000 times a
//! second until its domain has gone over to buffered mode, and then ten times a second until it has come back to
//! exact mode. Each END says of which slice it is. Begins when a line arrives on standard input, and prints how many
//! marks of which kind were made, and the changes it has seen.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use proftrace::Domain;

proftrace::domain!(SWING, "swing");

const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Counts {
    number: u64,
    slices: u64,
    instants: u64,
    changes: u64,
}

/// Whether the domain is in this mode, and no longer in the other one.
fn is_in_mode(buffered: bool) -> bool {
    let word = SWING::semaphore();

    (word >> 16 != 0) == buffered && (word & 0xffff != 0) != buffered
}

fn number(c: &mut Counts) -> u64 {
    c.number += 1;
    c.number
}

fn mark_some(c: &mut Counts) {
    let outer = number(c);

    proftrace::begin!(in SWING, "outer", "number" => outer);
    {
        let inner = number(c);
        proftrace::scope!(in SWING, "inner", "number" => inner);
        proftrace::instant!(in SWING, "inside", "number" => inner);
    }
    proftrace::end!(in SWING, "of" => outer);
    c.slices += 2;
    c.instants += 1;
}

fn swing(first: u64, cycles: u64, together: &Barrier) -> Counts {
    let mut c = Counts { number: first << 32, ..Counts::default() };

    for _ in 0..cycles {
        let cycle = number(&mut c);
        let begun = Instant::now();

        proftrace::begin!(in SWING, "cycle", "number" => cycle);
        for round in 1.. {
            if round > 50 && (is_in_mode(true) || begun.elapsed() > PATIENCE) {
                break;
            }
            (0..20).for_each(|_| mark_some(&mut c));
            while begun.elapsed() < Duration::from_millis(round) {}
        }
        c.changes += u64::from(is_in_mode(true));
        // It would come back while another thread is still waiting for it to go.
        together.wait();
        let gone = Instant::now();
        while !is_in_mode(false) && gone.elapsed() < PATIENCE {
            mark_some(&mut c);
            thread::sleep(Duration::from_millis(100));
        }
        c.changes += u64::from(is_in_mode(false));
        together.wait();
        proftrace::end!(in SWING, "of" => cycle);
        c.slices += 1;
    }
    c
}

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let (cycles, threads) = (words[0], words[1]);
    let together = &Barrier::new(threads as usize);

    std::io::stdin().read_line(&mut String::new()).unwrap();
    let counts: Vec<Counts> = thread::scope(|scope| {
        let running: Vec<_> =
            (1..=threads).map(|n| scope.spawn(move || swing(n, cycles, together))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    let (slices, instants) = (sum(|c| c.slices), sum(|c| c.instants));
    println!("slices {}\ninstants {}\nturns 0\ntotal {}", slices, instants, 2 * slices + instants);
    println!("changes {}", sum(|c| c.changes) / threads);
}
