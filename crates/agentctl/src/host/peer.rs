//! Sockets in files, and who listens there: nobody else is told anything.

use agentctl_core::ident::ProcKey;
use std::{io, os::unix::net::UnixStream, path::Path};

/// Connected to this very process, at once or not at all: one who does not take calls must not keep us.
#[cfg(target_os = "linux")]
pub(super) fn connected(path: &Path, peer: &ProcKey) -> io::Result<UnixStream> {
    let stream = dial(path)?;
    let other = other_end(&stream)?.pid;
    if other != Some(peer.pid) || super::Grip::open(peer).is_err() {
        let other = other.unwrap_or_default();
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

/// Connected to whoever listens there, at once or not at all.
#[cfg(target_os = "linux")]
pub(crate) fn dial(path: &Path) -> io::Result<UnixStream> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Such names are short; links to them need not be.
    connect(&socket, &SocketAddrUnix::new(path.canonicalize()?)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Connected to whoever listens there.
#[cfg(not(target_os = "linux"))]
pub(crate) fn dial(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

/// Who is at the other end: of whoever called, the caller; of whoever was called, the one who listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherEnd {
    /// Where the kernel tells.
    pub(crate) uid: Option<u32>,
    /// Where the kernel tells, and it is no process of another pid namespace.
    pub(crate) pid: Option<u32>,
}

/// Asks the kernel who is at the other end.
#[cfg(target_os = "linux")]
pub(crate) fn other_end(stream: &UnixStream) -> io::Result<OtherEnd> {
    let told = rustix::net::sockopt::socket_peercred(stream)?;
    let pid = u32::try_from(told.pid.as_raw_nonzero().get()).ok();
    Ok(OtherEnd { uid: Some(told.uid.as_raw()), pid })
}

/// Nobody here tells: only the modes of socket and directory keep others out.
#[cfg(not(target_os = "linux"))]
pub(crate) fn other_end(_: &UnixStream) -> io::Result<OtherEnd> {
    Ok(OtherEnd { uid: None, pid: None })
}
