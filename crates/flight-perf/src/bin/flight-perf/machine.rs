//! The machine, and what it permits: cores to pin to, real-time scheduling, a name for the report.

use std::fs;
use std::process::{Command, Stdio};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
    /// On any core.
    Either,
}

/// How processes are scheduled.
#[derive(Debug, Clone)]
pub(crate) struct Scheduling {
    /// The cores of server and client; absent where there are fewer than two.
    cores: Option<(usize, usize)>,
    /// `SCHED_FIFO`, through chrt.
    pub(crate) real_time: bool,
}

/// The priority asked for: above all that is not real-time, below the kernel's own threads.
const PRIORITY: &str = "10";

impl Scheduling {
    /// Finds out what is permitted; `real_time` false asks for none.
    pub(crate) fn probe(real_time: bool) -> Self {
        let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
        let mut cores = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let cores = cores.next().zip(cores.next());
        let permitted = || {
            let chrt = Command::new("chrt")
                .args(["-f", PRIORITY, "true"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            chrt.is_ok_and(|status| status.success())
        };
        Self { cores, real_time: real_time && permitted() }
    }

    /// The words that start `program`: under chrt where real-time scheduling is on.
    pub(crate) fn words(&self, program: String) -> Vec<String> {
        let chrt = ["chrt", "-f", PRIORITY].map(str::to_owned);
        let prefix = if self.real_time { chrt.to_vec() } else { Vec::new() };
        prefix.into_iter().chain([program]).collect()
    }

    /// Does `start` with this thread on the core of `side`, which a process that it starts keeps.
    pub(crate) fn on<T>(&self, side: Side, start: impl FnOnce() -> T) -> T {
        let (Some((server, client)), Ok(before)) = (self.cores, sched_getaffinity(None)) else {
            return start();
        };
        let core = match side {
            Side::Server => server,
            Side::Client => client,
            Side::Either => return start(),
        };
        let mut only = CpuSet::new();
        only.set(core);
        // A core that is taken away meanwhile leaves the process where it is.
        let _ = sched_setaffinity(None, &only);
        let started = start();
        let _ = sched_setaffinity(None, &before);
        started
    }

    /// What took effect, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let pinned = match self.cores {
            Some((server, client)) => {
                format!("servers are pinned to core {server} and clients to core {client}")
            }
            None => "nothing is pinned: there are fewer than two cores".to_owned(),
        };
        let scheduled = if self.real_time {
            format!("all run under SCHED_FIFO, priority {PRIORITY}")
        } else {
            "real-time scheduling was not permitted or not asked for".to_owned()
        };
        format!("{pinned}; {scheduled}")
    }
}

/// Processor, cores, memory and kernel, as the report names them.
pub(crate) fn name() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
        value.unwrap_or("unknown").to_owned()
    };
    let processor = after(&read("/proc/cpuinfo"), "model name");
    let memory = after(&read("/proc/meminfo"), "MemTotal");
    let kibibytes: Option<u64> = memory.split(' ').next().and_then(|number| number.parse().ok());
    let memory = kibibytes.map_or(memory, |kib| format!("{} GiB", kib.div_ceil(1 << 20)));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{processor}, {cores} cores, {memory}, Linux {}", kernel.trim())
}

/// User and system time of another process in seconds, in ticks of 10 ms.
pub(crate) fn cpu_seconds(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces; utime and stime are fields 14 and 15 (proc(5)).
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}
