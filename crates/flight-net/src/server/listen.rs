//! Listening sockets.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use crate::endpoint::Endpoint;

/// Connections that wait for the accept loop.
const BACKLOG: i32 = 1024;

/// Why an endpoint cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {endpoint}: {cause}")]
    Bind { endpoint: String, cause: io::Error },
    #[error("cannot listen on {endpoint}: the host has no address")]
    NoAddress { endpoint: String },
    #[error("cannot listen on {endpoint}: another process listens there already")]
    InUse { endpoint: String },
    #[error(
        "cannot listen on {endpoint}: a file that is no socket stands there; remove it or choose another path"
    )]
    NotASocket { endpoint: String },
}

/// A bound socket, and the endpoint with the port that it got.
pub struct Listener {
    pub(super) socket: BoundSocket,
    endpoint: Endpoint,
}

pub(super) enum BoundSocket {
    Tcp(TcpListener),
    Unix { listener: UnixListener, path: PathBuf },
}

impl Listener {
    /// Binds `endpoint`; port 0 takes a free one. Must run on a tokio runtime.
    ///
    /// A Unix socket left by a process that died is removed first; one that is in use is not.
    /// Its file is readable and writable by the owner alone.
    ///
    /// # Errors
    ///
    /// The operating system's refusal, with the endpoint.
    pub fn bind(endpoint: &Endpoint) -> Result<Self, BindError> {
        let name = || endpoint.to_string();
        match endpoint {
            Endpoint::Unix(path) => {
                let listener = bind_unix(path, name)?;
                let socket = BoundSocket::Unix { listener, path: path.clone() };
                Ok(Self { socket, endpoint: endpoint.clone() })
            }
            Endpoint::Tcp { host, port } | Endpoint::Tls { host, port } => {
                let failed = |cause: io::Error| match cause.kind() {
                    io::ErrorKind::AddrInUse => BindError::InUse { endpoint: name() },
                    _ => BindError::Bind { endpoint: name(), cause },
                };
                let mut addresses = (host.as_str(), *port).to_socket_addrs().map_err(failed)?;
                let address =
                    addresses.next().ok_or_else(|| BindError::NoAddress { endpoint: name() })?;
                let listener = bind_tcp(address).map_err(failed)?;
                let port = listener.local_addr().map_err(failed)?.port();
                let endpoint = endpoint.clone().with_port(port);
                Ok(Self { socket: BoundSocket::Tcp(listener), endpoint })
            }
        }
    }

    /// The endpoint with its real port.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        if let Self::Unix { path, .. } = self {
            // Best effort: a stale socket is also removed by the next process that binds it.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Restarting must not wait for connections of the last process to time out.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn bind_unix(path: &Path, name: impl Fn() -> String) -> Result<UnixListener, BindError> {
    let failed = |cause| BindError::Bind { endpoint: name(), cause };
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            return Err(BindError::NotASocket { endpoint: name() });
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(BindError::InUse { endpoint: name() });
        }
        std::fs::remove_file(path).map_err(failed)?;
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}
