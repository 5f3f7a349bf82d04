//! The room against the real kernel: real files, real processes.

mod disk;
#[cfg(target_os = "linux")]
mod grip;
mod kernels;
#[cfg(target_os = "linux")]
mod listening;
#[cfg(target_os = "linux")]
mod proc;
#[cfg(target_os = "linux")]
mod speed;
#[cfg(target_os = "linux")]
mod strangers;
#[cfg(target_os = "linux")]
mod uses;
mod watching;

use agentctl_core::{host::Kernel, ident::ProcKey};
use std::{
    io::ErrorKind,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A child that is killed and collected when the test ends.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("the program starts"))
    }

    fn sleeping() -> Self {
        Self::start(Command::new("sleep").arg("1000"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Its name in the words of this kernel, which must not have been asked before.
    fn key(&self, kernel: &dyn Kernel) -> ProcKey {
        let table = kernel.table().expect("a table");
        table.key(table.process(self.pid()).expect("the child is in the table"))
    }

    fn end(mut self) {
        self.kill();
    }

    fn kill(&mut self) {
        match self.0.kill() {
            Ok(()) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}"),
        }
        self.0.wait().expect("the child is collected");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for a fact.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        match look() {
            Some(fact) => return fact,
            None => assert!(Instant::now() < limit, "waited in vain: {what}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}
