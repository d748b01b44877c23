//! Fuzzes the reader of gRPC messages.

#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    targets::message_reader(bytes);
});
