//! Process metrics, named as in Prometheus client libraries.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use rustix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
use crate::observe::metrics::gauge;

/// Directory with information about this process on Linux.
#[cfg(target_os = "linux")]
const SELF: &str = "/proc/self";

/// Encodes the process metrics that the system provides.
pub(crate) fn encode(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[allow(clippy::cast_precision_loss)] // a process lives for less than 2⁵³ s
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    let none: Option<&Exemplar<NoLabelSet, f64>> = None;
    // The encoder appends `_total` to the name.
    encoder
        .encode_descriptor(
            "process_cpu_seconds",
            "Processor time of this process",
            None,
            MetricType::Counter,
        )?
        .encode_counter(&seconds, none)?;
    #[cfg(target_os = "linux")]
    linux(encoder)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn linux(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    use rustix::process::{Resource, getrlimit};
    let status = std::fs::read_to_string(format!("{SELF}/status")).unwrap_or_default();
    let number = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    if let Some(kib) = number("VmRSS:") {
        gauge(encoder, "process_resident_memory_bytes", "Memory that is resident", &(kib * 1024))?;
    }
    if let Some(threads) = number("Threads:") {
        gauge(encoder, "process_threads", "Threads", &threads)?;
    }
    if let Ok(open) = std::fs::read_dir(format!("{SELF}/fd")) {
        gauge(encoder, "process_open_fds", "Open files, sockets and pipes", &(open.count() as u64))?;
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        gauge(encoder, "process_max_fds", "Most files, sockets and pipes that may be open", &most)?;
    }
    Ok(())
}
