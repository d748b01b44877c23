//! What a thread reads of a mapped file that was cut: zeros, in place of the end of the process.
//!
//! Memory of a mapping that has no file behind it any more, or that the disk cannot give, raises
//! SIGBUS on the thread that reads it. The handler here looks whether the address lies in a mapping
//! of ours. If so it puts zeros where the mapping is, notes that it is lost, and lets the thread go
//! on; whoever reads the mapping has to ask [`Guard::is_lost`] before vouching for what was read.
//! Every other SIGBUS is handed to whoever was asked before. libwayland guards the memory that
//! clients share with a compositor in the same way.

#![allow(unsafe_code, reason = "a signal's handler is beyond what a compiler can prove")]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{MaybeUninit, transmute};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::limits::MAPPINGS_MAX;

/// Memory that is guarded for as long as this lives. It must be dropped before the memory is
/// unmapped.
#[derive(Debug)]
pub(super) struct Guard(&'static Slot);

/// The address range of a mapping. A signal's handler can take no lock and no memory, so there is
/// a fixed number of them.
#[derive(Debug)]
struct Slot {
    /// The first address, or one of the two below.
    start: AtomicUsize,
    /// The address after the last.
    end: AtomicUsize,
    lost: AtomicBool,
}

const FREE: usize = 0;
/// Somebody is about to fill it.
const TAKEN: usize = 1;

static SLOTS: [Slot; MAPPINGS_MAX] = [const {
    let (start, end) = (AtomicUsize::new(FREE), AtomicUsize::new(0));
    Slot { start, end, lost: AtomicBool::new(false) }
}; MAPPINGS_MAX];
/// How many of them, from the first on, were ever used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// What was done about SIGBUS before.
static BEFORE: OnceLock<Result<libc::sigaction, i32>> = OnceLock::new();

impl Guard {
    /// Guards `memory`, a mapping from its first byte to its last.
    ///
    /// # Errors
    ///
    /// When [`MAPPINGS_MAX`] mappings are guarded, or the system does not let SIGBUS be handled.
    pub(super) fn of(memory: &[u8]) -> io::Result<Self> {
        if let Err(errno) = BEFORE.get_or_init(install) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        let take = |slot: &&Slot| {
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            slot.start.compare_exchange(FREE, TAKEN, success, failure).is_ok()
        };
        let slot = SLOTS.iter().position(|slot| take(&slot));
        let index = slot.ok_or_else(|| {
            io::Error::other(format!("{MAPPINGS_MAX} files are mapped, which is the most"))
        })?;
        let (slot, range) = (&SLOTS[index], memory.as_ptr_range());
        slot.lost.store(false, Ordering::Relaxed);
        slot.end.store(range.end.addr(), Ordering::Release);
        USED.fetch_max(index + 1, Ordering::Release);
        slot.start.store(range.start.addr(), Ordering::Release);
        Ok(Self(slot))
    }

    /// Whether some of the memory was gone when it was read, and all of it has been zeros since.
    pub(super) fn is_lost(&self) -> bool {
        self.0.lost.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.start.store(FREE, Ordering::Release);
    }
}

/// Has SIGBUS handled from now on, and gives what was done about it before.
fn install() -> Result<libc::sigaction, i32> {
    let failed = || io::Error::last_os_error().raw_os_error().unwrap_or(0);
    // SAFETY: all zeros is a valid `sigaction`: no flags, no signals, the default action.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut before = action;
    // SAFETY: the pointer is to a `sigaction` that lives through the call; nothing is changed.
    if unsafe { libc::sigaction(libc::SIGBUS, null_mut(), &raw mut before) } != 0 {
        return Err(failed());
    }
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: the handler has the type that SA_SIGINFO asks for, and does only what a handler may:
    // it reads and writes atomics, and calls mmap and sigaction, which are system calls.
    if unsafe { libc::sigaction(libc::SIGBUS, &raw const action, null_mut()) } != 0 {
        return Err(failed());
    }
    Ok(before)
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over a `siginfo_t`, which for SIGBUS has an address.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    // Damaged memory (BUS_MCEERR_AR) is not ours to hide.
    if code == libc::BUS_ADRERR && replace(address) {
        return;
    }
    if code <= 0 {
        // Sent by somebody (sigaction(2)), not raised: nothing faults again when this returns.
        by_default(signal);
        // SAFETY: a system call that a handler may make.
        unsafe { libc::raise(signal) };
        return;
    }
    hand_on(signal, info, context);
}

/// Puts zeros in place of the mapping around an address, if there is one.
fn replace(address: usize) -> bool {
    let used = USED.load(Ordering::Acquire);
    for slot in &SLOTS[..used] {
        let start = slot.start.load(Ordering::Acquire);
        let end = slot.end.load(Ordering::Acquire);
        // Of one mapping, if the slot still begins where it did: it may have been filled anew.
        let again = slot.start.load(Ordering::Acquire);
        if start <= TAKEN || again != start || !(start..end).contains(&address) {
            continue;
        }
        slot.lost.store(true, Ordering::Release);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is a mapping of ours, which stays for as long as the slot is filled: a
        // thread is reading it right now. Its memory remains readable and valid as bytes, and that
        // mapped bytes may change is known to all who read them (see `Mapping::of`).
        let zeros = unsafe {
            let errno = *libc::__errno_location();
            let place = std::ptr::without_provenance_mut(start);
            let zeros = libc::mmap(place, end - start, libc::PROT_READ, flags, -1, 0);
            *libc::__errno_location() = errno;
            zeros
        };
        return zeros != libc::MAP_FAILED;
    }
    false
}

/// Does what would have been done without a guard.
fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().and_then(|before| before.as_ref().ok());
    match before {
        Some(before) if before.sa_sigaction > libc::SIG_IGN => {
            // SAFETY: this is the handler that was installed before, of the type that its flags
            // tell, called as the kernel would have called it.
            unsafe {
                if before.sa_flags & libc::SA_SIGINFO == 0 {
                    transmute::<usize, extern "C" fn(c_int)>(before.sa_sigaction)(signal);
                } else {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        transmute(before.sa_sigaction);
                    handler(signal, info, context);
                }
            }
        }
        // The thread faults again when this returns, which ends the process.
        _ => by_default(signal),
    }
}

/// Has the system do what it does by itself.
fn by_default(signal: c_int) {
    // SAFETY: as in `install`.
    unsafe {
        let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(signal, &raw const default, null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use memmap2::Mmap;

    use super::*;

    const BYTES: usize = 40_000;

    fn mapped() -> (File, Mmap) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; BYTES]).unwrap();
        // SAFETY: as in `Mapping::of`; the tests know that it changes.
        let memory = unsafe { Mmap::map(&file).unwrap() };
        (file, memory)
    }

    /// Read as if by somebody who cannot know: the compiler must not remember what is there.
    fn read(memory: &[u8], at: usize) -> u8 {
        // SAFETY: `at` lies within the slice.
        unsafe { std::ptr::read_volatile(&raw const memory[at]) }
    }

    #[test]
    fn mapped_memory_whose_file_is_cut_reads_as_zeros_and_is_lost() {
        let (file, memory) = mapped();
        let (_kept, other) = mapped();
        let (guard, other_guard) = (Guard::of(&memory).unwrap(), Guard::of(&other).unwrap());
        assert_eq!(read(&memory, BYTES - 1), 7);
        assert!(!guard.is_lost());
        file.set_len(100).unwrap();
        assert_eq!(read(&memory, BYTES - 1), 0);
        assert!(guard.is_lost());
        assert_eq!(read(&memory, 5), 0, "all of it");
        assert_eq!(read(&other, BYTES - 1), 7, "and nothing else");
        assert!(!other_guard.is_lost());
    }

    #[test]
    fn mapped_memory_is_replaced_under_several_threads_at_once() {
        let (file, memory) = mapped();
        let guard = Guard::of(&memory).unwrap();
        file.set_len(0).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let memory = &memory;
                scope.spawn(move || assert_eq!(read(memory, BYTES - 1 - thread * 4096), 0));
            }
        });
        assert!(guard.is_lost());
    }

    #[test]
    fn a_slot_is_used_again_and_begins_sound() {
        for _ in 0..MAPPINGS_MAX + 1 {
            let (file, memory) = mapped();
            let guard = Guard::of(&memory).unwrap();
            assert!(!guard.is_lost());
            file.set_len(0).unwrap();
            assert_eq!(read(&memory, 0), 0);
            assert!(guard.is_lost());
        }
    }

    #[test]
    #[ignore = "ends the process; run by the test below"]
    fn reads_what_nobody_guards() {
        let (_kept, memory) = mapped();
        let _guard = Guard::of(&memory).unwrap();
        let (file, memory) = mapped();
        file.set_len(0).unwrap();
        read(&memory, 0);
    }

    #[test]
    #[ignore = "ends the process; run by the test below"]
    fn is_sent_the_signal() {
        let (_kept, memory) = mapped();
        let _guard = Guard::of(&memory).unwrap();
        // SAFETY: a system call.
        unsafe { libc::raise(libc::SIGBUS) };
    }

    #[test]
    fn a_signal_that_was_sent_ends_the_process_as_ever() {
        let test = "map::guard::tests::is_sent_the_signal";
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored"])
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(libc::SIGBUS), "{child:?}");
    }

    #[test]
    fn a_fault_elsewhere_ends_the_process_as_ever() {
        let test = "map::guard::tests::reads_what_nobody_guards";
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored"])
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(libc::SIGBUS), "{child:?}");
    }
}
