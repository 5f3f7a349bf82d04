//! A line that is only looked at: its parts where they stand, told as the same line is that is kept.

use super::{Part, Pick, chosen, light, some_of, sound_parts};
use crate::{host::Bytes, lines::Line};
use jiff::Timestamp;
use serde_json::Value;
use std::path::PathBuf;

/// What [`light`] tells.
pub(in crate::agents) fn light_parts<'l>(line: &'l [u8], picks: &'static [Pick]) -> Part<'l> {
    sound_parts(line, picks).unwrap_or_else(|| Part::of(light(line, picks), picks))
}

/// What [`some_of`] tells of the picked fields.
pub(in crate::agents) fn some_parts<'l>(line: &'l [u8], picks: &'static [Pick]) -> Part<'l> {
    sound_parts(line, picks).unwrap_or_else(|| Part::of(some_of(line, picks), picks))
}

/// What [`chosen`] tells. The few fields must be among those that are picked.
pub(in crate::agents) fn chosen_parts<'l>(
    file: &dyn Bytes,
    line: &Line<'l>,
    picks: &'static [Pick],
    few: &'static [Pick],
) -> Part<'l> {
    let sound = line.whole().and_then(|bytes| sound_parts(bytes, picks));
    sound.unwrap_or_else(|| Part::of(chosen(file, line, picks, few), picks))
}

impl Part<'_> {
    /// The text that it is itself.
    pub(in crate::agents) fn itself(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(value) => value.as_str(),
            Self::Count(_) | Self::Object(_) | Self::List(_) => None,
        }
    }

    /// What was picked of each value, where it is an array.
    pub(in crate::agents) fn each(&self) -> &[Self] {
        match self {
            Self::List(all) => all,
            Self::Text(_) | Self::Count(_) | Self::Object(_) | Self::Other(_) => &[],
        }
    }

    /// It as a value.
    pub(in crate::agents) fn kept(&self) -> Value {
        self.clone().value()
    }

    /// An RFC 3339 time.
    pub(in crate::agents) fn time(&self, name: &str) -> Option<Timestamp> {
        self.text(name)?.parse().ok()
    }

    /// A path.
    pub(in crate::agents) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).filter(|text| text.starts_with('/')).map(PathBuf::from)
    }

    /// A yes.
    pub(in crate::agents) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Self::Other(Value::Bool(true)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Body;
    use proptest::prelude::*;

    static PICKS: &[Pick] = &[
        Pick::Field("text"),
        Pick::Field("flag"),
        Pick::Within("in", &[Pick::Field("count"), Pick::Each("each", &[Pick::Field("text")])]),
    ];
    static FEW: &[Pick] = &[Pick::Field("text"), Pick::Within("in", &[Pick::Field("count")])];

    type Told = (Option<String>, bool, Option<Timestamp>, Option<u64>, Vec<[Option<String>; 2]>);

    fn own(text: Option<&str>) -> Option<String> {
        text.map(str::to_owned)
    }

    /// What can be asked of a part, asked of a value.
    fn asked(value: &Value) -> Told {
        let (text, inside) = (value["text"].as_str(), &value["in"]);
        let (each, is_yes) = (inside["each"].as_array(), value["flag"] == Value::Bool(true));
        let said = |one: &Value| [own(one["text"].as_str()), own(one.as_str())];
        let mut all: Vec<_> = each.into_iter().flatten().map(said).collect();
        all.push([own(inside["each"].as_str()), None]);
        let count = inside.is_object().then(|| inside["count"].as_u64().unwrap_or(0));
        (own(text), is_yes, text.and_then(|text| text.parse().ok()), count, all)
    }

    fn told(part: &Part<'_>) -> Told {
        let inside = part.get("in");
        let said = |one: &Part<'_>| [own(one.text("text")), own(one.itself())];
        let mut all: Vec<_> = inside.get("each").each().iter().map(said).collect();
        all.push([own(inside.get("each").itself()), None]);
        let count = inside.is_object().then(|| inside.count("count"));
        (own(part.text("text")), part.flag("flag"), part.time("text"), count, all)
    }

    /// A line that may be sound, strange, torn, or two in one.
    fn line() -> impl Strategy<Value = String> {
        let leaf = r#""(x|\\n|\\ud83d|é|2026-01-02T03:04:05Z|\x01|)"|7|-1|0\.5|1e3|null|true|false|\[\]|\{\}"#;
        let each = [r#"\[\{"text":("#, leaf, r")\},(", leaf, r")\]"].concat();
        let inside = [r#"\{"count":("#, leaf, r#"),"each":("#, leaf, "|", &each, r")\}"].concat();
        let fields =
            [r#""text":("#, leaf, r#"),"in":("#, leaf, "|", &inside, r#"),"flag":("#, leaf, ")"];
        let fields = fields.concat();
        let line = [r"\{(", &fields, "|", &fields, ",", &fields, r")\}( |x|\{\}|)"].concat();
        proptest::string::string_regex(&line).expect("a pattern")
    }

    proptest! {
        #[test]
        fn parts_tell_what_values_tell(line in line(), cut in prop::option::of(any::<prop::sample::Index>())) {
            let bytes = &line.as_bytes()[..cut.map_or(line.len(), |cut| cut.index(line.len()))];
            let file = bytes.to_vec();
            prop_assert_eq!(told(&light_parts(bytes, PICKS)), asked(&light(bytes, PICKS)));
            prop_assert_eq!(told(&some_parts(bytes, PICKS)), asked(&some_of(bytes, PICKS)));
            for body in [Body::Whole(bytes), Body::Huge(bytes.len() as u64)] {
                let line = Line { at: 0, body };
                let value = chosen(&file, &line, PICKS, FEW);
                prop_assert_eq!(told(&chosen_parts(&file, &line, PICKS, FEW)), asked(&value));
            }
        }
    }
}
