//! `cargo xtask counts`: how many instructions the readers of `core` take on captured trees, compared
//! with what is written down in `xtask/counts.json`.
//!
//! Times are noise on a busy machine; instructions are not. Counted is the program's own code alone: what
//! the C library takes depends on its version and on the processor. So does what `memchr` takes, which is
//! why counts are compared only where there is AVX2, with which they were written down.

mod callgrind;
mod compare;
mod run;

pub(crate) use run::{compared, written};
