//! What a worker may use up, and how it is told.

use std::time::Duration;

/// What a worker may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Processor time, over all of its threads, in seconds.
    pub cpu_seconds: u64,
    /// Time as it passes for people.
    pub time: Duration,
    /// Memory that it writes to, in bytes.
    pub memory: u64,
    /// What it makes, in bytes.
    pub output: u64,
}

impl Bounds {
    /// What a worker is told of them. The host watches the time itself.
    pub fn to_arguments(self) -> [String; 3] {
        [self.cpu_seconds, self.memory, self.output].map(|bound| bound.to_string())
    }

    /// The reverse.
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
