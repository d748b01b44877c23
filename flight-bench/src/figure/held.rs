//! What client and server hold at the end of a window: descriptors and memory.

use crate::load::Resources;

/// One of them, of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    ClientDescriptors,
    ClientMemory,
    ServerDescriptors,
    ServerMemory,
}

impl Held {
    pub(crate) const ALL: [Self; 4] =
        [Self::ClientDescriptors, Self::ClientMemory, Self::ServerDescriptors, Self::ServerMemory];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClientDescriptors => "client.descriptors",
            Self::ClientMemory => "client.memory_bytes",
            Self::ServerDescriptors => "server.descriptors",
            Self::ServerMemory => "server.memory_bytes",
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::ClientMemory | Self::ServerMemory)
    }

    /// `None` where it was not seen. Memory is what is resident and no file's (`RssAnon`,
    /// proc_pid_status(5)): the peak of a process that measures in turn would be that of another turn.
    pub(super) fn of(self, resources: &Resources) -> Option<f64> {
        let spent = match self {
            Self::ClientDescriptors | Self::ClientMemory => &resources.client,
            Self::ServerDescriptors | Self::ServerMemory => resources.server.as_ref()?,
        };
        let held = if self.is_memory() { spent.anonymous_bytes } else { spent.descriptors };
        held.map(|held| held as f64)
    }
}
