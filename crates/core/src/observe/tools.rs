//! Whether a tool of a session runs, as the kernel shows it.

use super::{Candidate, Survey};
use crate::{
    evidence::{Pending, Reading, Tool, Turn},
    ident::ProcKey,
    proof::Source,
};

impl Survey<'_> {
    /// Whether the tool of a pending call runs below any holder.
    pub(super) fn tool(&self, record: &Reading, candidate: &Candidate) -> Tool {
        let Reading::Read(record) = record else { return Tool::NotAsked };
        let marked = self.agent.tool_mark().map(|(name, value)| (name, vec![value.to_owned()]));
        let named = match &record.turn {
            Turn::Open { pending: Pending::ApprovalUnless { variable, values }, .. } => {
                Some((variable.as_str(), values.clone()))
            }
            Turn::Open { .. } | Turn::Ended { .. } => marked,
            Turn::None => None,
        };
        let Some((variable, values)) = named else { return Tool::NotAsked };
        let (Some(holder), Ok(table)) = (candidate.holders.first(), self.host.table()) else {
            return Tool::NotAsked;
        };
        if self.since_pass(record.updated) {
            return Tool::CannotTell("its call is newer than the look at processes".to_owned());
        }
        let carries = |key: &ProcKey| {
            let env = self.host.env(key, &[variable]).unwrap_or_default();
            env.get(variable).is_some_and(|own| values.iter().any(|value| own == value.as_str()))
        };
        if candidate.holders.iter().any(|held| carries(&held.key)) {
            return Tool::CannotTell(
                "it runs within a tool, and carries its mark itself".to_owned(),
            );
        }
        let pair = |value: &str| format!("{variable}={value}");
        let below = candidate.holders.iter().flat_map(|held| table.descendants(held.key.pid));
        let mut untold = None;
        for process in below.filter_map(|pid| table.process(pid)).filter(|p| !p.zombie) {
            match self.host.env(&table.key(process), &[variable]) {
                Ok(env) => {
                    let value = env.get(variable).and_then(|value| value.to_str());
                    if let Some(value) = value.filter(|value| values.iter().any(|one| one == value))
                    {
                        let pid = process.pid;
                        return Tool::Runs(Source::Variable { variable: pair(value), pid });
                    }
                }
                Err(why) => untold = Some(why.0),
            }
        }
        match untold {
            Some(why) => Tool::CannotTell(why),
            None => {
                let newest = values.first().map_or("", String::as_str);
                Tool::Absent(Source::NoVariable { variable: pair(newest), pid: holder.key.pid })
            }
        }
    }
}
