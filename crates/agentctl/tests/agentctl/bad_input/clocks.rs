//! Clocks that were wrong, zones and locales that differ.

use crate::home::{
    ALL, Home, Seen,
    lines::{id, prompt, reply},
};
use serde_json::{Value, json};
use std::{
    fs::File,
    time::{Duration, SystemTime},
};

/// Moments of which some are no moments.
const MOMENTS: &[&str] = &[
    "0000-01-01T00:00:00Z",
    "-009999-01-02T01:59:59Z",
    "1969-12-31T23:59:59Z",
    "9999-12-31T23:59:59.999999999Z",
    "9999-12-30T22:00:00.999999999Z",
    "+012345-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-11-01T10:00:00",
    "2026-11-01T10:00:00+99:99",
    "2026-11-01T10:00:60Z",
    "yesterday",
    "",
];

#[test]
fn any_moment_is_borne() {
    let home = Home::new();
    let mut expected = Seen::good();
    for (number, moment) in (1..).zip(MOMENTS) {
        let (mut asked, mut answered) = (prompt("Begin"), reply("Done"));
        asked["timestamp"] = (*moment).into();
        answered["timestamp"] = (*moment).into();
        home.claude(&id(number), &[asked, answered]);
        expected = expected.and(id(number), "done");
    }
    assert_eq!(home.seen(), expected);
    for number in (1..).zip(MOMENTS).map(|(number, _)| number) {
        for command in ["status", "explain", "logs"] {
            assert_eq!(home.run(&[command, &id(number)]).code, Some(0), "{number}");
        }
    }
    for sort in ["attention", "updated", "started", "state", "agent", "cwd"] {
        assert_eq!(home.run(&["list", "-a", "-w", "--sort", sort]).code, Some(0));
    }
}

/// A file from before 1970, from the far future, or from beyond what a clock can show.
#[test]
fn any_age_of_a_file_is_borne() {
    let home = Home::new();
    let epoch = SystemTime::UNIX_EPOCH;
    let ages = [
        epoch - Duration::from_secs(1 << 31),
        epoch,
        epoch + Duration::from_secs(1 << 33),
        epoch + Duration::from_secs(253_402_300_800),
    ];
    let mut expected = Seen::good();
    for (number, age) in (1..).zip(ages) {
        let mut answered = reply("Done");
        answered["timestamp"] = Value::Null;
        let path = home.claude(&id(number), &[prompt("Begin"), answered]);
        // A file system that cannot keep such a time keeps the nearest one.
        let _ = File::options().append(true).open(path).expect("a file").set_modified(age);
        expected = expected.and(id(number), "done");
    }
    assert_eq!(home.seen(), expected);
    assert_eq!(home.run(&["list", "-a", "-w"]).code, Some(0));
}

/// The newest line decides what is recent; one from the future is not old.
#[test]
fn the_future_is_recent_and_said_to_be_the_future() {
    let home = Home::new();
    let mut answered = reply("Done");
    answered["timestamp"] = "2999-01-01T00:00:00Z".into();
    home.claude(&id(1), &[prompt("Begin"), answered]);
    let list = home.run(&["list", "-a", "--json"]).json();
    assert_eq!(list["sessions"][0]["id"], json!(id(1)));
    let status = home.run(&["status", &id(1)]).stdout;
    let line = status.lines().find(|line| line.contains("updated")).expect("a line");
    assert_eq!(line, "   updated 2999-01-01 00:00:00Z (in the future)");
}

/// What programs read depends on nobody's place or language.
#[test]
fn zones_and_locales_change_no_byte() {
    let home = Home::new();
    home.claude(&id(1), &[prompt("Grüße"), reply("日本")]);
    let plain = home.run(ALL);
    for (name, value) in [
        ("TZ", "Asia/Kolkata"),
        ("TZ", "America/St_Johns"),
        ("TZ", "Nowhere/Land"),
        ("TZ", ":/etc/passwd"),
        ("TZ", ""),
        ("LC_ALL", "C"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LC_ALL", "de_DE.ISO-8859-1"),
        ("LANG", "ar_EG.UTF-8"),
        ("LC_NUMERIC", "de_DE.UTF-8"),
    ] {
        let other = home.ask(home.agentctl(ALL).env(name, value));
        assert_eq!((&other.stdout, other.code), (&plain.stdout, plain.code), "{name}={value}");
    }
    for args in [&["status", &id(1)][..], &["logs", &id(1)], &["explain", &id(1)]] {
        let there = home.ask(home.agentctl(args).env("TZ", "Pacific/Apia").env("LC_ALL", "C"));
        assert_eq!(there.stdout, home.run(args).stdout);
    }
}
