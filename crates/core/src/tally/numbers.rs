//! Numbers and texts, one behind the other.

use crate::evidence::Tokens;

/// Writes them.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// One number.
    pub(crate) fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A text, behind its length.
    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Four numbers.
    pub(crate) fn tokens(&mut self, tokens: Tokens) {
        let Tokens { input, output, cache_read, cache_write } = tokens;
        [input, output, cache_read, cache_write].into_iter().for_each(|one| self.number(one));
    }

    /// All that was written.
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads them again, in the same order; `None` where there is nothing more.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From the beginning on.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// One number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// How many things follow that take so many bytes each: never more than there are.
    pub(crate) fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count.checked_mul(each)? <= self.0.len()).then_some(count)
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = self.count(1)?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    /// Four numbers.
    pub(crate) fn tokens(&mut self) -> Option<Tokens> {
        let [input, output, cache_read, cache_write] =
            [self.number()?, self.number()?, self.number()?, self.number()?];
        Some(Tokens { input, output, cache_read, cache_write })
    }

    /// All was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}
