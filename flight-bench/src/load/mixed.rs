//! A mix of operations: each stream draws the next one by weight, does it to its end, and goes on.
//!
//! What an operation moves is credited as in a run of its kind alone, as it arrives or is
//! acknowledged; the operation itself counts when it has ended well.

use super::stream::Stream;
use super::{MixedJob, OperationJob, clock, exchange, get, put, unary};
use crate::config::Extent;
use crate::record::{Failure, Operation};
use crate::workload::Draw;

/// Operates until the run is over or the stream has done the operations that it had to.
pub(super) async fn run(stream: &Stream, job: &MixedJob, extent: Extent) {
    let by_window = matches!(extent, Extent::Window { .. });
    if by_window {
        // Rare kinds would connect within the window. What fails is told by what needs it.
        let _ = connect(stream, job).await;
    } else {
        stream.wait_once(async || connect(stream, job).await).await;
    }
    let mut left = match extent {
        Extent::Window { .. } => u64::MAX,
        Extent::Batches(operations) | Extent::Passes(operations) => operations,
    };
    let weights = job.parts.iter().map(|(weight, _)| *weight);
    // Streams that draw alike would all do the same at once.
    let mut draw = Draw::new(weights, job.seed.get().wrapping_add(stream.id as u64));
    while left > 0 && !stream.gate.is_over() {
        let part = draw.next();
        let intended = stream.next_arrival().await;
        stream.turn_to(Some(part));
        let began = clock::now();
        match operate(stream, &job.parts[part].1).await {
            Ok(()) => {
                // A source without a batch and an answer without a message are a start, too.
                stream.started();
                let ended = clock::now();
                stream.recorder().operated(Operation { intended, began, ended });
            }
            // What comes after the end decides nothing.
            Err(_) if stream.gate.is_over() => return,
            Err(failure) => {
                if !stream.failed(failure).await && !by_window {
                    return;
                }
            }
        }
        stream.turn_to(None);
        // One that failed is one of those asked for.
        left -= u64::from(!by_window);
    }
}

/// Makes the connections that the mix needs: one for batches, one for calls without.
async fn connect(stream: &Stream, job: &MixedJob) -> Result<(), Failure> {
    let calls = |one: &(u64, OperationJob)| matches!(one.1, OperationJob::Unary(_));
    if !job.parts.iter().all(calls) {
        stream.link.connection(stream.shared_recorder()).await?;
    }
    if job.parts.iter().any(calls) {
        stream.link.calls(stream.shared_recorder()).await?;
    }
    Ok(())
}

async fn operate(stream: &Stream, operation: &OperationJob) -> Result<(), Failure> {
    match operation {
        OperationJob::Get(job) => get::once(stream, job).await,
        OperationJob::Put(job) => put::once(stream, job).await,
        OperationJob::Exchange { job, batches } => exchange::once(stream, job, *batches).await,
        OperationJob::Unary(job) => unary::call(stream, job).await,
    }
}
