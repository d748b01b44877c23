//! flight-server: a folder of Feather and Parquet datasets, served over Arrow Flight.
//!
//! This file is the command line's root; each subcommand is a module.

#![allow(unreachable_pub, reason = "what a module of a program shows, it shows to this file")]

mod certs;
mod keys;
mod sample;
mod serve;
mod service;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Serves a folder of Feather and Parquet datasets over Arrow Flight.
#[derive(Parser, Debug)]
#[command(name = "flight-server", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(Box<serve::Args>),
    Certs(Box<certs::Args>),
    Keys(keys::Args),
    Sample(sample::Args),
}

/// How the process ends: 0 done, 1 failed, 2 wrong use (clap's own code for a wrong flag).
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => match serve::Config::try_from(*args) {
            Ok(config) => serve::run(config).map(|()| ExitCode::SUCCESS),
            Err(wrong) => {
                report(&wrong.into());
                return ExitCode::from(WRONG_USE);
            }
        },
        Command::Certs(args) => certs::run(&args),
        Command::Keys(args) => keys::run(args).map(|()| ExitCode::SUCCESS),
        Command::Sample(args) => sample::run(&args).map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints an error and what caused it, in one line.
#[expect(clippy::print_stderr, reason = "the one place where an error ends the program")]
fn report(error: &anyhow::Error) {
    eprintln!("flight-server: {error:#}");
}
