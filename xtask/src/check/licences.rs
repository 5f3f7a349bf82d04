//! Every dependency, on every platform, comes under a licence we may ship.

use super::{report::Finding, spdx, tree::Tree};
use crate::{
    failure::{Failure, Outcome},
    tool,
};
use serde::Deserialize;
use std::fs;

/// Licences that ask for no more than a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// What cargo says of one package.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

/// Packages whose licence is missing, unreadable or not allowed.
pub(crate) fn refused(tree: &Tree) -> Outcome<Vec<Finding>> {
    let asked = ["metadata", "--format-version", "1", "--locked"];
    let answer = tool::captured(tool::cargo().args(asked).current_dir(&tree.root))?;
    let metadata: Metadata = serde_json::from_str(&answer)
        .map_err(|why| Failure::new(format!("cannot read what cargo metadata says: {why}")))?;
    let path = tree.root.join("Cargo.lock");
    let lock = fs::read_to_string(&path).map_err(|why| Failure::io("read", &path, &why))?;
    Ok(metadata.packages.iter().filter_map(|package| finding(package, &lock)).collect())
}

fn finding(package: &Package, lock: &str) -> Option<Finding> {
    let Package { name, version, license } = package;
    let why = match license.as_deref().map(|it| (it, spdx::is_met(it, ALLOWED))) {
        Some((_, Ok(true))) => return None,
        Some((expression, Ok(false))) => format!("`{expression}` is not on the list"),
        Some((_, Err(why))) => why,
        None => "names none".to_owned(),
    };
    Some(Finding::new(
        "Cargo.lock",
        line(package, lock),
        format!("licence of {name} {version}: {why}"),
    ))
}

/// The line of the lock file that names a package in this version.
fn line(package: &Package, lock: &str) -> usize {
    let entry = format!("name = \"{}\"\nversion = \"{}\"\n", package.name, package.version);
    lock.find(&entry).map_or(1, |offset| lock[..offset].lines().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::{Finding, Package, finding};

    const LOCK: &str = "# lock\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";

    fn found(license: Option<&str>) -> Option<Finding> {
        let license = license.map(str::to_owned);
        finding(&Package { name: "a".into(), version: "1.0.0".into(), license }, LOCK)
    }

    #[test]
    fn a_finding_points_into_the_lock_file() {
        let at = |what| Some(Finding::new("Cargo.lock", 3, what));
        assert_eq!(found(Some("MIT OR GPL-3.0")), None);
        assert_eq!(found(Some("GPL-3.0")), at("licence of a 1.0.0: `GPL-3.0` is not on the list"));
        assert_eq!(found(None), at("licence of a 1.0.0: names none"));
    }
}
