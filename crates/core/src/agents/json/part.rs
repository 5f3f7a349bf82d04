//! What was picked of a line, where it stands: nothing of it is copied before it is wanted.

use super::{From, Pick};
use serde_json::{Map, Value};

/// A picked value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::agents) enum Part<'l> {
    /// A text without escapes.
    Text(&'l str),
    /// A whole number that is not negative.
    Count(u64),
    /// What was picked of an object; of a name that stands twice the last counts.
    Object(Vec<(&'static str, Part<'l>)>),
    /// What was picked of each value of an array.
    List(Vec<Part<'l>>),
    /// Anything else.
    Other(Value),
}

impl<'l> Part<'l> {
    /// The same of a value that was taken apart.
    pub(super) fn of(mut value: Value, picks: &'static [Pick]) -> Self {
        let Value::Object(object) = &mut value else { return Self::Other(value) };
        let part = |pick: &Pick| {
            let (name, picked) = pick.of();
            let inside = object.get_mut(name)?.take();
            let part = match (inside, picked.from) {
                (Value::Array(all), From::Each) => {
                    Self::List(all.into_iter().map(|one| Self::of(one, picked.picks)).collect())
                }
                (inside, From::Itself | From::Each | From::All) => Self::of(inside, picked.picks),
            };
            Some((name, part))
        };
        match picks {
            [] => Self::Other(value),
            picks => Self::Object(picks.iter().filter_map(part).collect()),
        }
    }

    /// What was picked under this name.
    pub(in crate::agents) fn get(&self, name: &str) -> &Self {
        static NOTHING: Part<'static> = Part::Other(Value::Null);
        let Self::Object(fields) = self else { return &NOTHING };
        fields.iter().rev().find(|(field, _)| *field == name).map_or(&NOTHING, |(_, part)| part)
    }

    /// A text.
    pub(in crate::agents) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).itself()
    }

    /// A text that is not empty, kept.
    pub(in crate::agents) fn string(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// A count; what is none counts nothing.
    pub(in crate::agents) fn count(&self, name: &str) -> u64 {
        self.whole(name).unwrap_or(0)
    }

    /// A whole number that is not negative.
    pub(in crate::agents) fn whole(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Self::Count(count) => Some(*count),
            Self::Other(value) => value.as_u64(),
            Self::Text(_) | Self::Object(_) | Self::List(_) => None,
        }
    }

    /// A number.
    pub(in crate::agents) fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Self::Count(count) => Some(*count as f64),
            Self::Other(value) => value.as_f64(),
            Self::Text(_) | Self::Object(_) | Self::List(_) => None,
        }
    }

    /// It is an object.
    pub(in crate::agents) fn is_object(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Other(value) => value.is_object(),
            Self::Text(_) | Self::Count(_) | Self::List(_) => false,
        }
    }

    /// The same as a value that can be kept.
    pub(super) fn value(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Count(count) => count.into(),
            Self::Object(fields) => {
                // Not collected: to sort these few first takes longer.
                let mut object = Map::new();
                for (name, part) in fields {
                    object.insert(name.to_owned(), part.value());
                }
                Value::Object(object)
            }
            Self::List(all) => all.into_iter().map(Self::value).collect(),
            Self::Other(value) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    static PICKS: &[Pick] = &[
        Pick::Field("text"),
        Pick::Within("in", &[Pick::Field("count"), Pick::Field("part")]),
        Pick::Whole("all"),
        Pick::Each("each", &[Pick::Field("text"), Pick::Within("in", &[Pick::Field("count")])]),
    ];

    /// What is told of a value that was taken apart, and of the same that was skimmed.
    fn both(value: &Value) -> [Part<'static>; 2] {
        let line: &'static str = value.to_string().leak();
        let (skimmed, _) = super::super::skim::skim(line.as_bytes(), PICKS).expect("sound");
        [Part::of(value.clone(), PICKS), skimmed]
    }

    #[test]
    fn what_was_taken_apart_and_what_was_skimmed_tell_the_same() {
        let inside = json!({"count": 7, "part": 0.5, "more": 1});
        for part in both(&json!({"text": "x", "in": inside, "all": [{}], "more": []})) {
            assert_eq!((part.text("text"), part.string("text")), (Some("x"), Some("x".into())));
            assert_eq!((part.count("text"), part.number("text")), (0, None));
            let inside = part.get("in");
            assert!(part.is_object() && inside.is_object() && !part.get("all").is_object());
            assert_eq!((inside.count("count"), inside.number("count")), (7, Some(7.0)));
            assert_eq!((inside.count("part"), inside.number("part")), (0, Some(0.5)));
            assert_eq!((inside.text("count"), inside.text("gone")), (None, None));
            let picked = json!({"text": "x", "in": {"count": 7, "part": 0.5}, "all": [{}]});
            assert_eq!(part.value(), picked);
        }
        let each = json!([{"text": "x", "more": 1}, "y", [], {"in": {"count": 7, "more": {}}}]);
        for part in both(&json!({"each": each, "text": [1], "all": {"a": 1}})) {
            assert_eq!((part.get("each").each().len(), part.get("all").each().len()), (4, 0));
            let texts = part.get("each").each().iter().map(|one| (one.text("text"), one.itself()));
            let told = [(Some("x"), None), (None, Some("y")), (None, None), (None, None)];
            assert_eq!(texts.collect::<Vec<_>>(), told);
            assert_eq!(part.get("each").each()[3].get("in").count("count"), 7);
            assert_eq!((part.get("text").itself(), part.flag("text")), (None, false));
            assert_eq!(part.get("all").kept(), json!({"a": 1}));
        }
        for part in both(&json!({"text": "", "in": null})) {
            assert_eq!((part.text("text"), part.string("text")), (Some(""), None));
            assert!(!part.get("in").is_object() && !part.get("gone").is_object());
            assert_eq!((part.get("in").count("count"), part.get("gone").text("text")), (0, None));
        }
    }
}
