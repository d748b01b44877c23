//! What can go wrong when the kernel is asked. A single missing value is no error but `None`.

use std::io;

/// Why a process or a socket could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It ended, or never was.
    #[error("there is no process {pid} on this host; it may have ended")]
    NoProcess { pid: u32 },
    /// It belongs to another user, or the kernel hides it.
    #[error("process {pid} could not be read: {source}; run as the same user as the process")]
    Process { pid: u32, source: io::Error },
    /// It is no TCP socket, or the kernel is not Linux.
    #[error("the state of the connection could not be read: {0}; only a TCP socket has it")]
    Socket(io::Error),
}
