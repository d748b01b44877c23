//! The socket option that neither std nor socket2 sets.

#![allow(unsafe_code, reason = "setting an option takes a pointer; see at the call")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets `SO_RCVLOWAT`: the socket counts as readable once `bytes` have come (socket(7)), or it was
/// closed, or its buffer is full. A read takes what there is all the same.
///
/// # Errors
///
/// The kernel's refusal.
pub(crate) fn set_receive_low_water(socket: &impl AsFd, bytes: usize) -> io::Result<()> {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let length = size_of_val(&value) as libc::socklen_t;
    // Why unsafe: no safe interface has the option, which is worth 1.15 times the throughput of a
    // download over loopback (see `client::wire`).
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the pointer and the
    // length are those of `value`, which lives through the call and is only read.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const value).cast(),
            length,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_water_mark_is_set_and_a_refusal_is_an_error() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        set_receive_low_water(&stream, 100_000).unwrap();
        set_receive_low_water(&stream, 1).unwrap();
        let file = tempfile::tempfile().unwrap();
        assert!(set_receive_low_water(&file, 1).is_err(), "a file is no socket");
    }
}
