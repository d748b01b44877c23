//! `ladder`: what each layer between memory and Flight costs, rung by rung.
//!
//! Every rung moves the same messages between two processes, one stream each, in interleaved
//! rounds. The Flight rungs read from a real flight-server; those below read from a second process
//! of this program (`serve`). This is the one place outside `flight-net` that opens sockets: a raw
//! socket is what the rungs are compared with.

mod climb;
mod messages;
mod meter;
mod rung;
mod serve;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, anyhow};
use flight_net::client::{ConnectOptions, Connector};
use flight_tls::ClientOptions;
use tempfile::TempDir;

use crate::cli::{Follow, Source};
use crate::config::{KeyKind, LadderConfig};
use crate::exit::{Exit, Stop};
use crate::limits;
use crate::load::Interrupt;
use crate::progress::{Counted, Progress, Row};
use crate::record::Live;
use crate::report::{Host, LadderResults, Outcome};
use crate::run::order_of;
use crate::target::{
    ChildServer, Control, Places, PlanOptions, TlsSide, make_certificates, make_sample, plan,
    server_program,
};
use climb::Site;
use messages::Messages;
use meter::Meter;
pub(crate) use meter::Sample;
pub(crate) use rung::Rung;
pub(crate) use serve::serve;

/// The dataset that both servers serve.
const SAMPLE: &str = "taxi";

/// Climbs the ladder; the results tell how it ended.
pub(crate) async fn run(config: &LadderConfig, interrupt: &Interrupt) -> LadderResults {
    let mut results = LadderResults {
        started: SystemTime::now(),
        host: Host::read(),
        server_version: None,
        server_args: config.server_args.clone(),
        sample_rows: config.sample_rows,
        message_bytes_max: config.message_bytes,
        messages: 0,
        pass_bytes: 0,
        warmup: config.warmup,
        duration: config.duration,
        rounds: config.rounds,
        rungs: Rung::ALL.map(|rung| (rung, Vec::new())).to_vec(),
        outcome: Outcome { exit: Exit::Failed, error: None, complete: false },
    };
    let progress = Progress::new(&config.output);
    let mut servers = Vec::new();
    // Removed once the servers that serve it have stopped.
    let mut folder = None;
    let ended = tokio::select! {
        ended = measure(config, &mut folder, &mut servers, &mut results, &progress) => ended,
        () = interrupt.wait() => Err(Stop::interrupted()),
    };
    progress.clear();
    let mut stops: Vec<Stop> = ended.err().into_iter().collect();
    for mut server in servers {
        // A server that died by itself is the reason of what failed because of it.
        let died = server.death().map(|death| Stop::failed(anyhow!(death)));
        stops.extend(match died {
            Some(death) => Some(death),
            None => server.stop().await.err().map(Stop::from),
        });
    }
    let reasons: Vec<String> = stops.iter().map(ToString::to_string).collect();
    results.outcome = Outcome {
        exit: stops.first().map_or(Exit::Done, |stop| stop.exit),
        error: (!reasons.is_empty()).then(|| reasons.join("; ")),
        complete: reasons.is_empty(),
    };
    results
}

async fn measure(
    config: &LadderConfig,
    folder: &mut Option<TempDir>,
    servers: &mut Vec<ChildServer>,
    results: &mut LadderResults,
    progress: &Progress,
) -> Result<(), Stop> {
    let made = tempfile::Builder::new().prefix("flight-bench-").tempdir();
    let folder = folder.insert(made.context("cannot make a temporary folder")?);
    let site = set_up(config, folder, servers, progress).await?;
    results.server_version = Some(servers[0].version().to_owned());
    results.messages = site.messages.len();
    results.pass_bytes = site.messages.iter().map(|message| message.len() as u64).sum();
    progress.expect(config.rounds * Rung::ALL.len());
    for round in 0..config.rounds {
        for index in order_of(round, Rung::ALL.len()) {
            let (rung, samples) = &mut results.rungs[index];
            let server = match rung {
                Rung::Memcpy => None,
                Rung::Tcp | Rung::Tls | Rung::Http2 | Rung::Grpc => Some(servers[1].pid()),
                Rung::Messages | Rung::Flight => Some(servers[0].pid()),
            };
            let sample = climb(config, &site, *rung, round, server, progress).await?;
            progress.repeat_done(&row_of(*rung), round, Some(sample.bytes_per_s()));
            samples.push(sample);
        }
    }
    Ok(())
}

/// A rung as the progress display shows it.
fn row_of(rung: Rung) -> Row {
    Row { name: rung.label().to_owned(), counted: Counted::Bytes }
}

async fn climb(
    config: &LadderConfig,
    site: &Site,
    rung: Rung,
    round: usize,
    server: Option<u32>,
    progress: &Progress,
) -> Result<Sample, Stop> {
    let live = Arc::<Live>::default();
    let mut meter = Meter::new(config.warmup, config.duration, server, &live);
    let limit = config.warmup + config.duration + limits::START_TIMEOUT;
    // Boxed: each rung's future holds the buffers of its connection.
    let climbing = tokio::time::timeout(limit, Box::pin(site.climb(rung, &mut meter)));
    let ended = progress.watch(&row_of(rung), std::slice::from_ref(&live), climbing).await;
    let failed = |why: String| Stop::failed(anyhow!("{}: {why}", rung.label()));
    match ended {
        Err(_) => return Err(failed(format!("not done within {limit:?}"))),
        Ok(climbed) => climbed.map_err(|error| failed(format!("{error:#}")))?,
    }
    meter.sample(round).ok_or_else(|| failed("the stream ended within its window".to_owned()))
}

/// Makes data and certificates and starts both servers: flight-server, then the ladder's own.
async fn set_up(
    config: &LadderConfig,
    folder: &TempDir,
    servers: &mut Vec<ChildServer>,
    progress: &Progress,
) -> Result<Site, Stop> {
    let program = server_program(config.program.as_deref())?;
    let inside = |name: &str| folder.path().join(name);
    progress.step(&format!("making a sample of {} rows", config.sample_rows));
    std::fs::create_dir(inside("data")).context("cannot make a folder for the sample")?;
    let file = inside("data").join(format!("{SAMPLE}.feather"));
    make_sample(&program, config.sample_rows, &file).await?;
    make_certificates(&program, &[KeyKind::Ec], &inside("certs")).await?;

    progress.step("starting flight-server");
    let words = ["--listen", "grpc://127.0.0.1:0", "--admin", "none", "--data"];
    let mut args: Vec<OsString> = words.map(OsString::from).to_vec();
    args.push(inside("data").into());
    args.extend(config.server_args.iter().cloned());
    servers.push(
        ChildServer::start_serving(
            &program,
            &args,
            inside("server.log"),
            limits::CHILD_READY_TIMEOUT,
        )
        .await?,
    );
    progress.step("starting the rungs below Flight");
    let bench = std::env::current_exe().context("this program cannot find itself")?;
    let cert = |end: &str| inside("certs").join(format!("server-ec.{end}")).into();
    let args: [OsString; 9] = [
        "ladder-serve".into(),
        "--data-file".into(),
        file.clone().into(),
        "--message-bytes".into(),
        config.message_bytes.to_string().into(),
        "--tls-cert".into(),
        cert("pem"),
        "--tls-key".into(),
        cert("key"),
    ];
    servers.push(
        ChildServer::start(&bench, &args, inside("ladder.log"), limits::CHILD_READY_TIMEOUT)
            .await?,
    );
    let [flight, below] = [&servers[0], &servers[1]].map(ChildServer::endpoints);
    let ([flight], [raw, secure, http2]) = (flight, below) else {
        return Err(Stop::failed(anyhow!("the started servers name other endpoints than asked")));
    };
    let ca = inside("certs").join("ca.pem");
    let (tls, _) = TlsSide::of_child(ca, "EC P-256", None, ClientOptions::default())?;
    let connector = |endpoint: &flight_net::Endpoint| {
        Connector::new(endpoint.clone(), None, ConnectOptions::default())
    };
    let flight = connector(flight);
    let mut control = Control::connect(&flight).await?;
    let source = Source::Path(vec![SAMPLE.to_owned()]);
    let message_bytes = Some(config.message_bytes as u64);
    let options = PlanOptions { message_bytes, streams: 1, ..PlanOptions::default() };
    let mut places = Places::new(flight.clone(), Follow::Never);
    let plan = plan(&mut control, &source, options, &mut places).await?;
    let tickets = plan.parts_of(0).iter().map(|part| part.ticket.clone()).collect();
    Ok(Site {
        messages: Messages::of_file(&file, config.message_bytes)?.whole(),
        raw: raw.clone(),
        secure: secure.clone(),
        tls,
        http2: connector(http2),
        flight,
        tickets,
    })
}
