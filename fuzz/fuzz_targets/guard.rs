//! Fuzzes the guard and the decoder behind it.

#![no_main]

#[path = "../targets.rs"]
mod targets;

use std::sync::Once;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // libFuzzer's hook aborts on any panic; those of arrow-ipc are caught by our decoder, and one
    // that gets out of it is still found.
    static CAUGHT_ARE_WELL: Once = Once::new();
    CAUGHT_ARE_WELL.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    targets::guard(bytes);
});
