//! Sockets in files, and who listens there: nobody else is told anything.

use agentctl_core::ident::ProcKey;
use std::{io, os::unix::net::UnixStream, path::Path};

/// Connected to this very process, at once or not at all: one who does not take calls must not keep us.
#[cfg(target_os = "linux")]
pub(super) fn connected(path: &Path, peer: &ProcKey) -> io::Result<UnixStream> {
    use super::Grip;
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
        sockopt::socket_peercred,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Such names are short; links to them need not be.
    connect(&socket, &SocketAddrUnix::new(path.canonicalize()?)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    let other = socket_peercred(&stream)?.pid.as_raw_nonzero().get();
    if u32::try_from(other).ok() != Some(peer.pid) || Grip::open(peer).is_err() {
        let why = format!("process {other} listens there, not {}", peer.pid);
        return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, why));
    }
    Ok(stream)
}

/// Nobody here tells who listens.
#[cfg(not(target_os = "linux"))]
pub(super) fn connected(_: &Path, peer: &ProcKey) -> io::Result<UnixStream> {
    let why = format!("this system does not tell whether process {} listens there", peer.pid);
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}
