//! Prints what it costs to read each clock, and how far the best one drifts from the kernel's.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use std::time::{Duration, Instant};

use flight_probe::clock::Clock;

fn main() {
    for (name, clock) in [("Instant", Clock::standard()), ("best", Clock::best())] {
        let cost = clock.cost();
        println!(
            "{name:8} {:?} ({}): {:.1} ns a call, steps of {} ns",
            clock.kind(),
            clock.why(),
            cost.call_ns,
            cost.step_ns
        );
    }
    let clock = Clock::best();
    let (start, start_ns) = (Instant::now(), clock.now());
    std::thread::sleep(Duration::from_secs(2));
    let (standard, best) = (start.elapsed().as_nanos() as f64, (clock.now() - start_ns) as f64);
    println!("drift    {:+.1} parts in a million over 2 s", (best / standard - 1.0) * 1e6);
}
