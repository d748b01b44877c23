//! How much is read and started at most, whatever the host says.

/// Cores that the noise probe spins on; on larger hosts it takes the first ones.
pub const SPIN_CORES_MAX: usize = 64;
/// Threads of a process that are listed; the CPU time of the process counts all of them.
pub const THREADS_MAX: usize = 4096;
/// Bytes of a file of the kernel; the largest, `/proc/cpuinfo` of a host with hundreds of cores,
/// is some 2 KiB a core.
pub(crate) const FILE_BYTES_MAX: u64 = 4 << 20;
