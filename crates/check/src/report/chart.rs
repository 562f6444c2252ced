//! Speed and findings over the time of a run, as a small SVG picture.

use std::fmt::Write;

use super::Sample;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 160.0;
/// Room for the scale beneath.
const FOOT: f64 = 18.0;
/// Points of the line of the speed: each is the mean over its part of the run.
const PARTS: usize = 120;

/// The picture; nothing when there are too few samples to draw a line.
pub(super) fn svg(samples: &[Sample]) -> Option<String> {
    let end = samples.last().filter(|last| last.elapsed_ms > 0 && samples.len() > 2)?;
    let speeds = speeds(samples);
    let fastest = speeds.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let x = |elapsed_ms: u64| WIDTH * elapsed_ms as f64 / end.elapsed_ms as f64;
    let y = |value: f64, most: f64| HEIGHT - (HEIGHT - 4.0) * if most > 0.0 { value / most } else { 0.0 };
    let mut speed_line = String::new();
    for (elapsed_ms, speed) in &speeds {
        let _ = write!(speed_line, "{:.1},{:.1} ", x(*elapsed_ms), y(*speed, fastest));
    }
    let mut findings_line = String::new();
    let most = end.findings as f64;
    for sample in samples {
        let _ = write!(findings_line, "{:.1},{:.1} ", x(sample.elapsed_ms), y(sample.findings as f64, most));
    }
    let title = format!(
        "Up to {fastest:.0} MB/s and {} findings over {:.1} seconds",
        end.findings,
        end.elapsed_ms as f64 / 1e3
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{title}\">",
        HEIGHT + FOOT
    );
    let _ = writeln!(svg, "<title>{title}</title>");
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M0 0V{HEIGHT}H{WIDTH}\"/>");
    let _ = writeln!(svg, "<polyline class=\"speed\" points=\"{}\"/>", speed_line.trim_end());
    if end.findings > 0 {
        let _ = writeln!(svg, "<polyline class=\"count\" points=\"{}\"/>", findings_line.trim_end());
    }
    let foot = HEIGHT + FOOT - 4.0;
    let _ = writeln!(svg, "<text x=\"0\" y=\"{foot}\">0 s</text>");
    let seconds = end.elapsed_ms as f64 / 1e3;
    let _ = writeln!(svg, "<text x=\"{WIDTH}\" y=\"{foot}\" text-anchor=\"end\">{seconds:.1} s</text>");
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Millions of bytes per second, each over a part of the run.
fn speeds(samples: &[Sample]) -> Vec<(u64, f64)> {
    let step = samples.len().div_ceil(PARTS).max(1);
    let points: Vec<&Sample> = samples.iter().step_by(step).chain(samples.last()).collect();
    let pairs = points.iter().zip(points.iter().skip(1));
    let speed = |(before, after): (&&Sample, &&Sample)| {
        let milliseconds = after.elapsed_ms.saturating_sub(before.elapsed_ms);
        let bytes = after.bytes.saturating_sub(before.bytes);
        (milliseconds > 0).then(|| (after.elapsed_ms, bytes as f64 / 1e3 / milliseconds as f64))
    };
    pairs.filter_map(speed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_shows_the_speed_of_each_part() {
        let sample =
            |i: u64| Sample { elapsed_ms: i * 100, bytes: i * 50_000_000, pages: i, findings: i / 5 };
        let samples: Vec<Sample> = (0..=10).map(sample).collect();
        assert!(speeds(&samples).iter().all(|(_, speed)| (speed - 500.0).abs() < 0.001));
        let svg = svg(&samples).unwrap();
        assert!(svg.contains("Up to 500 MB/s and 2 findings over 1.0 seconds"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn a_run_without_length_has_no_chart() {
        assert_eq!(svg(&[]), None);
        assert_eq!(svg(&[Sample::default(); 5]), None);
    }
}
