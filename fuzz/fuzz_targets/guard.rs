//! Fuzzes the guard and the decoder behind it.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    targets::guard(bytes);
});
