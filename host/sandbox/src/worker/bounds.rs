//! Resource limits of a worker, and their representation as arguments.

use std::time::Duration;

/// Resource limits of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Processor time of all threads in seconds.
    pub cpu_seconds: u64,
    /// Elapsed time.
    pub time: Duration,
    /// Writable memory in bytes.
    pub memory: u64,
    /// Output in bytes.
    pub output: u64,
}

impl Bounds {
    /// Returns the arguments for a worker. They lack the elapsed time, which the host enforces.
    pub fn to_arguments(self) -> [String; 3] {
        [self.cpu_seconds, self.memory, self.output].map(|bound| bound.to_string())
    }

    /// Parses the arguments of a worker.
    pub fn from_arguments(arguments: &[String]) -> Option<Self> {
        let [cpu_seconds, memory, output] = arguments else { return None };
        Some(Self {
            cpu_seconds: cpu_seconds.parse().ok()?,
            time: Duration::MAX,
            memory: memory.parse().ok()?,
            output: output.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_told_its_bounds() {
        let bounds = Bounds { cpu_seconds: 3, time: Duration::MAX, memory: 5, output: 7 };
        assert_eq!(Bounds::from_arguments(&bounds.to_arguments()), Some(bounds));
        assert_eq!(Bounds::from_arguments(&["3".to_owned(), "5".to_owned()]), None);
        assert_eq!(Bounds::from_arguments(&["3", "5", "-1"].map(str::to_owned)), None);
    }
}
