//! Samples of a run: how far it was, and when.
//!
//! Kept small: when there are too many, every other one goes and the next ones come half as often.

use std::time::Duration;

/// Samples that are kept.
const SAMPLES_MAX: usize = 600;
/// Between two samples at first: a run of a tenth of a second still has a picture.
const STEP: Duration = Duration::from_millis(5);

/// How far a run was at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sample {
    /// Since the start.
    pub elapsed_ms: u64,
    /// Bytes read since the start.
    pub bytes: u64,
    /// Pages checked since the start.
    pub pages: u64,
    /// Findings so far, kept or not.
    pub findings: u64,
}

/// Collects at most 600 samples of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    samples: Vec<Sample>,
    step: Duration,
    next: Duration,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline { samples: Vec::new(), step: STEP, next: Duration::ZERO }
    }
}

impl Timeline {
    /// Takes a sample when it is time.
    pub fn offer(&mut self, sample: Sample) {
        let now = Duration::from_millis(sample.elapsed_ms);
        if now < self.next {
            return;
        }
        self.next = now + self.step;
        self.samples.push(sample);
        if self.samples.len() >= SAMPLES_MAX {
            let mut is_kept = false;
            self.samples.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            // Samples may come in less often than they are taken; the later ones are then as far
            // apart as those kept.
            self.step = (self.step * 2).max(now / self.samples.len().max(1) as u32);
        }
    }

    /// The samples, with the end of the run as the last.
    pub fn finish(mut self, last: Sample) -> Vec<Sample> {
        self.samples.retain(|sample| sample.elapsed_ms < last.elapsed_ms);
        self.samples.push(last);
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_few_samples_from_its_whole_length() {
        let mut timeline = Timeline::default();
        let hour = 3_600_000;
        (0..hour / 100).for_each(|i| {
            timeline.offer(Sample { elapsed_ms: i * 100, bytes: i, ..Sample::default() })
        });
        let samples = timeline.finish(Sample { elapsed_ms: hour, ..Sample::default() });
        assert!((SAMPLES_MAX / 4..=SAMPLES_MAX).contains(&samples.len()), "{}", samples.len());
        assert_eq!((samples[0].elapsed_ms, samples.last().unwrap().elapsed_ms), (0, hour));
        let gaps: Vec<u64> =
            samples.windows(2).map(|pair| pair[1].elapsed_ms - pair[0].elapsed_ms).collect();
        let widest = gaps.iter().max().unwrap();
        assert!(*widest <= hour / 100, "{widest}");
    }

    #[test]
    fn samples_within_the_interval_are_dropped() {
        let mut timeline = Timeline::default();
        for elapsed_ms in [0, 1, 4, 5, 8, 11] {
            timeline.offer(Sample { elapsed_ms, ..Sample::default() });
        }
        let times: Vec<u64> = timeline
            .finish(Sample { elapsed_ms: 300, ..Sample::default() })
            .iter()
            .map(|it| it.elapsed_ms)
            .collect();
        assert_eq!(times, [0, 5, 11, 300]);
    }
}
