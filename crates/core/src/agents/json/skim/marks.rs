//! Where texts end or have to be looked at: quotes, backslashes and control characters, found in many bytes at once.

use fearless_simd::{Level, dispatch, prelude::*, u8x64};
use std::cell::Cell;

/// How many bytes are looked over at once.
const BLOCK: usize = 64;
/// What a line leaves for the next one is for no longer line than is mostly read.
const ROOMIEST: usize = (256 << 10) / BLOCK;

/// The marks of a line: for each block of it, a bit for each mark.
pub(super) struct Marked(Vec<u64>);

impl Marked {
    pub(super) fn of(line: &[u8]) -> Self {
        Self::by(Level::new(), line)
    }

    fn by(processor: Level, line: &[u8]) -> Self {
        let mut blocks = SPARE.take();
        blocks.clear();
        blocks.resize(line.len().div_ceil(BLOCK), 0);
        dispatch!(processor, simd => mark(simd, line, &mut blocks));
        Self(blocks)
    }

    /// All of them, of which none was met yet.
    pub(super) fn marks(&self) -> Marks<'_> {
        Marks { blocks: &self.0, block: 0, bits: self.0.first().copied().unwrap_or_default() }
    }
}

thread_local! {
    /// Room that the next line of the same thread has again: there are hundreds of thousands.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl Drop for Marked {
    fn drop(&mut self) {
        if self.0.len() <= ROOMIEST {
            let blocks = std::mem::take(&mut self.0);
            let _ = SPARE.try_with(|spare| spare.set(blocks)); // none where the thread ends
        }
    }
}

/// The marks of a line that were not met yet.
#[derive(Clone, Copy)]
pub(super) struct Marks<'m> {
    blocks: &'m [u64],
    /// In which block the next ones are looked for.
    block: usize,
    /// A bit for each of them in it.
    bits: u64,
}

impl Marks<'_> {
    /// Where the next one is, which is passed.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.block += 1;
            self.bits = *self.blocks.get(self.block)?;
        }
        let at = self.block * BLOCK + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(at)
    }
}

/// A loop of its own, and all inlined that it calls: what is not is compiled for processors of any age.
#[inline(always)]
fn mark<S: Simd>(simd: S, line: &[u8], marked: &mut [u64]) {
    let (blocks, rest) = line.as_chunks();
    let mut at = 0;
    while at < blocks.len() && at < marked.len() {
        marked[at] = bits(simd, &blocks[at]);
        at += 1;
    }
    if let Some(last) = marked.get_mut(at) {
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        *last = bits(simd, &block);
    }
}

/// The marks of a block.
#[inline(always)]
fn bits<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let block = u8x64::from_slice(simd, block);
    (block.simd_eq(b'"') | block.simd_eq(b'\\') | block.simd_lt(b' ')).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::json::words::processors;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_marks_are_met_in_order(
            line in prop::collection::vec(prop_oneof![4 => b' '..=b'z', 1 => any::<u8>()], 0..300),
        ) {
            let is_mark = |at: &usize| matches!(line[*at], b'"' | b'\\' | 0..b' ');
            for processor in processors() {
                let marked = Marked::by(processor, &line);
                let mut marks = marked.marks();
                let met: Vec<_> = std::iter::from_fn(|| marks.next()).collect();
                prop_assert_eq!(met, (0..line.len()).filter(is_mark).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for size in [1, 63, 64, 65, 128, 200] {
            for at in 0..size {
                let mut line = vec![b'x'; size];
                line[at] = b'"';
                let marked = Marked::of(&line);
                let mut marks = marked.marks();
                assert_eq!((marks.next(), marks.next()), (Some(at), None), "{at} of {size}");
            }
        }
    }
}
