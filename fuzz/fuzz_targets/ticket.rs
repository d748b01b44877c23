//! Fuzzes what is read of a ticket, before its signature holds and after.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    flight_ticket::fuzzing::ticket(bytes);
});
