#![no_main]
#[path = "../statements.rs"]
mod statements;

libfuzzer_sys::fuzz_target!(|data: &[u8]| statements::tsql(data));
