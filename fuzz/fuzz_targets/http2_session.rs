//! Fuzzes the client's own HTTP/2 connection as a state machine.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flight_net::client::fuzzing::session(bytes);
});
