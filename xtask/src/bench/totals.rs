//! Tokens and cost of everything: how fast transcripts are read, and what it costs to ask again.

use super::{
    home::Home,
    live::Live,
    measure::{Cost, Subject},
    paper::Paper,
    report,
    rounds::Costs,
    run::{Bench, yardstick},
};
use crate::failure::{Failure, Outcome};
use std::{fs::File, io::Write, path::Path};

/// The command that reads every transcript, and tells what each session used.
const WORDS: &[&str] = &["list", "-a", "--since", "all", "--usage"];
/// With this it also tells why each is as it is, and its first and last words.
const MORE: &str = "--json";
/// What `rg` looks for: the word that stands before what a model used.
const PATTERN: &str = "\"usage\"";
/// How often.
const ROUNDS: usize = 7;
/// What one transcript grows by: an answer of Claude Code.
const GROWTH: &str = r#"{"type":"assistant","message":{"id":"msg_grown","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"usage":{"input_tokens":12,"output_tokens":7}},"requestId":"req_grown"}"#;

/// Tells it, next to `rg` over the same files.
pub(super) fn run(
    bench: &Bench,
    paper: &mut Paper,
    home: &Home,
    (live, bytes): (&Live, u64),
) -> Outcome<()> {
    let rg = Subject::new(&bench.rg, home);
    let rg = rg.words(["-j1", "-a", "-c", "--no-ignore", "--hidden", "-e", PATTERN]);
    let rg = rg.words(home.folders());
    let plain = bench.subject(home, WORDS);
    let first = plain.clone().cold();
    let whole = first.clone().words([MORE]);
    let again = plain.clone().again();
    let mut costs = [const { Vec::<Cost>::new() }; 5];
    rg.run()?;
    for _ in 0..ROUNDS {
        costs[0].push(rg.run()?);
        costs[1].push(first.run()?);
        costs[2].push(again.run()?);
        if let Ok(path) = live.transcript(home) {
            grow(&path)?;
            costs[3].push(plain.run()?);
        }
        costs[4].push(whole.run()?);
    }
    let [rg, cold, warm, grown, all] = costs.map(|all| {
        let mut costs = Costs::default();
        all.into_iter().for_each(|cost| costs.add(cost));
        costs
    });
    let speed = |costs: &Costs| bytes as f64 / 1e6 / costs.cpu() * 1e3;
    let share = |costs: &Costs| speed(costs) / speed(&rg);
    paper.say(format!("\nTokens and cost of everything, `{}`:\n", WORDS.join(" ")));
    let tell = |name: &str, costs: &Costs| {
        format!("{}, {:.0} MB/s a core", yardstick(name, costs), speed(costs))
    };
    paper.say(tell(&format!("`rg -j1 -a -c {PATTERN}`"), &rg));
    let tell_first = |name: &str, costs: &Costs, subject: &Subject| {
        let (peak, share) =
            (subject.peak(&bench.scratch).unwrap_or(f64::NAN), share(costs) * 100.0);
        format!("{}, {peak:.1} MB at most: {share:.0} % of `rg` a core", tell(name, costs))
    };
    paper.say(format!(
        "{} (bar: 50 %): {}",
        tell_first("first time", &cold, &first),
        report::verdict(&[(Some(-share(&cold)), Some(-0.5))])
    ));
    paper.say(tell_first(&format!("the same with `{MORE}`"), &all, &whole));
    paper.say(yardstick("again, nothing changed", &warm));
    if grown.wall().is_nan() {
        return Ok(());
    }
    // What follows the growth is what it costs beyond a look at ten thousand sessions of which none grew.
    let more = (grown.cpu_times(&warm) - 1.0) * 100.0;
    paper.say(format!(
        "{}: {more:+.0} % (bar: below 10 %): {}; {:.0} % of the first time",
        yardstick("again, one transcript grew by a line", &grown),
        report::verdict(&[(Some(more), Some(10.0))]),
        grown.cpu() / cold.cpu() * 100.0
    ));
    Ok(())
}

fn grow(transcript: &Path) -> Outcome<()> {
    let failed = |why| Failure::io("append to", transcript, &why);
    let mut file = File::options().append(true).open(transcript).map_err(failed)?;
    writeln!(file, "{GROWTH}").map_err(failed)
}
