//! What a process used: CPU time, waits for a core, memory, descriptors, page faults.
//!
//! A process is read by its id, this one or another on this host. Rates and shares are left to the
//! caller.

use std::io;

use nix::time::ClockId as ProcessClock;
use nix::unistd::Pid;
use procfs::process::{Process, Stat, Task};
use procfs::{ProcError, ProcResult};
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::error::ProbeError;
use crate::limits::THREADS_MAX;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// What a process has used since it started, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// When it was read, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// CPU time of all threads, ended ones included, in nanoseconds (clock_getcpuclockid(3)).
    pub cpu_ns: u64,
    /// The part of it in user mode, in steps of a clock tick of mostly 10 ms (proc_pid_stat(5)).
    pub user_ns: u64,
    /// The part of it in the kernel, in the same steps.
    pub system_ns: u64,
    /// Page faults that needed no read from a disk, and those that did (proc_pid_stat(5)).
    pub minor_faults: u64,
    pub major_faults: u64,
    /// The most memory that was resident at once, in bytes (`VmHWM`, proc_pid_status(5)).
    pub peak_bytes: Option<u64>,
    /// Resident memory that is no file's, in bytes (`RssAnon`, proc_pid_status(5)).
    pub anonymous_bytes: Option<u64>,
    /// Open descriptors; absent where the process is another user's (proc_pid_fd(5)).
    pub descriptors: Option<u64>,
    /// The threads that ran at this moment, at most [`THREADS_MAX`].
    pub threads: Vec<ThreadUsage>,
}

/// What a thread has used since it started, or between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUsage {
    pub id: i32,
    /// The name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// Nanoseconds on a core (`/proc/PID/task/TID/schedstat`). Of a thread that runs just now, as
    /// of the last clock tick: a thread that wants its own exactly has [`own_thread_cpu_ns`].
    pub cpu_ns: u64,
    /// Nanoseconds in a run queue, ready but without a core (same file).
    pub wait_ns: u64,
    /// Switches because the thread waited for something (proc_pid_status(5)).
    pub voluntary_switches: u64,
    /// Switches because its time was up or another thread went first.
    pub involuntary_switches: u64,
}

/// What a process used between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Time between the two, in nanoseconds.
    pub wall_ns: u64,
    pub cpu_ns: u64,
    pub user_ns: u64,
    pub system_ns: u64,
    /// Sums over `threads`: what threads did that ended in between is not in them.
    pub wait_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// What was so at the later moment.
    pub peak_bytes: Option<u64>,
    pub anonymous_bytes: Option<u64>,
    pub descriptors: Option<u64>,
    /// The threads of the later moment; one that is new counts from its start.
    pub threads: Vec<ThreadUsage>,
}

impl Usage {
    /// Reads the process with this id.
    ///
    /// # Errors
    ///
    /// The process ended or never was, or it may not be read.
    pub fn of(pid: u32) -> Result<Self, ProbeError> {
        read(pid).map_err(|error| failure(pid, error))
    }

    /// Reads this process.
    ///
    /// # Errors
    ///
    /// `/proc` is not mounted.
    pub fn own() -> Result<Self, ProbeError> {
        Self::of(std::process::id())
    }

    /// What was used since `earlier`, which is of the same process.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Spent {
        let since = |now: &ThreadUsage| {
            let before = earlier.threads.iter().find(|thread| thread.id == now.id);
            before.map_or_else(|| now.clone(), |before| now.since(before))
        };
        let threads: Vec<ThreadUsage> = self.threads.iter().map(since).collect();
        let sum = |count: fn(&ThreadUsage) -> u64| threads.iter().map(count).sum();
        Spent {
            wall_ns: self.at_ns.saturating_sub(earlier.at_ns),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            wait_ns: sum(|thread| thread.wait_ns),
            voluntary_switches: sum(|thread| thread.voluntary_switches),
            involuntary_switches: sum(|thread| thread.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            peak_bytes: self.peak_bytes,
            anonymous_bytes: self.anonymous_bytes,
            descriptors: self.descriptors,
            threads,
        }
    }
}

impl ThreadUsage {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            id: self.id,
            name: self.name.clone(),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
        }
    }
}

/// CPU time of the calling thread in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`, clock_gettime(2)).
#[must_use]
pub fn own_thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of all threads of a process, ended ones included, in nanoseconds: one system call, where
/// [`Usage::of`] reads several files a thread. `None` if there is no such process.
#[must_use]
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    cpu_ns(i32::try_from(pid).ok()?)
}

/// `CLOCK_MONOTONIC` in nanoseconds, which all processes of a host share.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn nanoseconds(time: Timespec) -> u64 {
    // Neither field is negative: these clocks start at zero.
    time.tv_sec.unsigned_abs() * NANOSECONDS_PER_SECOND + time.tv_nsec.unsigned_abs()
}

fn read(pid: u32) -> ProcResult<Usage> {
    let id = i32::try_from(pid).map_err(|_| ProcError::NotFound(None))?;
    let process = Process::new(id)?;
    let stat = process.stat()?;
    let status = process.status()?;
    // A thread may end while it is read; it is left out.
    let tasks = process.tasks()?.flatten().take(THREADS_MAX);
    let threads = tasks.filter_map(|task| thread(&task).ok()).collect();
    let (user_ns, system_ns) = user_and_system_ns(&stat);
    Ok(Usage {
        at_ns: monotonic_ns(),
        cpu_ns: cpu_ns(id).unwrap_or(user_ns + system_ns),
        user_ns,
        system_ns,
        minor_faults: stat.minflt,
        major_faults: stat.majflt,
        peak_bytes: status.vmhwm.map(|kibibytes| kibibytes * 1024),
        anonymous_bytes: status.rssanon.map(|kibibytes| kibibytes * 1024),
        descriptors: process.fd_count().ok().map(|count| count as u64),
        threads,
    })
}

fn cpu_ns(pid: i32) -> Option<u64> {
    let now = ProcessClock::pid_cpu_clock_id(Pid::from_raw(pid)).ok()?.now().ok()?;
    Some(now.tv_sec().unsigned_abs() * NANOSECONDS_PER_SECOND + now.tv_nsec().unsigned_abs())
}

fn user_and_system_ns(stat: &Stat) -> (u64, u64) {
    let tick_ns = NANOSECONDS_PER_SECOND / procfs::ticks_per_second();
    (stat.utime * tick_ns, stat.stime * tick_ns)
}

fn thread(task: &Task) -> ProcResult<ThreadUsage> {
    let status = task.status()?;
    let scheduled = task.schedstat()?;
    Ok(ThreadUsage {
        id: task.tid,
        name: status.name,
        cpu_ns: scheduled.sum_exec_runtime,
        wait_ns: scheduled.run_delay,
        voluntary_switches: status.voluntary_ctxt_switches.unwrap_or_default(),
        involuntary_switches: status.nonvoluntary_ctxt_switches.unwrap_or_default(),
    })
}

fn failure(pid: u32, error: ProcError) -> ProbeError {
    let source = match error {
        ProcError::NotFound(_) => return ProbeError::NoProcess { pid },
        ProcError::PermissionDenied(_) => io::ErrorKind::PermissionDenied.into(),
        ProcError::Io(error, _) => error,
        other => io::Error::other(other.to_string()),
    };
    ProbeError::Process { pid, source }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    /// Spins until the calling thread has used this much more CPU time.
    fn burn(cpu_ns: u64) {
        let end = own_thread_cpu_ns() + cpu_ns;
        while own_thread_cpu_ns() < end {
            black_box(0);
        }
    }

    fn thread_named(id: i32, cpu_ns: u64) -> ThreadUsage {
        ThreadUsage {
            id,
            name: "worker".to_owned(),
            cpu_ns,
            wait_ns: cpu_ns / 10,
            voluntary_switches: cpu_ns / 100,
            involuntary_switches: 0,
        }
    }

    fn made_up(at_ns: u64, cpu_ns: u64, threads: &[(i32, u64)]) -> Usage {
        Usage {
            at_ns,
            cpu_ns,
            user_ns: cpu_ns,
            system_ns: 0,
            minor_faults: 0,
            major_faults: 0,
            peak_bytes: None,
            anonymous_bytes: None,
            descriptors: None,
            threads: threads.iter().map(|(id, cpu_ns)| thread_named(*id, *cpu_ns)).collect(),
        }
    }

    #[test]
    fn the_cpu_time_of_this_process_is_that_of_its_threads_ended_ones_included() {
        let before = Usage::own().unwrap();
        burn(2_000_000);
        std::thread::spawn(|| burn(3_000_000)).join().unwrap();
        let spent = Usage::own().unwrap().since(&before);
        assert!(spent.cpu_ns >= 5_000_000, "{} ns", spent.cpu_ns);
        assert!(spent.wall_ns > 0);
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let own = spent.threads.iter().find(|thread| thread.id == own).unwrap();
        assert!(own.cpu_ns >= 1_000_000, "{} ns", own.cpu_ns);
        assert!(!own.name.is_empty());
    }

    #[test]
    fn the_cpu_time_of_a_process_grows_with_its_work_and_ends_with_it() {
        let before = process_cpu_ns(std::process::id()).unwrap();
        burn(2_000_000);
        let after = process_cpu_ns(std::process::id()).unwrap();
        assert!(after >= before + 2_000_000, "{before} {after}");
        assert_eq!(process_cpu_ns(u32::MAX), None);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(process_cpu_ns(child.id()), None);
    }

    #[test]
    fn memory_and_descriptors_of_this_process_are_read() {
        let before = Usage::own().unwrap();
        assert!(before.peak_bytes.unwrap() > 100_000);
        assert!(before.anonymous_bytes.unwrap() > 10_000);
        assert!(before.descriptors.unwrap() >= 3);
        assert!(before.minor_faults > 0);
    }

    #[test]
    fn another_process_is_read_while_it_runs_and_missed_when_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let usage = Usage::of(child.id()).unwrap();
        assert_eq!(usage.threads.len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        let ended = Usage::of(child.id()).unwrap_err();
        assert!(matches!(ended, ProbeError::NoProcess { .. }), "{ended}");
    }

    #[test]
    fn an_id_that_no_process_can_have_is_no_process() {
        let error = Usage::of(u32::MAX).unwrap_err().to_string();
        assert_eq!(error, "there is no process 4294967295 on this host; it may have ended");
    }

    #[test]
    fn a_thread_that_is_new_counts_from_its_start_and_one_that_ended_does_not() {
        let earlier = made_up(1_000, 500, &[(1, 300), (2, 200)]);
        let later = made_up(3_000, 1_500, &[(1, 700), (3, 400)]);
        let spent = later.since(&earlier);
        assert_eq!(spent.wall_ns, 2_000);
        assert_eq!(spent.cpu_ns, 1_000);
        let cpu: Vec<_> = spent.threads.iter().map(|thread| (thread.id, thread.cpu_ns)).collect();
        assert_eq!(cpu, [(1, 400), (3, 400)]);
        assert_eq!(spent.wait_ns, 40 + 40);
        assert_eq!(spent.voluntary_switches, 4 + 4);
    }
}
