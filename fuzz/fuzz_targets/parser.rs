//! Any bytes, any cuts, any options: the core must say what the judge says.

#![no_main]

#[path = "../../tests/judge/mod.rs"]
mod judge;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| judge::check::check(bytes));
