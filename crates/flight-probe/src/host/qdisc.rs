//! How the loopback interface queues, which only netlink tells (rtnetlink(7)).

use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// In every network namespace the loopback interface is the first.
const LOOPBACK_INDEX: u32 = 1;
/// The answer is about one interface, some 1500 bytes.
const ANSWER_BYTES_MAX: usize = 16 << 10;
const ANSWER_TIMEOUT: Duration = Duration::from_millis(200);
/// Lengths and numbers of `linux/netlink.h`, `linux/rtnetlink.h` and `linux/if_link.h`.
const HEADER_BYTES: usize = 16;
const INTERFACE_BYTES: usize = 16;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const NLM_F_REQUEST: u16 = 1;
const IFLA_QDISC: u16 = 6;

/// The name of the queueing discipline, such as `noqueue` or `netem`.
pub(crate) fn of_loopback() -> Option<String> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).ok()?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT)).ok()?;
    send(&socket, &question(), SendFlags::empty()).ok()?;
    let mut answer = vec![0; ANSWER_BYTES_MAX];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).ok()?;
    qdisc(answer.get(..length)?)
}

fn question() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + INTERFACE_BYTES);
    bytes.extend(((HEADER_BYTES + INTERFACE_BYTES) as u32).to_ne_bytes());
    bytes.extend(RTM_GETLINK.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend([0; 8]); // sequence number and port: one question, one answer
    bytes.extend([0; 4]); // any family, any type
    bytes.extend(LOOPBACK_INDEX.to_ne_bytes());
    bytes.extend([0; 8]); // no flags change
    bytes
}

fn qdisc(answer: &[u8]) -> Option<String> {
    if u16_at(answer, 4)? != RTM_NEWLINK {
        return None; // an error, mostly
    }
    let mut rest = answer.get(HEADER_BYTES + INTERFACE_BYTES..)?;
    loop {
        let length = usize::from(u16_at(rest, 0)?);
        let value = rest.get(4..length)?;
        if u16_at(rest, 2)? == IFLA_QDISC {
            let name = value.split(|byte| *byte == 0).next()?;
            return String::from_utf8(name.to_vec()).ok();
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + INTERFACE_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        for (number, value) in attributes {
            bytes.extend((4 + value.len() as u16).to_ne_bytes());
            bytes.extend(number.to_ne_bytes());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[track_caller]
    fn check(answer: &[u8], expected: Option<&str>) {
        assert_eq!(qdisc(answer).as_deref(), expected);
    }

    #[test]
    fn the_name_is_found_among_other_attributes() {
        check(&answer(RTM_NEWLINK, &[(3, b"lo\0"), (IFLA_QDISC, b"netem\0")]), Some("netem"));
    }

    #[test]
    fn an_answer_without_it_is_unknown() {
        check(&answer(RTM_NEWLINK, &[(3, b"lo\0")]), None);
        check(&answer(2, &[(IFLA_QDISC, b"netem\0")]), None);
        check(&[], None);
    }

    #[test]
    fn an_answer_cut_anywhere_is_unknown_and_ends() {
        let whole = answer(RTM_NEWLINK, &[(3, b"lo\0"), (IFLA_QDISC, b"netem\0")]);
        for length in 0..whole.len() - 3 {
            check(&whole[..length], None);
        }
        // An attribute that says it is empty must not be read for ever.
        let mut empty = answer(RTM_NEWLINK, &[(3, b"lo\0")]);
        empty[HEADER_BYTES + INTERFACE_BYTES] = 0;
        check(&empty, None);
    }

    #[test]
    fn this_host_answers_or_is_silent_but_never_with_nothing() {
        assert_ne!(of_loopback().as_deref(), Some(""));
    }
}
