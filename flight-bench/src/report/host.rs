//! The machine that measures, as reports name it. What cannot be read is absent.

use std::fs;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) cpu: Option<String>,
    pub(crate) cores: Option<usize>,
    pub(crate) kernel: Option<String>,
    pub(crate) mem_bytes: Option<u64>,
}

impl Host {
    pub(crate) fn read() -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        Self {
            cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text)),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            kernel: kernel.map(|text| text.trim().to_owned()),
            mem_bytes: fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total(&text)),
        }
    }
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_tells_is_read() {
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: A @ 2 GHz\n"),
            Some("A @ 2 GHz".into())
        );
        assert_eq!(mem_total("MemTotal:       16 kB\n"), Some(16_384));
    }

    #[test]
    fn what_it_does_not_tell_is_absent() {
        assert_eq!(cpu_model("processor\t: 0\n"), None);
        assert_eq!(mem_total("MemFree: 1 kB\n"), None);
        assert_eq!(mem_total("MemTotal: lots\n"), None);
    }
}
