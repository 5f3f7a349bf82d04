//! Colours and widths, on terminals and elsewhere.

use crate::home::{
    Answer, Home, StandIn,
    lines::{api_error, id, prompt, reply},
};
use serde_json::json;
use std::process::Command;
use unicode_width::UnicodeWidthStr;

const ALL: &[&str] = &["list", "--since", "all"];

/// On a terminal of this many columns, as a person would see it.
fn on_terminal(home: &Home, columns: usize, args: &[&str]) -> String {
    seen(home, columns, args, &[])
}

fn seen(home: &Home, columns: usize, args: &[&str], more: &[(&str, &str)]) -> String {
    let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
    let program = home.program("agentctl");
    let line =
        format!("stty cols {columns} rows 50; exec {} {}", program.display(), words.join(" "));
    let mut script: Command = home.command("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    script.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("TERM", "xterm");
    script.envs(more.iter().copied());
    let answer = Answer::of(&mut script, &home.root().join("out"));
    assert!(matches!(answer.code, Some(0 | 8)), "{answer:#?}");
    answer.stdout.replace("\r\n", "\n")
}

/// Without colours: what stands between `ESC [` and `m`.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (codes, rest) = part.split_once('m').expect("nothing but colours");
        assert!(codes.chars().all(|c| c.is_ascii_digit() || c == ';'), "{part:?}");
        text + rest
    })
}

/// Sessions with long texts of wide and of combined characters.
fn wide() -> (Home, StandIn) {
    let texts = ["a".repeat(300), "日本語の長い題名".repeat(20), "é ü e\u{301}\u{301} ".repeat(40)];
    of_texts(&texts)
}

fn of_texts(texts: &[String]) -> (Home, StandIn) {
    let home = Home::new();
    for (number, text) in (1..).zip(texts) {
        let mut asked = prompt(text);
        asked["cwd"] = format!("/home/dev/{text}").into();
        asked["gitBranch"] = text.as_str().into();
        home.claude(&id(number), &[asked.clone(), reply(text)]);
        home.claude(&id(number + 100), &[asked, api_error("rate_limit", text)]);
    }
    let process = home.stand_in();
    let asks = json!({"status": "waiting", "waitingFor": "permission prompt", "name": texts[0]});
    home.register(&process, &id(1), asks);
    (home, process)
}

/// Lists that are wider than the terminal.
fn too_wide(home: &Home, columns: usize) -> Vec<String> {
    let lists = [&["list"][..], ALL, &["list", "--since", "all", "--usage"]];
    let width = |args: &[&str]| {
        let screen = plain(&on_terminal(home, columns, args));
        screen.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
    };
    let measured = lists.map(|args| (args, width(args))).into_iter();
    measured
        .filter(|(_, widest)| *widest > columns)
        .map(|(args, widest)| format!("{args:?} is {widest} wide on {columns} columns"))
        .collect()
}

#[test]
fn lists_fit_a_wide_terminal() {
    assert_eq!(too_wide(&wide().0, 200), [""; 0]);
}

#[test]
fn lists_fit_the_usual_terminal() {
    assert_eq!(too_wide(&wide().0, 80), [""; 0]);
}

#[test]
fn lists_fit_a_narrow_terminal() {
    assert_eq!(too_wide(&wide().0, 40), [""; 0]);
}

/// Characters that are wider together than one by one.
#[test]
fn emoji_fit_the_terminal() {
    let emoji = "\u{2764}\u{fe0f} \u{1f600} \u{1f1e9}\u{1f1ea} \u{1f468}\u{200d}\u{1f469} ";
    assert_eq!(too_wide(&of_texts(&[emoji.repeat(20)]).0, 200), [""; 0]);
}

/// What is cut says so, and what need not be cut is not.
#[test]
fn a_wide_terminal_shows_more() {
    let (home, _process) = wide();
    let (narrow, broad) = (on_terminal(&home, 80, ALL), on_terminal(&home, 200, ALL));
    assert!(narrow.contains('…') && broad.len() > narrow.len());
    let piped = home.run(ALL).stdout;
    assert!(piped.contains(&format!("{}…", "a".repeat(119))), "{piped}");
    let whole = home.run(&[ALL, &["-w"]].concat()).stdout;
    assert!(!whole.contains('…') && whole.contains(&"a".repeat(300)));
}

#[test]
fn notes_below_a_list_fit_the_terminal() {
    let home = Home::new();
    let screen = plain(&on_terminal(&home, 80, &["list"]));
    assert_eq!(screen, "no live sessions; `agentctl list -a` shows those that ended\n");
}

/// A terminal that does not know its width cuts nothing, and the caller may say the width.
#[test]
fn the_width_may_be_unknown_or_told() {
    let (home, _process) = wide();
    assert_eq!(plain(&on_terminal(&home, 0, ALL)), home.run(ALL).stdout);
    let told = plain(&seen(&home, 200, ALL, &[("COLUMNS", "100")]));
    let widest = told.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
    assert_eq!(widest, 100);
}

#[test]
fn colours_are_for_terminals() {
    let (home, _process) = wide();
    for args in [ALL, &["status", &id(2)], &["explain", &id(2)], &["logs", &id(2)], &["doctor"]] {
        let coloured = on_terminal(&home, 120, args);
        assert!(coloured.contains('\u{1b}'), "{args:?} has no colour on a terminal");
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let screen = seen(&home, 120, args, &[(name, value)]);
            assert_eq!(screen, plain(&coloured), "{args:?} with {name}={value}");
        }
        let empty = seen(&home, 120, args, &[("NO_COLOR", "")]);
        assert_eq!(empty, coloured, "an empty NO_COLOR is none");
        home.run(args); // not on a terminal: checked to hold no escape
    }
}

#[test]
fn colours_may_be_forced() {
    let (home, _process) = wide();
    let run = |more: &[(&str, &str)]| {
        let mut list = home.agentctl(ALL);
        Answer::of(list.envs(more.iter().copied()), &home.root().join("out")).stdout
    };
    let usual = run(&[]);
    let forced = run(&[("CLICOLOR_FORCE", "1")]);
    assert_eq!((forced != usual, plain(&forced)), (true, usual.clone()));
    assert_eq!(run(&[("CLICOLOR_FORCE", "0")]), usual, "0 does not force");
    assert_eq!(run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), usual, "NO_COLOR is obeyed");
}

/// Events are lines for people on a terminal, and JSON elsewhere; nothing in them steers it.
#[test]
fn events_are_lines_on_a_terminal() {
    let home = Home::new();
    let mut hostile = prompt("Begin");
    hostile["cwd"] = json!("/home/dev/\u{1b}[31mred");
    home.claude(&id(1), &[hostile, reply("Done")]);
    let words = ["events", "--once", "--since", "2026-10-31"];
    let shown = plain(&on_terminal(&home, 200, &words));
    let ended = shown.lines().find(|line| line.contains("session.ended")).expect("an end");
    assert!(ended.contains("idle → done"), "{ended}");
    let of = |kind: &str| shown.lines().filter(|line| line.contains(kind)).count();
    assert_eq!([of("gap"), of("session.started"), of("cursor")], [1, 3, 1], "{shown}");
    assert!(shown.contains("[31mred") && !shown.contains('\u{1b}'), "{shown}");
    let piped = home.run(&words).stdout;
    assert!(piped.lines().all(|line| line.starts_with("{\"schema\":1,\"type\":")), "{piped}");
}
