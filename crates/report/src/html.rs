//! The report as one HTML file that needs nothing else: no network, no fonts, no libraries.
//!
//! ```text
//! verdict and figures          files, scope, totals, repair level, coverage
//! root causes                  findings that others follow from
//! map of extents               a canvas per file, drawn by a small script from run lengths; its
//!                              legend as a table
//! over time                    speed and findings, as SVG
//! findings                     a table; the script filters it
//! objects, not checked, notes
//! ```
//!
//! Without the script everything but the map is there. All text from the database is escaped; what
//! the script reads is JSON in which `<` is escaped, so that no name can end the element.

use std::collections::BTreeMap;
use std::fmt::Write;

use extentdb_check::report::{CellOwner, ExtentMap, FileExtents};
use extentdb_check::{Finding, Report};
use extentdb_messages::RepairLevel;
use serde_json::{Value, json};

use crate::causes::{derived_count, root_causes};
use crate::escape::escaped;
use crate::input::Input;

mod chart;

/// Findings that the table holds.
const FINDINGS_MAX: usize = 5_000;
/// Owners that the legend of the map names.
const OWNERS_MAX: usize = 24;
/// Root causes that are listed.
const CAUSES_MAX: usize = 50;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// The report as an HTML page.
pub fn to_html(report: &Report, inputs: &[Input]) -> String {
    let mut page = Page { report, out: String::new() };
    page.head();
    page.summary(inputs);
    page.causes();
    page.map();
    page.time();
    page.findings();
    page.objects();
    page.not_checked();
    page.notes();
    page.end();
    page.out
}

/// The page while it is written. Writing to a string does not fail.
struct Page<'r> {
    report: &'r Report,
    out: String,
}

macro_rules! put {
    ($page:expr, $($format:tt)*) => {{ let _ = writeln!($page.out, $($format)*); }};
}

impl Page<'_> {
    fn head(&mut self) {
        let database = escaped(&self.report.database);
        let verdict = self.report.verdict.name();
        put!(self, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
        put!(self, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        put!(
            self,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\">"
        );
        put!(
            self,
            "<title>{database}: {verdict}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>"
        );
        put!(self, "<h1>{} of {database}</h1>", self.report.command);
        put!(self, "<p><span class=\"verdict {verdict}\">{verdict}</span></p>");
    }

    /// The beginning of a section; `title` ends its heading.
    fn section(&mut self, id: &str, title: &str) {
        put!(self, "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{title}");
    }

    fn summary(&mut self, inputs: &[Input]) {
        let report = self.report;
        let coverage = &report.coverage;
        let files: Vec<String> =
            inputs.iter().map(|input| format!("{} ({} bytes)", input.path, input.bytes)).collect();
        let repair = match report.repair {
            RepairLevel::None => "none".to_owned(),
            level => level.to_string(),
        };
        let options = match report.options.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        put!(self, "<dl>");
        for (name, value) in [
            ("Files", files.join(", ")),
            ("Limited to", report.target.clone().unwrap_or_default()),
            ("Scope", report.scope.name().to_owned()),
            ("Options", options),
            ("Allocation errors", report.totals.allocation.to_string()),
            ("Consistency errors", report.totals.consistency.to_string()),
            ("Minimum repair level", repair),
            (
                "Pages",
                format!(
                    "{} of {} allocated pages checked, {} objects",
                    coverage.pages_checked, coverage.pages_planned, coverage.objects
                ),
            ),
            (
                "Time",
                format!("{:.3} s, {:.1} MB/s", report.elapsed.as_secs_f64(), report.mb_per_s()),
            ),
        ] {
            if !value.is_empty() {
                put!(self, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
            }
        }
        put!(self, "</dl>");
    }

    fn causes(&mut self) {
        let causes = root_causes(self.report);
        if causes.is_empty() {
            return;
        }
        self.section("causes", "Root causes</h2>");
        let derived = derived_count(self.report);
        let all = self.report.findings.len();
        put!(self, "<p>{derived} of {all} findings follow from {} others.</p>", causes.len());
        put!(self, "<div class=\"scroll\"><table><thead><tr><th>Finding</th><th>Object</th>");
        put!(self, "<th class=\"number\">Follow from it</th><th>Message</th></tr></thead><tbody>");
        for root in causes.iter().take(CAUSES_MAX) {
            let owner = root.finding.and_then(|finding| finding.location.owner);
            let object =
                owner.and_then(|owner| self.report.object_name(owner.object)).unwrap_or_default();
            let message = root.finding.map_or("", |finding| &finding.message);
            put!(
                self,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
                root.cause,
                escaped(object),
                root.derived,
                escaped(message)
            );
        }
        put!(self, "</tbody></table></div></section>");
    }

    fn time(&mut self) {
        if let Some(svg) = chart::svg(&self.report.timeline) {
            self.section("time", "Over time</h2>");
            put!(self, "<p class=\"quiet\">Line: MB/s. Dashed: findings.</p>\n{svg}</section>");
        }
    }

    fn findings(&mut self) {
        let report = self.report;
        self.section("list", "Findings</h2>");
        if report.findings.is_empty() {
            put!(self, "<p>None.</p></section>");
            return;
        }
        let more =
            report.findings_omitted + report.findings.len().saturating_sub(FINDINGS_MAX) as u64;
        if more > 0 {
            put!(self, "<p>{more} more findings are counted but not listed here.</p>");
        }
        self.filter();
        put!(self, "<div class=\"scroll\"><table id=\"findings\"><thead><tr>");
        for (class, name) in [("number", "Msg"), ("", "Object"), ("number", "Index"), ("", "Place")]
        {
            put!(self, "<th class=\"{class}\">{name}</th>");
        }
        put!(
            self,
            "<th>Key</th><th>Repair</th><th>Follows from</th><th>Message</th></tr></thead><tbody>"
        );
        report.findings.iter().take(FINDINGS_MAX).for_each(|finding| self.finding(finding));
        put!(self, "</tbody></table></div></section>");
    }

    fn filter(&mut self) {
        let mut numbers: Vec<u32> =
            self.report.findings.iter().map(|finding| finding.error).collect();
        numbers.sort_unstable();
        numbers.dedup();
        put!(
            self,
            "<form id=\"filter\"><label>Object<input name=\"object\" type=\"search\"></label>"
        );
        put!(self, "<label>Number<select name=\"number\"><option value=\"\">all</option>");
        for number in numbers {
            put!(self, "<option>{number}</option>");
        }
        put!(
            self,
            "</select></label><label>Root causes only<input name=\"roots\" type=\"checkbox\"></label>"
        );
        put!(self, "<output id=\"shown\" aria-live=\"polite\"></output></form>");
    }

    fn finding(&mut self, finding: &Finding) {
        let owner = finding.location.owner;
        let id = owner.map(|owner| owner.object.to_string()).unwrap_or_default();
        let object = owner.and_then(|owner| self.report.object_name(owner.object)).unwrap_or(&id);
        let object = escaped(object);
        let place = match (finding.location.page, finding.location.slot) {
            (Some(page), Some(slot)) => format!("({}:{}:{})", page.file.0, page.page, slot.0),
            (Some(page), None) => page.to_string(),
            (None, _) => String::new(),
        };
        let (class, cause) = match finding.derived_from {
            Some(cause) => ("derived", cause.to_string()),
            None => ("root", String::new()),
        };
        let sentences = std::iter::once(finding).chain(&finding.companions);
        let message = sentences.map(|it| escaped(&it.message)).collect::<Vec<_>>().join("<br>");
        put!(
            self,
            "<tr class=\"{class}\" data-object=\"{object}\" data-number=\"{0}\"><td class=\"number\">{0}</td><td>{object}</td>\
             <td class=\"number\">{1}</td><td>{place}</td><td>{2}</td><td>{3}</td><td>{cause}</td><td>{message}</td></tr>",
            finding.error,
            owner.map(|owner| owner.index.0.to_string()).unwrap_or_default(),
            escaped(finding.key.as_deref().unwrap_or_default()),
            finding.repair,
        );
    }

    fn objects(&mut self) {
        self.section("objects", "Objects</h2><details>");
        put!(self, "<summary>{} objects</summary>", self.report.objects.len());
        put!(
            self,
            "<div class=\"scroll\"><table><thead><tr><th>Object</th><th class=\"number\">Id</th>"
        );
        put!(self, "<th class=\"number\">Rows</th><th class=\"number\">Pages</th>");
        put!(
            self,
            "<th class=\"number\">Allocation errors</th><th class=\"number\">Consistency errors</th>"
        );
        put!(self, "</tr></thead><tbody>");
        for object in &self.report.objects {
            put!(
                self,
                "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
                escaped(&object.name),
                object.object,
                object.rows,
                object.pages,
                object.totals.allocation,
                object.totals.consistency
            );
        }
        put!(self, "</tbody></table></div></details></section>");
    }

    fn not_checked(&mut self) {
        self.section("left-out", "Not checked</h2>");
        if self.report.coverage.not_checked.is_empty() {
            put!(self, "<p>Nothing was left out.</p></section>");
            return;
        }
        put!(self, "<ul>");
        for it in &self.report.coverage.not_checked {
            put!(
                self,
                "<li>{}: <span class=\"quiet\">{}</span></li>",
                escaped(&it.what),
                escaped(&it.why)
            );
        }
        put!(self, "</ul></section>");
    }

    fn notes(&mut self) {
        if !self.report.notes.is_empty() {
            self.section("notes", "Notes</h2><ul>");
            for note in &self.report.notes {
                put!(self, "<li>{}: {}</li>", note.error, escaped(&note.message));
            }
            put!(self, "</ul></section>");
        }
    }

    fn end(&mut self) {
        put!(self, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>");
    }
}

/// An owner as map and legend show it.
struct Shown {
    owner: CellOwner,
    name: String,
    extents: u64,
    faults: u64,
}

/// The map of extents and its legend.
impl Page<'_> {
    fn map(&mut self) {
        let Some(map) = &self.report.map else { return };
        let owners = self.owners(map);
        self.section("map", "Map of extents</h2>");
        let scale = match map.extents_per_cell {
            1 => "A square is an extent of 64 KiB.".to_owned(),
            several => format!(
                "A square stands for {several} extents of 64 KiB and belongs to the owner of most of them."
            ),
        };
        put!(
            self,
            "<p class=\"quiet\">{scale} Findings are red; those that follow from others are orange.</p>"
        );
        put!(
            self,
            "<fieldset><label><input type=\"radio\" name=\"map-by\" value=\"owner\" checked> by owner</label>"
        );
        put!(
            self,
            "<label><input type=\"radio\" name=\"map-by\" value=\"fault\"> by fault</label></fieldset>"
        );
        put!(self, "<p id=\"map-place\" class=\"quiet\">&nbsp;</p>");
        for file in &map.files {
            let id = file.file;
            let path = self.report.files.iter().find(|it| it.id == id).map_or("", |it| &it.path);
            let faults: u64 =
                file.faults.iter().map(|it| u64::from(it.root) + u64::from(it.derived)).sum();
            put!(self, "<h3>File {id}: {}</h3>", escaped(path));
            put!(
                self,
                "<canvas id=\"map-{id}\" role=\"img\" aria-label=\"{} extents of file {id}, {faults} findings; the table \
                 below names the owners\"></canvas>",
                file.extents
            );
        }
        put!(self, "<noscript><p>The map is drawn by a script.</p></noscript>");
        self.legend(&owners);
        let data = map_json(map, &owners).to_string().replace('<', "\\u003c");
        put!(self, "<script type=\"application/json\" id=\"map-data\">{data}</script></section>");
    }

    /// All owners on the map, the largest first.
    fn owners(&self, map: &ExtentMap) -> Vec<Shown> {
        let mut extents: BTreeMap<CellOwner, u64> = BTreeMap::new();
        for run in map.files.iter().flat_map(|file| &file.runs) {
            *extents.entry(run.owner).or_default() += u64::from(run.count);
        }
        let shown = |(owner, extents)| {
            let (name, faults) = match owner {
                CellOwner::Free => ("free".to_owned(), 0),
                CellOwner::Unknown => ("not known".to_owned(), 0),
                CellOwner::Nobody => ("in use without an owner".to_owned(), 0),
                CellOwner::Mixed => ("shared by several objects".to_owned(), 0),
                CellOwner::Maps => ("allocation maps".to_owned(), 0),
                CellOwner::Object(id) => {
                    let name = self
                        .report
                        .object_name(id)
                        .map_or_else(|| format!("object ID {id}"), str::to_owned);
                    let totals = self
                        .report
                        .objects
                        .iter()
                        .find(|it| it.object == id)
                        .map(|it| it.totals.sum());
                    (name, totals.unwrap_or(0))
                }
            };
            Shown { owner, name, extents, faults }
        };
        let mut owners: Vec<Shown> = extents.into_iter().map(shown).collect();
        owners.sort_by(|a, b| b.extents.cmp(&a.extents).then_with(|| a.owner.cmp(&b.owner)));
        owners
    }

    fn legend(&mut self, owners: &[Shown]) {
        let all: u64 = owners.iter().map(|it| it.extents).sum();
        put!(
            self,
            "<div class=\"scroll\"><table><thead><tr><th></th><th>Owner</th><th class=\"number\">Extents</th>"
        );
        put!(
            self,
            "<th class=\"number\">Share</th><th class=\"number\">Errors</th></tr></thead><tbody>"
        );
        for (rank, it) in owners.iter().enumerate().take(OWNERS_MAX) {
            put!(
                self,
                "<tr><td><span class=\"swatch\" style=\"background: {}\"></span></td><td>{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{:.1} %</td><td class=\"number\">{}</td></tr>",
                paint(it.owner, rank),
                escaped(&it.name),
                it.extents,
                100.0 * it.extents as f64 / all.max(1) as f64,
                it.faults
            );
        }
        put!(self, "</tbody></table></div>");
        if let Some(more) = owners.len().checked_sub(OWNERS_MAX + 1) {
            put!(self, "<p class=\"quiet\">And {} more owners.</p>", more + 1);
        }
    }
}

/// What the script draws from.
fn map_json(map: &ExtentMap, owners: &[Shown]) -> Value {
    let place: BTreeMap<CellOwner, usize> =
        owners.iter().zip(0..).map(|(it, at)| (it.owner, at)).collect();
    let file = |file: &FileExtents| {
        let runs = file.runs.iter().map(|run| json!([run.first, run.count, place.get(&run.owner)]));
        let faults = file.faults.iter().map(|it| json!([it.first, it.root, it.derived]));
        json!({
            "id": file.file.0,
            "extents": file.extents,
            "runs": runs.collect::<Value>(),
            "faults": faults.collect::<Value>(),
        })
    };
    let owner = |(rank, it): (usize, &Shown)| json!({"name": it.name, "kind": kind(it.owner), "colour": paint(it.owner, rank)});
    json!({
        "per_cell": map.extents_per_cell,
        "owners": owners.iter().enumerate().map(owner).collect::<Value>(),
        "files": map.files.iter().map(file).collect::<Value>(),
    })
}

fn kind(owner: CellOwner) -> &'static str {
    match owner {
        CellOwner::Free => "free",
        CellOwner::Unknown => "unknown",
        CellOwner::Nobody => "nobody",
        CellOwner::Mixed => "mixed",
        CellOwner::Maps => "maps",
        CellOwner::Object(_) => "object",
    }
}

/// The colour of an owner: neighbours in rank differ most, and none is the red of a finding.
fn paint(owner: CellOwner, rank: usize) -> String {
    match owner {
        CellOwner::Object(_) => {
            let hue = 45.0 + (0.6 + rank as f64 * 0.618_034).fract() * 270.0;
            let lightness = 38 + 10 * (rank % 3);
            format!("hsl({hue:.0} 55% {lightness}%)")
        }
        other => format!("var(--{})", kind(other)),
    }
}
