//! What client, server and machine did while a window was open.
//!
//! All of it is read on the thread that waits for the window to close, never on one that measures.

use std::cell::RefCell;
use std::convert::Infallible;

use flight_net::client::Sockets;
use flight_probe::noise::{Noise, Snapshot};
use flight_probe::process::{Spent, Usage};
use serde::{Deserialize, Serialize};

use super::sockets::{Before, TcpSpent};
use super::timeline::{CpuSample, SAMPLE_EVERY, Timeline};

/// What was used from the opening of a window to its close.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resources {
    pub(crate) client: Spent,
    /// Of a server on this machine whose process is known.
    pub(crate) server: Option<Spent>,
    pub(crate) noise: Noise,
    /// Of the client's TCP connections; absent over Unix sockets.
    #[serde(default)]
    pub(crate) tcp: Option<TcpSpent>,
}

/// What had been used when the window opened, and in the course of it.
pub(super) struct Watch {
    client: Usage,
    server: Option<(u32, Usage)>,
    noise: Snapshot,
    timeline: Timeline,
    sockets: Sockets,
    before: Before,
}

impl Watch {
    /// `None` where the kernel does not tell.
    pub(super) fn begin(server_pid: Option<u32>, sockets: &Sockets) -> Option<Self> {
        // First, since the window is open: what the sockets move until then is missing from theirs.
        let (sockets, before) = (sockets.clone(), Before::read(sockets));
        let server = server_pid.and_then(|pid| Some((pid, Usage::of(pid).ok()?)));
        let noise = Snapshot::read();
        let client = Usage::own().ok()?;
        let timeline = Timeline::begin(server.as_ref().map(|(pid, _)| *pid));
        Some(Self { client, server, noise, timeline, sockets, before })
    }

    /// A server that is gone by now has used nothing that can be told.
    pub(super) fn end(mut self) -> Option<(Resources, Vec<CpuSample>)> {
        self.timeline.sample();
        let tcp = self.before.until_now(&self.sockets);
        let mut client = Usage::own().ok()?.since(&self.client);
        // Less those by which this program looks at its sockets.
        let watched = tcp.as_ref().map_or(0, |tcp| tcp.connections);
        client.descriptors = client.descriptors.map(|all| all.saturating_sub(watched));
        let server =
            self.server.and_then(|(pid, before)| Some(Usage::of(pid).ok()?.since(&before)));
        let noise = Snapshot::read().since(&self.noise);
        Some((Resources { client, server, noise, tcp }, self.timeline.into_samples()))
    }
}

/// Samples what is watched, at its pace, until it is dropped.
pub(super) async fn sampled(watch: &RefCell<Option<Watch>>) -> Infallible {
    loop {
        let every = watch.borrow().as_ref().map_or(SAMPLE_EVERY, |watch| watch.timeline.every());
        tokio::time::sleep(every).await;
        if let Some(watch) = watch.borrow_mut().as_mut() {
            watch.timeline.sample();
        }
    }
}
