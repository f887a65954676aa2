//! Any bytes, any cuts, any options: the core must say what the judge says.

#![no_main]

#[path = "../../tests/core_judge/mod.rs"]
mod core_judge;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| core_judge::check::check(bytes));
