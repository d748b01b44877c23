//! A timer that is as exact as the kernel's.

#![allow(unsafe_code, reason = "registering a descriptor with tokio; see at the call")]

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A timer of the kernel: tokio's rounds up to a millisecond, which would be most of what is measured.
pub(super) struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: the descriptor is open, and owned by the value that is registered: it stays the same
        // and open until that is dropped.
        Ok(Self(unsafe { AsyncFd::register(timer) }?))
    }

    pub(super) async fn sleep_until(&self, at: Instant) -> io::Result<()> {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
            let none = Timespec::default();
            let once = Itimerspec { it_interval: none, it_value: left };
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            let mut ready = self.0.readable().await?;
            // How often it went off: read so that it can be waited for again.
            match rustix::io::read(&self.0, &mut [0; 8]) {
                Ok(_) | Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
