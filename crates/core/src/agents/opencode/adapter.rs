//! The adapter: which table, file or page answers which question.

use super::{control, cursor::Cursor, database, launch, messages, record, server, storage, store};
use crate::{
    agent::{
        Agent, Card, Claim, Claims, Depth, Listing, Message, Part, Program, Server, Shape, Stub,
        Watched,
    },
    agents::files::logs,
    control::{Leads, Question, Request, Target, Unheard},
    evidence::{Record, Role},
    host::{Env, Host},
    launch::{Ask, Plan, Signal},
    proof::{Source, shell_word},
    push::Push,
    sheet::Sheet,
    turns,
};
use jiff::{SignedDuration, Timestamp};
use std::{
    io,
    path::{Path, PathBuf},
};

/// OpenCode.
pub(in crate::agents) struct OpenCode;

/// A process makes its session as it starts, which took 5 s on a loaded machine.
const STARTS_WITHIN: SignedDuration = SignedDuration::from_secs(30);

static CARD: Card = Card {
    name: "opencode",
    aliases: &[],
    title: "OpenCode",
    binary: "opencode",
    home: ".local/share/opencode",
    variables: &["XDG_DATA_HOME", "OPENCODE_DB", "PWD"],
    proved: &["1.1.65", "1.2.1", "1.18.33"],
    stays: true,
    keeps_open: false,
    locks_only: false,
    tool_variable: None,
    inherited: launch::INHERITED,
    infers: true,
    names_files: false,
    local_ids: false,
    costs: true,
    short: 12, // `ses_` and the first hex digits of its time
    known: &[],
};

impl Agent for OpenCode {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn stores(&self, env: &Env) -> Vec<PathBuf> {
        let given = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || given("HOME").map(|home| home.join(CARD.home));
        let place = given("XDG_DATA_HOME").map(|dir| dir.join("opencode")).or_else(usual);
        let Some(place) = place else { return Vec::new() };
        vec![given("OPENCODE_DB").map_or(place.clone(), |db| place.join(db))]
    }

    fn watched(&self) -> &'static [Watched] {
        &[Watched::Flat(""), Watched::Tree("storage")]
    }

    fn may_be(&self, comm: &str) -> bool {
        matches!(comm, "opencode" | "opencode.exe" | "opencode-cli")
    }

    fn part(&self, program: &Program<'_>) -> Option<Part> {
        let name = program.exe.and_then(|exe| exe.file_name()?.to_str());
        let is_opencode = name.is_none_or(|name| self.may_be(name));
        is_opencode.then(|| Words::of(program.argv).part())
    }

    fn names(&self, program: &Program<'_>) -> Option<String> {
        let words = Words::of(program.argv);
        // A terminal may have gone on to another session, and a fork has an id of its own.
        let one = words.part() == Part::Agent(Role::Headless) && !words.has(&["--fork"]);
        self.may_name(program).filter(|_| one)
    }

    fn may_name(&self, program: &Program<'_>) -> Option<String> {
        Words::of(program.argv).value(&["--session", "-s"]).filter(|id| store::is_id(id))
    }

    fn may_resume(&self, program: &Program<'_>) -> bool {
        let words = Words::of(program.argv);
        words.has(&["--continue", "-c"]) && !words.has(&["--fork"])
    }

    /// 1.18.33 goes on with the newest of the project, which may be a directory above or below.
    fn shares(&self, own: &Path, cwd: &Path) -> bool {
        own.starts_with(cwd) || cwd.starts_with(own)
    }

    /// A `run` makes its session as it starts; a terminal makes one without the rules of a `run`, at
    /// its first prompt.
    fn may_join(&self, record: &Record, since: Timestamp, role: Option<Role>) -> bool {
        let late = |made: Timestamp| made.duration_since(since) > STARTS_WITHIN;
        match (role, record.made_by) {
            (Some(Role::Headless), made_by) => made_by == role && !record.started.is_some_and(late),
            (_, made_by) => made_by.is_none(),
        }
    }

    fn always_open(&self, host: &dyn Host, store: &Path) -> Option<PathBuf> {
        match store::databases(host, store).ok()?.as_slice() {
            [only] => Some(host.resolve(only)),
            _ => None,
        }
    }

    fn directory(&self, program: &Program<'_>, env: &Env, cwd: PathBuf) -> PathBuf {
        // 1.18.33: `run` believes `$PWD`, however stale, unless told `--dir`; all others go there.
        let words = Words::of(program.argv);
        let run = words.command() == Some("run") && words.value(&["--dir"]).is_none();
        let told = env.get("PWD").map(PathBuf::from).filter(|dir| run && dir.is_absolute());
        told.unwrap_or(cwd)
    }

    fn serves(
        &self,
        host: &dyn Host,
        store: &Path,
        server: &Server<'_>,
    ) -> io::Result<Option<Vec<Claim>>> {
        server::claims(host, store, server)
    }

    fn pushes(&self, host: &dyn Host, _: &Path, server: &Server<'_>) -> Option<Push> {
        server::pushes(host, server)
    }

    fn spawned(&self, host: &dyn Host, store: &Path, id: &str) -> io::Result<Vec<(Stub, Source)>> {
        store::spawned(host, store, id)
    }

    fn plan(&self, ask: &Ask<'_>) -> Result<Plan, String> {
        launch::plan(ask)
    }

    fn ends_by(&self, role: Option<Role>) -> &'static [Signal] {
        launch::ends_by(role)
    }

    fn interrupts_by(&self) -> &'static str {
        "POST /session/ID/abort"
    }

    fn control(
        &self,
        host: &dyn Host,
        target: &Target<'_>,
        request: Request<'_>,
    ) -> Result<(), Unheard> {
        control::ask(host, target, request)
    }

    fn asks(&self, host: &dyn Host, target: &Target<'_>) -> Result<Vec<Question>, Unheard> {
        control::asks(host, target)
    }

    fn attaches(&self, host: &dyn Host, target: &Target<'_>, role: Option<Role>) -> Option<Leads> {
        let ports = host.ports(target.process).ok().filter(|_| role == Some(Role::Server))?;
        let place = ports.into_iter().find_map(crate::host::loopback)?;
        let words = ["attach", &format!("http://{place}"), "--session", target.id];
        let words = words.map(str::to_owned).to_vec();
        Some(Leads { words, secrets: server::SECRETS })
    }

    fn wakes(&self) -> bool {
        true
    }

    fn mark(&self, host: &dyn Host, _: &Stub) -> io::Result<u64> {
        Ok(u64::try_from(host.now().as_millisecond()).unwrap_or_default())
    }

    fn shows(&self, host: &dyn Host, stub: &Stub, said: (u64, &str)) -> io::Result<Option<Source>> {
        control::row(host, stub, said)
    }

    fn claims(&self, _: &dyn Host, _: &Path) -> io::Result<Claims> {
        Ok(Claims::default())
    }

    fn holds(&self, _: &dyn Host, _: &Path, _: &Path) -> Option<String> {
        None // every process has the one database open
    }

    fn list(&self, host: &dyn Host, store: &Path) -> io::Result<Listing> {
        store::list(host, store)
    }

    fn find(&self, host: &dyn Host, store: &Path, id: &str, _: Option<&Path>) -> Vec<Stub> {
        store::find(host, store, id).into_iter().collect()
    }

    fn glance(&self, sheet: &Sheet<'_>, stub: &Stub) -> io::Result<Record> {
        self.read(sheet.host, stub, Depth::Glance)
    }

    fn read(&self, host: &dyn Host, stub: &Stub, depth: Depth) -> io::Result<Record> {
        let saved = match store::is_file(stub) {
            true => storage::saved(host, stub, depth)?,
            false => database::saved(host, stub, depth)?,
        };
        record::of(saved, stub)
    }

    fn told_by(&self, host: &dyn Host, stub: &Stub, _: Depth) -> Option<Vec<PathBuf>> {
        (!store::is_file(stub)).then(|| logs(host, &stub.path))
    }

    /// No process of OpenCode has it among its words.
    fn absence(&self, _: &Path, id: &str) -> String {
        let plain = id.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', ".");
        let words = shell_word(&format!("(--session=|-s=)?{plain}"));
        format!(
            "! grep -ls '^opencode' /proc/[0-9]*/comm | sed 's/comm$/cmdline/' | xargs -r cat | \
             tr '\\0' '\\n' | grep -xE -- {words}"
        )
    }

    fn messages(&self, _: &[u8]) -> Vec<Message> {
        Vec::new() // neither layout has lines
    }

    fn tail(&self, host: &dyn Host, stub: &Stub, count: usize) -> io::Result<(Vec<Message>, u64)> {
        let cursor = Cursor::at(host.now());
        let mut said = messages::of(&pieces(host, stub, Window { last: count, since: cursor })?);
        let next = cursor.after(&said).number();
        said.drain(..said.len().saturating_sub(count));
        Ok((said.into_iter().map(|one| one.message).collect(), next))
    }

    fn since(&self, host: &dyn Host, stub: &Stub, at: u64) -> io::Result<(Vec<Message>, u64)> {
        let cursor = Cursor::of(at);
        let later = Cursor::at(host.now());
        let said = messages::of(&pieces(host, stub, Window { last: 0, since: cursor })?);
        let next = if later.settled() > cursor.settled() { later } else { cursor };
        let next = next.after(&said).number();
        Ok((cursor.rest(said).into_iter().map(|one| one.message).collect(), next))
    }

    fn turns(&self, host: &dyn Host, stub: &Stub) -> io::Result<u64> {
        Ok(turns::of(&self.since(host, stub, 0)?.0))
    }

    fn grows(&self, stub: &Stub) -> Option<PathBuf> {
        // Each message is a directory of its own for its parts: no one file tells.
        (!store::is_file(stub)).then(|| database::log(&stub.path))
    }

    fn shape(&self, _: &[u8]) -> Option<Shape> {
        None
    }
}

/// Which pieces of a session are asked for: these and those.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Those of its last messages, this many.
    pub(super) last: usize,
    /// Those that may not be written for good by then.
    pub(super) since: Cursor,
}

fn pieces(host: &dyn Host, stub: &Stub, window: Window) -> io::Result<Vec<messages::Piece>> {
    match store::is_file(stub) {
        true => storage::pieces(host, stub, window),
        false => database::pieces(host, stub, window),
    }
}

/// Arguments up to `--`; what follows is the prompt, which may say anything.
struct Words<'a>(&'a [String]);

impl<'a> Words<'a> {
    fn of(argv: &'a [String]) -> Self {
        let words = argv.get(1..).unwrap_or_default();
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        Self(&words[..end])
    }

    /// The first word that is neither an option nor its value.
    fn command(&self) -> Option<&'a str> {
        self.plain().next()
    }

    /// Words that are neither an option nor its value.
    fn plain(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        const VALUED: &[&str] = &[
            "--agent",
            "--cors",
            "--event",
            "--hostname",
            "--log-level",
            "--mdns-domain",
            "--model",
            "--port",
            "--prompt",
            "--replay-limit",
            "--session",
            "--token",
            "-m",
            "-s",
        ];
        let mut value = false;
        self.0.iter().map(String::as_str).filter(move |word| {
            let skip = value || word.starts_with('-');
            value = !value && VALUED.contains(word);
            !skip
        })
    }

    fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|word| names.contains(&word.as_str()))
    }

    /// What follows an option, as a word of its own or behind `=`.
    fn value(&self, names: &[&str]) -> Option<String> {
        let behind = |word: &str| {
            let (name, value) = word.split_once('=')?;
            names.contains(&name).then(|| value.to_owned())
        };
        let next = self.0.windows(2).find(|pair| names.contains(&pair[0].as_str()));
        next.map(|pair| pair[1].clone()).or_else(|| self.0.iter().find_map(|word| behind(word)))
    }

    fn part(&self) -> Part {
        const BYSTANDERS: &[&str] = &[
            "agent",
            "attach",
            "auth",
            "completion",
            "db",
            "debug",
            "export",
            "github",
            "import",
            "mcp",
            "models",
            "plug",
            "plugin",
            "pr",
            "providers",
            "session",
            "stats",
            "uninstall",
            "upgrade",
        ];
        let help = self.has(&["--help", "-h", "--version", "-v"]);
        match self.command() {
            _ if help => Part::Bystander,
            // The server it is attached to runs the session.
            Some("run") if self.value(&["--attach"]).is_some() => Part::Bystander,
            Some("run") if self.has(&["--interactive", "-i"]) => Part::Agent(Role::Interactive),
            Some("run") => Part::Agent(Role::Headless),
            // 1.18.33 prompts a session of its own there, for an event of a repository.
            Some("github") if self.plain().nth(1) == Some("run") => Part::Agent(Role::Headless),
            Some("acp" | "serve" | "web") => Part::Agent(Role::Server),
            Some(command) if BYSTANDERS.contains(&command) => Part::Bystander,
            Some(_) | None => Part::Agent(Role::Interactive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "ses_e1f7b6bd9ffeXM7NCCIsxbHspv";

    fn argv(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn part(line: &str) -> Part {
        Words::of(&argv(line)).part()
    }

    fn named(line: &str) -> Option<String> {
        OpenCode.names(&Program { comm: "opencode", exe: None, argv: &argv(line) })
    }

    #[test]
    fn arguments_tell_what_a_process_is() {
        assert_eq!(part("opencode"), Part::Agent(Role::Interactive));
        assert_eq!(part("opencode /work --prompt run"), Part::Agent(Role::Interactive));
        assert_eq!(part("opencode --log-level WARN run hello"), Part::Agent(Role::Headless));
        assert_eq!(part("opencode run -i"), Part::Agent(Role::Interactive));
        assert_eq!(part("opencode run --attach http://localhost:4096 hello"), Part::Bystander);
        assert_eq!(part("opencode acp"), Part::Agent(Role::Server));
        assert_eq!(part("opencode session list"), Part::Bystander);
        assert_eq!(part("opencode github install"), Part::Bystander);
        assert_eq!(part("opencode github --token x run"), Part::Agent(Role::Headless));
        assert_eq!(part("opencode run -- --help"), Part::Agent(Role::Headless));
    }

    #[test]
    fn only_a_one_shot_run_names_its_session() {
        assert_eq!(named(&format!("opencode run --session {ID}")).as_deref(), Some(ID));
        assert_eq!(named(&format!("opencode run -s={ID} go on")).as_deref(), Some(ID));
        assert_eq!(named(&format!("opencode run -s {ID} --fork")), None);
        assert_eq!(named(&format!("opencode --session {ID}")), None);
        assert_eq!(named(&format!("opencode run -- --session {ID}")), None);
    }

    #[test]
    fn the_database_may_be_elsewhere() {
        let stores = |pairs: &[(&str, &str)]| {
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.into());
            OpenCode.stores(&pairs.iter().map(own).collect())
        };
        let home = ("HOME", "/h");
        assert_eq!(stores(&[home]), [Path::new("/h/.local/share/opencode")]);
        assert_eq!(stores(&[home, ("XDG_DATA_HOME", "/d")]), [Path::new("/d/opencode")]);
        assert_eq!(stores(&[home, ("OPENCODE_DB", "/x/a.db")]), [Path::new("/x/a.db")]);
        let beside = "/h/.local/share/opencode/b.db";
        assert_eq!(stores(&[home, ("OPENCODE_DB", "b.db")]), [Path::new(beside)]);
    }
}
