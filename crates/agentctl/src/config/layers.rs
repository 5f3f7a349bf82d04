//! Layers, the later over the earlier: default, system, user, project, environment. Flags come on top,
//! from whoever asks.

use super::{
    file::{self, Content, Entry, Remark},
    key::{Key, Project},
    legacy, project,
    value::Value,
};
use crate::{
    error::{Error, Kind},
    patience::{Patience, patience},
    places, read,
};
use agentctl_core::{
    proof::shell_word,
    wire::{ConfigFile, FileState, Layer},
};
use rustix::fs::OFlags;
use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// Where administrators set something, and the variable by which tests move it.
const SYSTEM: (&str, &str) = ("AGENTCTL_SYSTEM_CONFIG", "/etc/agentctl/config.toml");
/// What the file is called in the user's directory.
const NAME: &str = "config.toml";
/// The file of agentctl 1.x, below the home.
const LEGACY: &str = ".agentctl/config.json";
/// No file is longer.
const LONGEST: u64 = 1 << 20;

/// Where something was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) layer: Layer,
    pub(crate) path: Option<PathBuf>,
    pub(crate) line: Option<usize>,
    pub(crate) variable: Option<String>,
}

/// What was set, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Something to tell a person about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) path: PathBuf,
    /// The line, and perhaps the column; none where the whole file is meant.
    place: Option<String>,
    what: String,
}

impl Note {
    /// What there is to tell, with its place in the file.
    pub(crate) fn text(&self) -> String {
        match &self.place {
            Some(place) => format!("{place}: {}", self.what),
            None => self.what.clone(),
        }
    }

    /// The same of what does not count.
    fn ignored(self) -> Self {
        Self { what: format!("{}; it is ignored", self.what), ..self }
    }

    /// What there is to tell, with its place and the file.
    pub(crate) fn line(&self) -> String {
        let gap = if self.place.is_some() { "" } else { " " };
        format!("{}:{gap}{}", self.path.display(), self.text())
    }
}

/// What holds where something is launched.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// By key, and by name within its table.
    pub(crate) settings: BTreeMap<(Key, Option<String>), Setting>,
    pub(crate) notes: Vec<Note>,
}

/// The same with all that was looked at, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) config: Config,
    pub(crate) files: Vec<ConfigFile>,
    wrong: Vec<String>,
}

/// What holds in this directory, or in the one that is set, or here.
pub(crate) fn read(dir: Option<&Path>) -> Result<Config, Error> {
    look(dir).config()
}

/// Looks everywhere, whatever is wrong.
pub(crate) fn look(dir: Option<&Path>) -> Looked {
    let variable = |name: &str| env::var_os(name);
    let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let system = variable(SYSTEM.0).map_or_else(|| SYSTEM.1.into(), PathBuf::from);
    let user = places::config().map(|dir| dir.join(NAME));
    Sources { system, user, home, variable: &variable }.look(dir)
}

impl Looked {
    /// What holds, unless something is wrong.
    pub(crate) fn config(self) -> Result<Config, Error> {
        match self.wrong.is_empty() {
            true => Ok(self.config),
            false => Err(Error::new(Kind::Usage, self.wrong.join("\n"))
                .hint("mend it; `agentctl config path` shows what is read")),
        }
    }
}

impl Config {
    /// What a key is set to.
    pub(crate) fn text(&self, key: Key) -> Option<&str> {
        match &self.settings.get(&(key, None))?.value {
            Value::Text(text) => Some(text),
            Value::Switch(_) | Value::List(_) => None,
        }
    }

    /// The same for a name within its table.
    pub(super) fn part(&self, key: Key, part: &str) -> Option<&str> {
        match &self.settings.get(&(key, Some(part.to_owned())))?.value {
            Value::Text(text) => Some(text),
            Value::Switch(_) | Value::List(_) => None,
        }
    }

    /// How long something may take; `none` is no limit.
    pub(crate) fn time(&self, key: Key) -> Option<Duration> {
        match patience(self.text(key)?) {
            Ok(Patience::Within(time)) => Some(time),
            Ok(Patience::Endless) | Err(_) => None,
        }
    }

    /// Whether something is on.
    pub(crate) fn is_on(&self, key: Key) -> bool {
        let setting = self.settings.get(&(key, None));
        setting.is_some_and(|setting| setting.value == Value::Switch(true))
    }

    /// The names of a table, with their words.
    pub(crate) fn pairs(&self, key: Key) -> Vec<(String, String)> {
        let own = self.settings.iter().filter(|((one, _), _)| *one == key);
        own.filter_map(|((_, name), setting)| match &setting.value {
            Value::Text(text) => Some((name.clone()?, text.clone())),
            Value::Switch(_) | Value::List(_) => None,
        })
        .collect()
    }

    /// A directory that is set.
    pub(crate) fn folder(&self, key: Key) -> Option<PathBuf> {
        let home = env::var_os("HOME").map(PathBuf::from);
        Some(places::from_home(self.text(key)?, home.as_deref()))
    }

    fn folders(&self, key: Key, home: Option<&Path>) -> Vec<PathBuf> {
        match self.settings.get(&(key, None)).map(|setting| &setting.value) {
            Some(Value::List(all)) => {
                all.iter().map(|path| places::from_home(path, home)).collect()
            }
            Some(Value::Text(_) | Value::Switch(_)) | None => Vec::new(),
        }
    }
}

/// Where layers come from.
struct Sources<'a> {
    system: PathBuf,
    user: Option<PathBuf>,
    home: Option<PathBuf>,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Sources<'_> {
    fn look(&self, dir: Option<&Path>) -> Looked {
        let mut looked = Looked::default();
        for key in Key::ALL {
            let origin = Origin { layer: Layer::Default, path: None, line: None, variable: None };
            let set = key.default().map(|value| Setting { value, origin });
            looked.config.settings.extend(set.map(|setting| ((*key, None), setting)));
        }
        looked.file(Layer::System, &self.system);
        let is_read = self.user.as_ref().is_some_and(|path| looked.file(Layer::User, path));
        let legacy = self.home.as_ref().map(|home| home.join(LEGACY));
        if let Some(legacy) = legacy.filter(|_| !is_read) {
            looked.file(Layer::User, &legacy);
        }
        let mut environment = self.environment(&mut looked);
        // Where to work may be set too, but not by who is found there.
        let set = environment.get(&(Key::Cwd, None)).cloned();
        let set = set.or_else(|| looked.config.settings.get(&(Key::Cwd, None)).cloned());
        let set = set.and_then(|setting| match setting.value {
            Value::Text(path) => Some(places::from_home(&path, self.home.as_deref())),
            Value::Switch(_) | Value::List(_) => None,
        });
        let dir = dir.map(Path::to_owned).or(set).or_else(|| env::current_dir().ok());
        if let Some(dir) = dir.and_then(|dir| dir.canonicalize().ok()) {
            self.project(&mut looked, &dir);
        }
        looked.config.settings.append(&mut environment);
        looked
    }

    fn environment(&self, looked: &mut Looked) -> BTreeMap<(Key, Option<String>), Setting> {
        let mut set = BTreeMap::new();
        for key in Key::ALL {
            let Some(name) = key.variable() else { continue };
            let Some(text) = (self.variable)(&name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let text = text.into_string().map_err(|_| "it is not UTF-8".to_owned());
            match text.and_then(|text| key.holds().of_text(&text)) {
                Ok(value) => {
                    let layer = Layer::Environment;
                    let origin = Origin { layer, path: None, line: None, variable: Some(name) };
                    set.insert((*key, key.first()), Setting { value, origin });
                }
                Err(why) => looked.wrong.push(format!("{name}: {why}")),
            }
        }
        set
    }

    fn project(&self, looked: &mut Looked, dir: &Path) {
        let Some(path) = project::find(dir, self.home.as_deref()) else {
            // Nor is there one above, as far as it counts.
            let path = dir.join(project::NAME);
            return looked.seen(Layer::Project, &path, FileState::Absent, None);
        };
        if !project::is_heard(&path, dir) {
            looked.note(&path, None, "it belongs to another user, and is ignored");
            return looked.seen(Layer::Project, &path, FileState::Ignored, None);
        }
        let trust = looked.config.folders(Key::Trust, self.home.as_deref());
        let is_trusted = project::is_trusted(&path, &trust);
        let (content, wrong) = looked.content(Layer::Project, &path);
        match is_trusted {
            true => looked.wrong.extend(wrong.iter().map(Note::line)),
            // Whoever can write it is not to keep others from launching there.
            false => looked.config.notes.extend(wrong.into_iter().map(Note::ignored)),
        }
        let Some(mut content) = content else { return };
        let (may, may_not): (Vec<Entry>, Vec<Entry>) =
            content.entries.into_iter().partition(|entry| match entry.key.project() {
                Project::May => true,
                Project::MayIfTrusted => is_trusted,
                Project::MayNot(_) => false,
            });
        let (never, untrusted): (Vec<Entry>, Vec<Entry>) = may_not
            .into_iter()
            .partition(|entry| matches!(entry.key.project(), Project::MayNot(_)));
        for entry in never {
            let Project::MayNot(why) = entry.key.project() else { continue };
            let line = entry.line.map(|line| line.to_string());
            let name = entry.key.full_name(entry.part.as_deref());
            looked.note(&path, line, &format!("{name} is ignored: {why}"));
        }
        if let Some(first) = untrusted.first() {
            let line = first.line.map(|line| line.to_string());
            let names: Vec<&str> = untrusted.iter().map(|entry| entry.key.name()).collect();
            let why = self.untrusted(&path);
            looked.note(&path, line, &format!("ignored: {}: {why}", names.join(", ")));
        }
        content.entries = may;
        looked.add(Layer::Project, &path, content);
    }

    /// How the user comes to trust it.
    fn untrusted(&self, path: &Path) -> String {
        // In quotes with escapes: a directory may be called `a", "/`.
        let dir = path.parent().unwrap_or(path).to_string_lossy();
        let user = self.user.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        format!("you do not trust this project; to do so, write trust = [{dir:?}] in {user}")
    }
}

impl Looked {
    fn note(&mut self, path: &Path, place: Option<String>, what: &str) {
        self.config.notes.push(Note { path: path.to_owned(), place, what: what.to_owned() });
    }

    fn seen(&mut self, layer: Layer, path: &Path, state: FileState, message: Option<String>) {
        self.files.push(ConfigFile { layer, path: path.to_owned(), state, message });
    }

    /// Adds what a file sets; says whether there is one.
    fn file(&mut self, layer: Layer, path: &Path) -> bool {
        let (content, wrong) = self.content(layer, path);
        self.wrong.extend(wrong.iter().map(Note::line));
        let is_there = self.files.last().is_some_and(|file| file.state != FileState::Absent);
        if let Some(content) = content {
            self.add(layer, path, content);
        }
        is_there
    }

    /// What is in a file that can be read, and what is wrong with it.
    fn content(&mut self, layer: Layer, path: &Path) -> (Option<Content>, Vec<Note>) {
        let note = |place, what| Note { path: path.to_owned(), place, what };
        let (text, mode) = match text(layer, path) {
            Ok(Some(text)) => text,
            Ok(None) => {
                self.seen(layer, path, FileState::Absent, None);
                return (None, Vec::new());
            }
            Err(why) => {
                self.seen(layer, path, FileState::Wrong, Some(why.clone()));
                return (None, vec![note(None, why)]);
            }
        };
        let content = match path.extension().is_some_and(|ending| ending == "json") {
            true => legacy::parse(&text),
            false => file::parse(&text),
        };
        // What a project or an administrator sets is meant for others.
        if layer == Layer::User && mode & 0o044 != 0 {
            self.note_secret(path, &content);
        }
        let told =
            |one: &Remark| note(Some(format!("{}:{}", one.line, one.column)), one.what.clone());
        let wrong: Vec<Note> = content.wrong.iter().map(told).collect();
        let state = if wrong.is_empty() { FileState::Read } else { FileState::Wrong };
        self.seen(layer, path, state, wrong.first().map(Note::text));
        (Some(content), wrong)
    }

    /// Notes that others may read a secret, if one is in it.
    fn note_secret(&mut self, path: &Path, content: &Content) {
        let Some(secret) = content.entries.iter().find(|entry| entry.key.is_secret()) else {
            return;
        };
        let (name, word) = (secret.key.name(), shell_word(&path.to_string_lossy()));
        let what = format!("others may read it, and {name} is a secret: `chmod 600 {word}`");
        self.note(path, None, &what);
    }

    fn add(&mut self, layer: Layer, path: &Path, content: Content) {
        for one in content.unknown {
            self.note(path, Some(one.line.to_string()), &one.what);
        }
        for Entry { key, part, value, line } in content.entries {
            let origin = Origin { layer, path: Some(path.to_owned()), line, variable: None };
            self.config.settings.insert((key, part), Setting { value, origin });
        }
    }
}

/// The text of a file and its mode, if there is one. No link of a project is followed, and no pipe waited for.
fn text(layer: Layer, path: &Path) -> Result<Option<(String, u32)>, String> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let flags = match layer {
        Layer::Project => OFlags::NONBLOCK | OFlags::NOFOLLOW,
        Layer::Default | Layer::System | Layer::User | Layer::Environment => OFlags::NONBLOCK,
    };
    let flags = i32::try_from(flags.bits()).expect("flags are small");
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        // Whoever has his settings on a disk that is not there has not set nothing.
        Err(why)
            if why.kind() == NotFound
                && let Some(link) = read::dangling(path) =>
        {
            return Err(format!("cannot be read: {} is a link that leads nowhere", link.display()));
        }
        Err(why) if matches!(why.kind(), NotFound | NotADirectory) => return Ok(None),
        Err(why) => return Err(format!("cannot be read: {why}")),
    };
    let cannot = |why: io::Error| format!("cannot be read: {why}");
    let stat = file.metadata().map_err(cannot)?;
    if !stat.is_file() || stat.len() > LONGEST {
        return Err("cannot be read: it is no file, or longer than 1 MiB".to_owned());
    }
    // It can make us run commands.
    if layer != Layer::Project && stat.mode() & 0o002 != 0 {
        return Err("everybody may write to it; take that away with `chmod o-w`".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(cannot)?;
    let text = String::from_utf8(bytes).map_err(|why| {
        let offset = why.utf8_error().valid_up_to();
        let (line, column) = file::place(&String::from_utf8_lossy(why.as_bytes()), offset);
        format!("{line}:{column}: it is no text: not UTF-8")
    })?;
    Ok(Some((text, stat.mode())))
}
