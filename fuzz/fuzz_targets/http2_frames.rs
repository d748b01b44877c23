//! Fuzzes the frame decoder of the client's own HTTP/2 connection.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flight_net::client::fuzzing::frames(bytes);
});
