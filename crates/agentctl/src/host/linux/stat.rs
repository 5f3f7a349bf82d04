//! One line of `/proc/<pid>/stat`.

/// The kernel's `PF_EXITING`: its memory, and with it arguments and environment, may be gone.
const EXITING: u64 = 0x4;

/// The kernel's `PF_FORKNOEXEC`: a copy of its parent, until it loads a program.
const FORKED: u64 = 0x40;

/// The line, with what stands at places that are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// The short name: up to 15 bytes of anything, brackets and newlines included.
    pub(super) comm: &'a [u8],
    rest: &'a [u8],
}

/// What the pass over the table needs of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) parent: u32,
    pub(super) start: u64,
    pub(super) zombie: bool,
    /// By a signal; not one that is traced.
    pub(super) halted: bool,
    /// On its way out: no longer all there, not yet a zombie.
    pub(super) exiting: bool,
    pub(super) forked: bool,
}

impl<'a> Line<'a> {
    /// Splits at the last bracket, because the name may hold brackets of its own.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|&byte| byte == b'(')?;
        let close = line.iter().rposition(|&byte| byte == b')')?;
        let comm = line.get(open + 1..close)?;
        Some(Self { comm, rest: line.get(close + 2..)? })
    }

    /// Field `number` as proc_pid_stat(5) counts them; the state is 3.
    pub(super) fn field(&self, number: usize) -> Option<u64> {
        number_of(self.fields().nth(number.checked_sub(3)?)?)
    }

    /// The fields of the pass, or nothing where this is no such line.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let mut fields = self.fields();
        let state = *fields.next()?.first()?;
        let parent = u32::try_from(number_of(fields.next()?)?).ok()?;
        let flags = number_of(fields.nth(4)?)?;
        let threads = number_of(fields.nth(10)?)?;
        let start = number_of(fields.nth(1)?)?;
        fields.next()?; // else the start may be cut short
        // A main thread that ended before the others looks like a zombie; the process lives on.
        let zombie = matches!(state, b'Z' | b'X' | b'x') && threads <= 1;
        let (exiting, forked) = (flags & EXITING != 0, flags & FORKED != 0);
        let halted = state == b'T';
        Some(Numbers { parent, start, zombie, halted, exiting, forked })
    }

    fn fields(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.rest.split(|&byte| byte == b' ')
    }
}

fn number_of(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] =
        b"77 () Z 1 (\n) S 12 77 77 34816 77 4194368 1 2 3 4 5 6 7 8 20 0 3 0 991 0\n";

    #[test]
    fn a_name_may_hold_brackets_and_newlines() {
        let line = Line::parse(LINE).expect("a line");
        let numbers = Numbers {
            parent: 12,
            start: 991,
            zombie: false,
            halted: false,
            exiting: false,
            forked: true,
        };
        assert_eq!((line.comm, line.numbers()), (&b") Z 1 (\n"[..], Some(numbers)));
        assert_eq!(line.field(22), Some(991));
    }

    #[test]
    fn a_main_thread_that_ended_first_is_no_zombie() {
        let line = |threads| format!("7 (x) Z 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 5 0");
        let zombie = |threads: u32| {
            let line = line(threads);
            Line::parse(line.as_bytes()).and_then(|line| line.numbers()).map(|seen| seen.zombie)
        };
        assert_eq!((zombie(1), zombie(2)), (Some(true), Some(false)));
    }

    #[test]
    fn one_that_a_signal_halted_is_no_zombie() {
        let seen = |state| {
            let line = format!("7 (x) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 5 0");
            let seen = Line::parse(line.as_bytes()).and_then(|line| line.numbers());
            seen.map(|seen| (seen.halted, seen.zombie))
        };
        assert_eq!(
            ['S', 'T', 't'].map(seen),
            [Some((false, false)), Some((true, false)), Some((false, false))]
        );
    }

    #[test]
    fn every_torn_line_is_refused() {
        for end in 0..LINE.len() - " 0\n".len() {
            assert_eq!(Line::parse(&LINE[..end]).and_then(|line| line.numbers()), None, "{end}");
        }
    }

    /// Bytes that mean no good.
    mod hostile {
        use super::*;
        use agentctl_testkit::hostile::Target;

        /// A process calls itself what it likes.
        #[test]
        fn any_line_is_read_or_refused() {
            let run = |line: &[u8]| {
                let Some(read) = Line::parse(line) else { return };
                assert!(read.comm.len() < line.len());
                let _ = (read.numbers(), read.field(0), read.field(22), read.field(usize::MAX));
            };
            Target::new("stat", run).holds(5_000);
        }
    }
}
