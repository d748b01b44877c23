//! Memory, swap, NUMA nodes and huge pages.

use procfs::Meminfo;
use serde::{Deserialize, Serialize};

use super::cpu::count;
use crate::files::Files;

/// The memory of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub total_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    pub swap_used_bytes: Option<u64>,
    /// When memory comes in huge pages unasked: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    pub numa_nodes: Option<usize>,
}

impl Memory {
    pub(crate) fn read(files: &Files) -> Self {
        let info: Option<Meminfo> = files.table("/proc/meminfo");
        let huge_pages = files.line("/sys/kernel/mm/transparent_hugepage/enabled");
        let nodes = files.line("/sys/devices/system/node/online");
        Self {
            total_bytes: info.as_ref().map(|info| info.mem_total),
            swap_bytes: info.as_ref().map(|info| info.swap_total),
            swap_used_bytes: info
                .as_ref()
                .map(|info| info.swap_total.saturating_sub(info.swap_free)),
            huge_pages: huge_pages.and_then(|line| chosen(&line)),
            numa_nodes: nodes.and_then(|list| count(&list)),
        }
    }
}

/// The word in brackets: `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::write;

    const MEMINFO: &str = "MemTotal: 16 kB\nMemFree: 1 kB\nBuffers: 1 kB\nCached: 1 kB\n\
        SwapCached: 0 kB\nActive: 1 kB\nInactive: 1 kB\nSwapTotal: 8 kB\nSwapFree: 6 kB\n\
        Dirty: 0 kB\nWriteback: 0 kB\nMapped: 1 kB\nSlab: 1 kB\nCommitted_AS: 1 kB\n\
        VmallocTotal: 1 kB\nVmallocUsed: 0 kB\nVmallocChunk: 0 kB\n";

    #[test]
    fn memory_swap_nodes_and_huge_pages_are_read() {
        let root = tempfile::tempdir().unwrap();
        let files = write(
            root.path(),
            &[
                ("proc/meminfo", MEMINFO),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("sys/devices/system/node/online", "0-1\n"),
            ],
        );
        let memory = Memory::read(&files);
        assert_eq!(memory.total_bytes, Some(16_384));
        assert_eq!(memory.swap_bytes, Some(8_192));
        assert_eq!(memory.swap_used_bytes, Some(2_048));
        assert_eq!(memory.huge_pages.as_deref(), Some("madvise"));
        assert_eq!(memory.numa_nodes, Some(2));
    }

    #[test]
    fn a_choice_that_is_not_marked_is_unknown() {
        assert_eq!(chosen("always madvise never"), None);
        assert_eq!(chosen("always [madvise"), None);
    }
}
