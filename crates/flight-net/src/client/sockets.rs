//! The sockets of connections, for those who want to look at them while they are used.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::net::TcpStream;

/// The TCP sockets of the connections that a [`Connector`](super::Connector) made, each until its
/// connection ends: a descriptor that lived on would keep the peer from hearing of that. Clones
/// share the list.
#[derive(Debug, Clone, Default)]
pub struct Sockets {
    all: Arc<Mutex<Vec<Listed>>>,
    /// What is added through this clone is of this owner.
    owner: usize,
}

#[derive(Debug)]
struct Listed {
    owner: usize,
    socket: Weak<OwnedFd>,
}

/// A socket that is open: a descriptor of its own, for `TCP_INFO` and the like.
#[derive(Debug, Clone)]
pub struct OpenSocket {
    /// The number that [`Sockets::owned_by`] was given; 0 without it.
    pub owner: usize,
    pub descriptor: Arc<OwnedFd>,
}

/// Keeps a socket in the list; the task that owns the connection holds it.
pub(super) type Held = Option<Arc<OwnedFd>>;

impl Sockets {
    /// The same list; what is added through it is told by this number.
    #[must_use]
    pub fn owned_by(&self, owner: usize) -> Self {
        Self { all: Arc::clone(&self.all), owner }
    }

    /// Those that are open; each keeps its socket so: for long, hold a [`Weak`].
    pub fn open(&self) -> Vec<OpenSocket> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|listed| listed.socket.strong_count() > 0);
        let open = |listed: &Listed| {
            Some(OpenSocket { owner: listed.owner, descriptor: listed.socket.upgrade()? })
        };
        all.iter().filter_map(open).collect()
    }

    /// Takes a socket in; without a descriptor left, it is not looked at.
    pub(super) fn add(&self, stream: &TcpStream) -> Held {
        let socket = Arc::new(stream.as_fd().try_clone_to_owned().ok()?);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Listed { owner: self.owner, socket: Arc::downgrade(&socket) });
        Some(socket)
    }
}
