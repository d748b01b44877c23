//! The raw rungs: the bodies of a working set over a socket, with no Flight and no HTTP/2.
//!
//! A client sends a [`Request`]. For a read the server answers with 16 bytes, the total
//! and the size of the largest batch, then the bodies; for a write the client sends the bodies and
//! the server answers with one byte when it has them all. Receivers read into a few recycled
//! buffers of a batch's size, so that both ends touch the memory that Flight would.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use flight_perf::sets::{SetName, WorkingSet};
use flight_perf::tally::{Stopwatch, Tally};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::connect::{self, Address};
use crate::{GetArgs, PutArgs};

/// The bodies of a set.
pub(crate) type RawSet = Vec<Bytes>;

/// Memory that receivers read into, at least two buffers of a batch.
const SINK_BYTES: usize = 1 << 20;
/// The largest batch and the largest transfer that a peer may announce.
const BATCH_BYTES_MAX: u64 = 1 << 30;
const TRANSFER_BYTES_MAX: u64 = 1 << 50;

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
struct Request {
    write: bool,
    set: SetName,
    /// Bytes that a write sends; passes that a read wants.
    amount: u64,
}

impl Request {
    const BYTES: usize = 10;

    fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = u8::from(self.write);
        bytes[1] = u8::from(self.set == SetName::Small);
        bytes[2..].copy_from_slice(&self.amount.to_le_bytes());
        bytes
    }

    fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let set = if bytes[1] == 0 { SetName::Taxi } else { SetName::Small };
        let amount = u64::from_le_bytes(bytes[2..].try_into().expect("eight bytes are left"));
        Self { write: bytes[0] != 0, set, amount }
    }
}

/// Answers raw clients until the process ends.
pub(crate) async fn accept(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    sets: Arc<BTreeMap<SetName, RawSet>>,
) {
    while let Ok((socket, _)) = listener.accept().await {
        let (tls, sets) = (tls.clone(), Arc::clone(&sets));
        tokio::spawn(async move {
            socket.set_nodelay(true)?;
            match tls {
                None => answer(socket, &sets).await,
                Some(tls) => answer(TlsAcceptor::from(tls).accept(socket).await?, &sets).await,
            }
        });
    }
}

async fn answer<S>(mut stream: S, sets: &BTreeMap<SetName, RawSet>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut request = [0; Request::BYTES];
    stream.read_exact(&mut request).await?;
    let request = Request::decode(request);
    let missing = || io::Error::new(io::ErrorKind::NotFound, "the set is not served");
    let bodies = sets.get(&request.set).ok_or_else(missing)?;
    if request.write {
        drain(&mut stream, request.amount.min(TRANSFER_BYTES_MAX), largest(bodies)).await?;
        stream.write_all(&[1]).await?;
        return stream.flush().await;
    }
    let total = total(bodies).saturating_mul(request.amount);
    stream.write_all(&[total.to_le_bytes(), largest(bodies).to_le_bytes()].concat()).await?;
    send(&mut stream, bodies, request.amount).await
}

/// `tcp://` and `tls://` reads.
pub(crate) async fn get(args: &GetArgs) -> Result<Tally> {
    let set = SetName::parse(&args.path).with_context(|| {
        format!("--path {}: a raw rung serves the sets taxi and small", args.path)
    })?;
    let address = Address::parse(&args.target.url)?;
    let mut stream = connect::open(&address, args.target.tls_ca.as_deref()).await?;
    let watch = Stopwatch::start();
    let request = Request { write: false, set, amount: args.target.passes };
    stream.write_all(&request.encode()).await?;
    stream.flush().await?;
    let (total, largest) = (stream.read_u64_le().await?, stream.read_u64_le().await?);
    if total > TRANSFER_BYTES_MAX || !(1..=BATCH_BYTES_MAX).contains(&largest) {
        bail!("the server announces {total} bytes in batches of {largest}: it is no raw rung");
    }
    drain(&mut stream, total, largest).await?;
    Ok(watch.stop(Tally { calls: 1, bytes: total, ..Tally::default() }))
}

/// `tcp://` and `tls://` writes.
pub(crate) async fn put(args: &PutArgs) -> Result<Tally> {
    if args.store.is_some() {
        bail!("--store: a raw rung stores nothing; give a grpc:// URL, or leave it out");
    }
    let bodies = WorkingSet::generate(args.set).bodies()?;
    let address = Address::parse(&args.target.url)?;
    let mut stream = connect::open(&address, args.target.tls_ca.as_deref()).await?;
    let watch = Stopwatch::start();
    let bytes = total(&bodies) * args.target.passes;
    stream.write_all(&Request { write: true, set: args.set, amount: bytes }.encode()).await?;
    send(&mut stream, &bodies, args.target.passes).await?;
    stream.read_u8().await.context("the server has not confirmed the upload")?;
    Ok(watch.stop(Tally { calls: 1, bytes, ..Tally::default() }))
}

async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    bodies: &RawSet,
    passes: u64,
) -> io::Result<()> {
    for _ in 0..passes {
        for body in bodies {
            stream.write_all(body).await?;
        }
    }
    stream.flush().await
}

async fn drain(
    stream: &mut (impl AsyncRead + Unpin),
    total: u64,
    batch_bytes: u64,
) -> io::Result<()> {
    let batch_bytes = usize::try_from(batch_bytes).expect("a batch fits memory");
    let buffers = (SINK_BYTES / batch_bytes).max(2);
    let mut sink = vec![vec![0; batch_bytes]; buffers];
    let mut left = total;
    let mut turn = 0;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(batch_bytes);
        stream.read_exact(&mut sink[turn % buffers][..wanted]).await?;
        left -= wanted as u64;
        turn += 1;
    }
    Ok(())
}

fn total(bodies: &RawSet) -> u64 {
    bodies.iter().map(|body| body.len() as u64).sum()
}

fn largest(bodies: &RawSet) -> u64 {
    bodies.iter().map(|body| body.len() as u64).max().unwrap_or(1).max(1)
}
