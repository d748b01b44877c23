//! What a DoGet takes from the allocator at both ends of its socket: heads and lists, and no bodies.
//!
//! Over TLS rustls takes memory for each record, which is not ours to save; hyper's client joins a
//! body's frames before it copies them out. So this is about plaintext and the own transport.

use flight_net::client::Transport;
use flight_net::limits::Http2Settings;
use flight_wire::{BatchDecoder, DecodeLimits, Decoded};
use tokio::runtime::Builder;

use crate::support::{Fixture, metadata};

/// Reads a stream of large batches, each dropped before the next comes; bytes of their bodies, and
/// of the largest.
async fn read(fixture: &Fixture) -> (u64, u64) {
    let connection = fixture.connect().await;
    let mut stream = connection.do_get(b"ticket", metadata("large")).await.unwrap();
    let mut decoder = BatchDecoder::new(DecodeLimits::default());
    let (mut total, mut largest) = (0, 0);
    while let Some(message) = stream.next().await {
        let message = message.unwrap();
        let bytes = message.body.len() as u64;
        let decoded = decoder.decode(&message.header, &message.body).unwrap();
        if let Decoded::Batch(batch) = decoded {
            assert!(batch.num_rows() > 0);
            total += bytes;
            largest = largest.max(bytes);
        }
    }
    (total, largest)
}

#[test]
fn a_download_allocates_no_bodies_at_either_end() {
    // One thread for both ends, so that one count holds them.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let fixture =
        runtime.block_on(async { Fixture::start(Transport::Own, false, Http2Settings::default()) });
    // What is recycled has to be there first.
    runtime.block_on(read(&fixture));
    let mut read_bytes = (0, 0);
    let counted = allocation_counter::measure(|| read_bytes = runtime.block_on(read(&fixture)));
    let (total, largest) = read_bytes;
    assert!(total >= 32 * largest && largest >= 2 << 20, "{total} and {largest} are too few");
    let allocated = counted.bytes_total;
    assert!(allocated < largest, "{allocated} bytes allocated to move {total}");
}
