//! Transcripts that are torn, empty, binary or oddly encoded.

use crate::home::{
    DAY, Home, PROJECT, Seen,
    lines::{codex_end, codex_open, id, prompt, reply},
    text,
};

fn path(id: &str) -> String {
    format!("{PROJECT}/{id}.jsonl")
}

fn rollout(id: &str) -> String {
    format!("{DAY}/rollout-2026-11-01T10-00-00-{id}.jsonl")
}

/// Bytes that are no text in any encoding, the same in each run, without a newline at the end.
fn noise(size: usize) -> Vec<u8> {
    let mut state: u32 = 2_463_534_242;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1] | 0x80
    };
    (0..size).map(|at| if at % 97 == 96 { b'\n' } else { next() }).collect()
}

#[test]
fn a_torn_transcript_counts_up_to_the_tear() {
    let home = Home::new();
    let asked = text(&[prompt("Begin")]);
    let answered = text(&[prompt("Begin"), reply("Done")]);
    let tear = |whole: &str, torn: &str| format!("{whole}{}", &torn[..torn.len() / 2]);
    home.write(path(&id(1)), tear(&asked, &reply("Done").to_string()));
    home.write(path(&id(2)), tear(&answered, &prompt("Again").to_string()));
    home.write(path(&id(3)), answered.trim_end());
    let open = text(&codex_open(&id(4), "Begin"));
    home.write(rollout(&id(4)), tear(&open, &codex_end("Done").to_string()));
    home.write(rollout(&id(5)), format!("{open}{}", codex_end("Done")));
    let expected = Seen::good()
        .and(id(1), "died")
        .and(id(2), "done")
        .and(id(3), "done")
        .and(id(4), "died")
        .and(id(5), "done");
    assert_eq!(home.seen(), expected);
}

/// What a file system may leave of a file after the power went: zeros where data should be.
#[test]
fn zeros_at_the_end_say_nothing() {
    let home = Home::new();
    let zeros = "\0".repeat(8192);
    home.write(path(&id(1)), format!("{}{zeros}", text(&[prompt("Begin"), reply("Done")])));
    home.write(path(&id(2)), format!("{}{zeros}\n", text(&[prompt("Begin")])));
    assert_eq!(home.seen(), Seen::good().and(id(1), "done").and(id(2), "died"));
}

/// Somebody may have emptied it, or a disk was full: how the session ended is not in there.
#[test]
fn an_empty_transcript_says_nothing_of_an_end() {
    let home = Home::new();
    home.write(path(&id(1)), "");
    home.write(path(&id(2)), "\n\n\n");
    home.write(rollout(&id(3)), "");
    let expected = Seen::good()
        .and(id(1), "unknown")
        .problem(&path(&id(1)), "it is empty")
        .and(id(2), "done")
        .and(id(3), "unknown")
        .problem(&rollout(&id(3)), "it is empty");
    assert_eq!(home.seen(), expected);
    for (id, code) in [(id(1), 8), (id(2), 0), (id(3), 8)] {
        assert_eq!(home.run(&["logs", &id]).code, Some(code));
    }
}

/// A file of which no line is understood says nothing of how the session ended.
#[test]
fn a_binary_transcript_is_unknown() {
    let home = Home::new();
    home.write(path(&id(1)), noise(100_000));
    home.write(path(&id(2)), [0xff; 10]);
    home.write(path(&id(3)), "#!/bin/sh\necho no transcript\n");
    home.write(rollout(&id(4)), noise(100_000));
    let seen = home.seen().sessions();
    for id in [id(1), id(2), id(3), id(4)] {
        for command in ["status", "explain", "logs", "peek"] {
            home.run(&[command, &id]);
        }
    }
    home.run(&["doctor"]);
    let expected = Seen::good()
        .and(id(1), "unknown")
        .and(id(2), "unknown")
        .and(id(3), "unknown")
        .and(id(4), "unknown");
    assert_eq!(seen, expected.sessions());
}

/// JavaScript cuts texts between the halves of a character, and writes the half as an escape.
#[test]
fn half_a_character_does_not_make_a_line_unreadable() {
    let home = Home::new();
    let half = |line: String| line.replace("HALF", "\\ud83d");
    home.write(path(&id(1)), half(text(&[prompt("Begin"), reply("cut HALF")])));
    home.write(path(&id(2)), half(text(&[prompt("cut HALF"), reply("Done")])));
    let mut thread = codex_open(&id(3), "Begin");
    thread.push(codex_end("cut HALF"));
    home.write(rollout(&id(3)), half(text(&thread)));
    let expected = Seen::good().and(id(1), "done").and(id(2), "done").and(id(3), "done");
    assert_eq!(home.seen(), expected);
}

#[test]
fn bytes_that_are_no_text_do_not_make_a_line_unreadable() {
    let home = Home::new();
    let text = text(&[prompt("Begin"), reply("what BYTES is")]);
    let raw: Vec<u8> = text
        .split("BYTES")
        .map(|part| part.as_bytes().to_vec())
        .collect::<Vec<_>>()
        .join(&[0xff, 0xfe][..]);
    home.write(path(&id(1)), raw);
    assert_eq!(home.seen(), Seen::good().and(id(1), "done"));
}
