//! Mutexes that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The value behind `mutex`, also after a panic elsewhere: every value kept here is whole between
/// any two statements, and one failed test thread must not hide the others' results.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
