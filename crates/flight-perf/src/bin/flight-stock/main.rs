//! `flight-stock`: Flight as arrow-flight and tonic give it, with nothing changed.
//!
//! The reference of flight-perf: `FlightDataEncoderBuilder` and `FlightRecordBatchStream` over
//! tonic's server and channel, all defaults, Nagle's algorithm off, with the allocator and the
//! profile of our own programs. Beside it stand the raw rungs: the same bytes over a TCP or TLS
//! socket without any Flight. TLS is done by tokio-rustls around tonic's
//! `serve_with_incoming` and `connect_with_connector`, which is what tonic's own TLS feature does:
//! that feature is left off because one build of the workspace would turn it on in our programs.

mod client;
mod connect;
mod raw;
mod serve;
mod service;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use flight_perf::sets::SetName;

/// As in our own programs, so that the allocator is no difference.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The reference of flight-perf: arrow-flight over tonic with all defaults.
#[derive(Debug, Parser)]
#[command(name = "flight-stock", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the working sets, and the files of a folder, until stdin closes.
    Serve(ServeArgs),
    /// Reads with DoGet (grpc://, grpc+tls://) or from a raw socket (tcp://, tls://).
    Get(GetArgs),
    /// Uploads a working set with DoPut or to a raw socket.
    Put(PutArgs),
    /// Calls GetFlightInfo again and again on one connection.
    Info(InfoArgs),
    /// Reads a Parquet file on one thread, without a server.
    Read(ReadArgs),
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// Working sets that are generated before the ready line.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["taxi", "small"])]
    sets: Vec<SetName>,
    /// Folder whose Feather and Parquet files are served, and to which uploads are stored.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Certificate chain (PEM): also listens with TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of --tls-cert.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Target {
    /// grpc://HOST:PORT, grpc+tls://…, or for the raw rungs tcp://… and tls://….
    url: String,
    /// Authority (PEM) that certified the server.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// How often the whole set is moved, one call each.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    passes: u64,
}

#[derive(Debug, Args)]
struct GetArgs {
    #[command(flatten)]
    target: Target,
    /// Dataset, as a PATH descriptor; for the raw rungs a working set.
    #[arg(long, value_name = "NAME", default_value = "taxi")]
    path: String,
    /// A command in place of --path.
    #[arg(long, value_name = "TEXT")]
    cmd: Option<String>,
    /// Streams at the same time, each on a connection of its own.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    streams: u64,
    /// Bytes of a message that is taken; tonic's default is 4 MiB.
    #[arg(long, value_name = "BYTES")]
    max_message_bytes: Option<usize>,
}

#[derive(Debug, Args)]
struct PutArgs {
    #[command(flatten)]
    target: Target,
    /// The working set that is generated and sent.
    #[arg(long, value_enum, default_value = "taxi")]
    set: SetName,
    /// Store it under this name with arrow's FileWriter; it is dropped otherwise.
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
}

#[derive(Debug, Args)]
struct InfoArgs {
    /// grpc://HOST:PORT or grpc+tls://….
    url: String,
    /// Authority (PEM) that certified the server.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Dataset, as a PATH descriptor.
    #[arg(long, value_name = "NAME", default_value = "taxi")]
    path: String,
    /// Calls that are in flight at the same time.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    callers: u64,
    /// How often each caller calls.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    passes: u64,
}

#[derive(Debug, Args)]
struct ReadArgs {
    /// A Parquet file.
    file: PathBuf,
    /// Rows of a batch.
    #[arg(long, value_name = "N", default_value = "8192", value_parser = clap::value_parser!(u64).range(1..=16_777_216))]
    batch_rows: u64,
    /// How often the whole file is read.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    passes: u64,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is gone, there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "flight-stock: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let tally = match command {
        Command::Serve(args) => return runtime.block_on(serve::serve(args)),
        Command::Get(args) => runtime.block_on(client::get(args))?,
        Command::Put(args) => runtime.block_on(client::put(args))?,
        Command::Info(args) => runtime.block_on(client::info(args))?,
        Command::Read(args) => client::read(&args)?,
    };
    print_line(&serde_json::to_string(&tally)?)
}

fn print_line(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("cannot write to stdout")
}
