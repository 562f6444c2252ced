//! How a check prints its report: one report, seven forms.

use std::io::Write;

use clap::{Args, ValueEnum};
use extentdb_check::Report;
use extentdb_report::{
    Input, TextOptions, to_html, to_json, to_jsonl, to_junit, to_sarif, to_tableresults,
    to_text_with,
};

use crate::output::Output;
use crate::terminal::{Color, with_coloured_verdict};

/// `--format` of `check`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReportFormatArgs {
    /// How to print the report
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ReportFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The forms of a report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ReportFormat {
    /// Verdict and root causes, then what DBCC prints
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A header, each finding and note, and a summary: one JSON object on a line
    Jsonl,
    /// The rowset of WITH TABLERESULTS, as CSV
    Tableresults,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for CI servers: an object is a test case
    Junit,
    /// One HTML file with a map of the extents
    Html,
}

impl ReportFormatArgs {
    /// The form that was asked for.
    pub(super) fn chosen(self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format }
    }
}

/// How a report is written for people.
#[derive(Clone, Copy)]
pub(super) struct TextStyle {
    pub(super) options: TextOptions,
    pub(super) color: Color,
}

impl ReportFormat {
    /// Writes the report in this form.
    pub(super) fn write(
        self,
        report: &Report,
        inputs: &[Input],
        style: TextStyle,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        match self {
            ReportFormat::Text => {
                let text = to_text_with(report, style.options);
                let is_coloured = style.color.is_on(output.reader());
                let text = if is_coloured { with_coloured_verdict(&text) } else { text };
                output.write_all(text.as_bytes())?;
            }
            ReportFormat::Json => output.write_json(&to_json(report, inputs))?,
            ReportFormat::Jsonl => output.write_all(to_jsonl(report, inputs).as_bytes())?,
            ReportFormat::Tableresults => output.write_all(to_tableresults(report).as_bytes())?,
            ReportFormat::Sarif => output.write_json(&to_sarif(report, inputs))?,
            ReportFormat::Junit => output.write_all(to_junit(report).as_bytes())?,
            ReportFormat::Html => output.write_all(to_html(report, inputs).as_bytes())?,
        }
        Ok(())
    }
}
