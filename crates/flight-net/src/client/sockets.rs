//! The sockets of connections, for those who want to look at them while they are used.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::net::TcpStream;

/// The TCP sockets of the connections that a [`Connector`](super::Connector) made, each until its
/// connection ends: a descriptor that lived on would keep the peer from hearing of that. Clones
/// share the list.
#[derive(Debug, Clone, Default)]
pub struct Sockets(Arc<Mutex<Vec<Weak<OwnedFd>>>>);

/// Keeps a socket in the list; the task that owns the connection holds it.
pub(super) type Held = Option<Arc<OwnedFd>>;

impl Sockets {
    /// Those that are open. Each is a descriptor of its own, for `TCP_INFO` and the like, and keeps
    /// the socket open: for long, hold a [`Weak`].
    pub fn open(&self) -> Vec<Arc<OwnedFd>> {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.retain(|socket| socket.strong_count() > 0);
        sockets.iter().filter_map(Weak::upgrade).collect()
    }

    /// Takes a socket in; without a descriptor left, it is not looked at.
    pub(super) fn add(&self, stream: &TcpStream) -> Held {
        let socket = Arc::new(stream.as_fd().try_clone_to_owned().ok()?);
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sockets.push(Arc::downgrade(&socket));
        Some(socket)
    }
}
