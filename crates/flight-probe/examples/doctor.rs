//! Prints what was found about this host.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use flight_probe::doctor::{Options, findings};

fn main() {
    let options = Options { debug_build: cfg!(debug_assertions), ..Options::default() };
    for finding in findings(&options) {
        println!("{:?}\t{}\t{}", finding.level, finding.id, finding.what);
        if let Some(fix) = finding.fix {
            println!("\t\t{}; {fix}", finding.why);
        }
    }
}
