//! Speed and findings over the time of a run, as a small SVG picture.

use std::fmt::Write;

use extentdb_check::report::Sample;

/// Small enough that the scale can still be read on a screen of 400 pixels.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 120.0;
/// Room for the scale beneath.
const FOOT: f64 = 18.0;
/// Points of the line of the speed: each is the mean over its part of the run.
const PARTS: usize = 120;
/// Most marks on the axis of time.
const MARKS_MAX: u64 = 6;
/// Mantissas of the distance between two marks.
const ROUND: [u64; 3] = [1, 2, 5];

/// The picture; nothing when the run took less than a millisecond.
pub(crate) fn svg(samples: &[Sample]) -> Option<String> {
    let end = samples.last().filter(|last| last.elapsed_ms > 0)?;
    // A short run may have no other sample than its end.
    let samples = &[&[Sample::default()], samples].concat();
    let speeds = speeds(samples);
    let fastest = speeds.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    let x = |elapsed_ms: u64| WIDTH * elapsed_ms as f64 / end.elapsed_ms as f64;
    let y = |value: f64, most: f64| {
        HEIGHT - (HEIGHT - 4.0) * if most > 0.0 { value / most } else { 0.0 }
    };
    let mut speed_line =
        format!("0,{:.1} ", y(speeds.first().map_or(0.0, |(_, speed)| *speed), fastest));
    for (elapsed_ms, speed) in &speeds {
        let _ = write!(speed_line, "{:.1},{:.1} ", x(*elapsed_ms), y(*speed, fastest));
    }
    let mut findings_line = String::new();
    let most = end.findings as f64;
    for sample in samples {
        let _ = write!(
            findings_line,
            "{:.1},{:.1} ",
            x(sample.elapsed_ms),
            y(sample.findings as f64, most)
        );
    }
    let title = format!(
        "Up to {fastest:.0} MB/s and {} findings over {}",
        end.findings,
        time_text(end.elapsed_ms)
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
        let _ =
            writeln!(svg, "<polyline class=\"count\" points=\"{}\"/>", findings_line.trim_end());
    }
    let _ = writeln!(svg, "<text x=\"4\" y=\"12\">{fastest:.0} MB/s</text>");
    for mark in marks(end.elapsed_ms) {
        write_mark(&mut svg, mark, x(mark));
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// A line across the axis of time, and its time.
fn write_mark(svg: &mut String, elapsed_ms: u64, x: f64) {
    let text = time_text(elapsed_ms);
    // Text past the borders would be clipped.
    let anchor = match x {
        x if x < 20.0 => "start",
        x if x > WIDTH - 20.0 => "end",
        _ => "middle",
    };
    let top = HEIGHT - 3.0;
    let foot = HEIGHT + FOOT - 4.0;
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x:.1} {top}V{HEIGHT}\"/>");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{foot}\" text-anchor=\"{anchor}\">{text}</text>");
}

/// Times of the marks in milliseconds: from 0 in steps of 1, 2 or 5 times a power of ten, at most
/// [`MARKS_MAX`] steps.
fn marks(end_ms: u64) -> impl Iterator<Item = u64> {
    let powers = (0..19u32).map(|power| 10u64.pow(power));
    let mut steps = powers.flat_map(|power| ROUND.map(|mantissa| power.saturating_mul(mantissa)));
    let step = steps.find(|step| end_ms / step < MARKS_MAX).unwrap_or(u64::MAX);
    (0..=end_ms / step).map(move |mark| mark * step)
}

/// A time in the unit that fits it.
fn time_text(elapsed_ms: u64) -> String {
    match elapsed_ms {
        0..1_000 => format!("{elapsed_ms} ms"),
        1_000..100_000 if elapsed_ms.is_multiple_of(1_000) => format!("{} s", elapsed_ms / 1_000),
        1_000..100_000 => format!("{:.1} s", elapsed_ms as f64 / 1e3),
        _ => format!("{} min", elapsed_ms / 60_000),
    }
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
        let sample = |i: u64| Sample {
            elapsed_ms: i * 100,
            bytes: i * 50_000_000,
            pages: i,
            findings: i / 5,
        };
        let samples: Vec<Sample> = (0..=10).map(sample).collect();
        assert!(speeds(&samples).iter().all(|(_, speed)| (speed - 500.0).abs() < 0.001));
        let svg = svg(&samples).unwrap();
        assert!(svg.contains("Up to 500 MB/s and 2 findings over 1 s"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn a_short_run_has_a_scale_of_time() {
        let end = Sample { elapsed_ms: 42, bytes: 4_200_000, pages: 500, findings: 0 };
        let svg = svg(&[end]).unwrap();
        assert_eq!(marks(42).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
        for text in [">0 ms<", ">10 ms<", ">40 ms<", ">100 MB/s<"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
    }

    #[test]
    fn marks_are_few_and_round_for_runs_of_any_length() {
        for end in [1, 9, 250, 3_600, 100_000, 86_400_000, u64::MAX] {
            let marks: Vec<u64> = marks(end).collect();
            assert!((1..=1 + MARKS_MAX as usize).contains(&marks.len()), "{end}: {marks:?}");
            assert!(marks.iter().all(|mark| *mark <= end), "{end}: {marks:?}");
        }
        assert_eq!(marks(250).collect::<Vec<_>>(), [0, 50, 100, 150, 200, 250]);
        assert_eq!(
            [time_text(250), time_text(3_600), time_text(600_000)],
            ["250 ms", "3.6 s", "10 min"]
        );
    }

    #[test]
    fn a_run_without_length_has_no_chart() {
        assert_eq!(svg(&[]), None);
        assert_eq!(svg(&[Sample::default(); 5]), None);
    }
}
