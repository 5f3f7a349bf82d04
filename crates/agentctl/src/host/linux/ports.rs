//! Which ports a process listens on, from `/proc/net`.

use agentctl_core::host::{CannotTell, Told};
use std::fs;

/// The state of a socket that waits for connections.
const LISTEN: &str = "0A";

/// Ports on which any of these sockets listens.
pub(super) fn listening(sockets: &[u64]) -> Told<Vec<u16>> {
    let mut ports = Vec::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => ports.extend(text.lines().skip(1).filter_map(|line| port(line, sockets))),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {} // no IPv6 here
            Err(why) => return Err(CannotTell(format!("{table}: {why}"))),
        }
    }
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

fn port(line: &str, sockets: &[u64]) -> Option<u16> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (place, state, inode) = (words.get(1)?, words.get(3)?, words.get(9)?);
    let mine = sockets.contains(&inode.parse().ok()?);
    let port = u16::from_str_radix(place.rsplit(':').next()?, 16).ok()?;
    (*state == LISTEN && mine).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_port_state_and_socket() {
        let line =
            "  0: 0100007F:1000 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0 0 77 1";
        assert_eq!(port(line, &[77]), Some(4096));
        assert_eq!(port(line, &[78]), None);
        assert_eq!(port(&line.replace(" 0A ", " 01 "), &[77]), None);
    }
}
