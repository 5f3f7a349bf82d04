//! JSON that is safe to look at: what could steer a terminal is escaped, and reads back the same.

use agentctl_core::text::{is_hostile, is_plain};
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// A shorter answer is printed whole or not at all. A longer one is printed as it is made: one that cannot be made ends
/// without its last brackets, with an error, and reads as no other.
const HELD: usize = 1 << 20;

/// Prints a whole answer.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(HELD, io::stdout().lock());
    let made = value
        .serialize(&mut Serializer::with_formatter(&mut out, Safe(PrettyFormatter::new())))
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"));
    match made {
        Ok(()) => out.flush(),
        Err(why) => {
            let _ = out.into_parts(); // unlike the end of it, this prints nothing
            Err(why)
        }
    }
}

/// Prints one line of a stream.
pub(crate) fn json_line(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut line = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut line, Safe(CompactFormatter)))?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Prints bytes as they are.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Says which version this is, as the page of help would.
pub(crate) fn version() -> io::Result<()> {
    raw(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())
}

/// Escapes characters that JSON lets pass and a terminal would obey.
struct Safe<F>(F);

macro_rules! forward {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $arg: $kind)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        })*
    };
}

impl<F: Formatter> Formatter for Safe<F> {
    forward! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if is_plain(fragment) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (at, hostile) in fragment.char_indices().filter(|(_, c)| is_hostile(*c)) {
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            for unit in hostile.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + hostile.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped_and_reads_back_the_same() {
        let text = "a\u{9b}b\u{202e}c\u{7f}d\u{e0041}é";
        let mut out = Vec::new();
        text.serialize(&mut Serializer::with_formatter(&mut out, Safe(CompactFormatter))).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, "\"a\\u009bb\\u202ec\\u007fd\\udb40\\udc41é\"");
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }
}
