//! This machine, as the faces hold it: they hand it on to `ops` and never look inside.

use crate::host::Machine;
use agentctl_core::host::Host;
use jiff::Timestamp;

/// This machine, seen once: every answer of one command is about the same moment.
pub(crate) struct Here(Box<dyn Host>);

impl Here {
    /// With the kernel's own interface, or with portable calls only.
    pub(crate) fn new(portable: bool) -> Self {
        Self(match portable {
            true => Box::new(Machine::portable()),
            false => Box::new(Machine::native()),
        })
    }

    /// The wall clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.now()
    }

    pub(super) fn host(&self) -> &dyn Host {
        &*self.0
    }
}
