#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod causes;
mod escape;
mod html;
mod input;
mod json;
mod jsonl;
mod junit;
mod lines;
mod sarif;
mod tableresults;
#[cfg(test)]
mod tests;
mod text;

pub use html::to_html;
pub use input::Input;
pub use json::{estimate_to_json, to_json};
pub use jsonl::to_jsonl;
pub use junit::to_junit;
pub use sarif::to_sarif;
pub use tableresults::to_tableresults;
pub use text::{TextOptions, estimate_to_text, to_text, to_text_with};
