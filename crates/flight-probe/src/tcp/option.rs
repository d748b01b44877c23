//! The socket option that neither std, rustix, nix nor socket2 reads.

#![allow(unsafe_code, reason = "reading an option takes a pointer; see at the call")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// More than any kernel's record so far; that of Linux 6.18 has 280 bytes.
pub(super) const RECORD_BYTES_MAX: usize = 512;

/// Reads `TCP_INFO` into `record`; how many bytes of it the kernel has.
///
/// # Errors
///
/// The kernel's refusal.
pub(super) fn read(socket: &impl AsFd, record: &mut [u8; RECORD_BYTES_MAX]) -> io::Result<usize> {
    let mut length = RECORD_BYTES_MAX as libc::socklen_t;
    // Why unsafe: no safe interface has the option; libc's own struct of it ends before the fields
    // that tell what limits a connection, hence bytes.
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the pointer is that of
    // `record`, of which the kernel writes at most `length` bytes, all of it; any byte is a u8.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            record.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if outcome == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}
