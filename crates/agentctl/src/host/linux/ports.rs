//! Where a process listens, from `/proc/net`.

use agentctl_core::host::{CannotTell, Told};
use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// The state of a socket that waits for connections.
const LISTEN: &str = "0A";

/// Addresses on which any of these sockets listens.
pub(super) fn listening(sockets: &[u64]) -> Told<Vec<SocketAddr>> {
    let mut places = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => places.extend(text.lines().skip(1).filter_map(|line| place(line, sockets))),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {} // no IPv6 here
            Err(why) => return Err(CannotTell(format!("{table}: {why}"))),
        }
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}

fn place(line: &str, sockets: &[u64]) -> Option<SocketAddr> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (place, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
    let mine = sockets.contains(&inode.parse().ok()?);
    let (ip, port) = place.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    (*state == LISTEN && mine).then_some(SocketAddr::new(address(ip)?, port))
}

/// The kernel writes addresses word by word, each as this machine has it in memory.
fn address(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = digits.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes)
    };
    match digits.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (at, part) in bytes.chunks_mut(4).enumerate() {
                part.copy_from_slice(&word(at)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(bytes)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_line_tells_address_state_and_socket() {
        let local = u32::from_ne_bytes([127, 0, 0, 1]);
        let line = format!(
            "  0: {local:08X}:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 77 1"
        );
        assert_eq!(place(&line, &[77]), Some(SocketAddr::from(([127, 0, 0, 1], 4096))));
        assert_eq!(place(&line, &[78]), None);
        assert_eq!(place(&line.replace(" 0A ", " 01 "), &[77]), None);
    }

    #[test]
    fn real_listeners_are_told_with_their_addresses() {
        for any in ["127.0.0.1:0", "127.0.0.9:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(socket) = TcpListener::bind(any) else { continue }; // no IPv6 here
            let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd()));
            let link = link.expect("it is open").to_string_lossy().into_owned();
            let inode = link.trim_start_matches("socket:[").trim_end_matches(']');
            let told = listening(&[inode.parse().expect("sockets have numbers")]);
            assert_eq!(told, Ok(vec![socket.local_addr().expect("it is bound")]));
        }
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        #[test]
        fn any_line_is_an_address_or_nothing() {
            let run = |text: &[u8]| {
                for line in String::from_utf8_lossy(text).lines() {
                    assert_eq!(place(line, &[]), None);
                    let _ = place(line, &[77]);
                }
            };
            Target::new("ports", run).holds(3_000);
        }
    }
}
