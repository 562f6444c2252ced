#![no_main]
#[path = "../tds_bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::prelogin(data));
