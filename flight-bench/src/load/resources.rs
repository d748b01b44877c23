//! What client, server and machine did while a window was open.

use flight_probe::noise::{Noise, Snapshot};
use flight_probe::process::{Spent, Usage};
use serde::{Deserialize, Serialize};

/// What was used from the opening of a window to its close.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Resources {
    pub(crate) client: Spent,
    /// Of a server on this machine whose process is known.
    pub(crate) server: Option<Spent>,
    pub(crate) noise: Noise,
}

/// What had been used when the window opened.
pub(super) struct Watch {
    client: Usage,
    server: Option<(u32, Usage)>,
    noise: Snapshot,
}

impl Watch {
    /// `None` where the kernel does not tell.
    pub(super) fn begin(server_pid: Option<u32>) -> Option<Self> {
        let server = server_pid.and_then(|pid| Some((pid, Usage::of(pid).ok()?)));
        let noise = Snapshot::read();
        Some(Self { client: Usage::own().ok()?, server, noise })
    }

    /// A server that is gone by now has used nothing that can be told.
    pub(super) fn end(self) -> Option<Resources> {
        let client = Usage::own().ok()?.since(&self.client);
        let server =
            self.server.and_then(|(pid, before)| Some(Usage::of(pid).ok()?.since(&before)));
        Some(Resources { client, server, noise: Snapshot::read().since(&self.noise) })
    }
}
