//! Signals that end us, put off while something is half done.

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};
use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// As long as one is there, a signal that would end us only leaves its mark.
pub(crate) struct PutOff;

struct Kept {
    /// How many keep us.
    count: Mutex<usize>,
    /// Nobody does: a signal does what it always does.
    free: Arc<AtomicBool>,
    /// One came meanwhile.
    came: Arc<AtomicBool>,
}

fn kept() -> &'static Kept {
    static KEPT: OnceLock<Kept> = OnceLock::new();
    KEPT.get_or_init(|| {
        let (free, came) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Where one cannot be caught, it ends us as it always did.
            let _ = flag::register_conditional_default(signal, Arc::clone(&free))
                .and_then(|_| flag::register(signal, Arc::clone(&came)));
        }
        Kept { count: Mutex::new(0), free, came }
    })
}

impl PutOff {
    /// From now until it is dropped.
    pub(crate) fn new() -> Self {
        count(|count| count + 1);
        Self
    }

    /// A signal came since the first of them, in whichever thread.
    pub(crate) fn came() -> bool {
        kept().came.load(Ordering::SeqCst)
    }
}

impl Drop for PutOff {
    fn drop(&mut self) {
        count(|count| count.saturating_sub(1));
    }
}

fn count(change: impl FnOnce(usize) -> usize) {
    let kept = kept();
    if let Ok(mut count) = kept.count.lock() {
        *count = change(*count);
        kept.free.store(*count == 0, Ordering::SeqCst);
    }
}
