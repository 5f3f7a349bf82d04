//! Names the readers of this build by all they are made of, so that what another build read of a record is
//! never taken for what this one would read; links in the libraries that each start would load; and has what quick questions
//! run laid side by side.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

/// All that turns bytes into records, that reads these bytes, and that lays out how records are kept.
const READERS: [&str; 10] = [
    "../core/src",
    "../core/Cargo.toml",
    "Cargo.toml",
    "src/host/databases.rs",
    "src/host/databases",
    "src/host/files.rs",
    "src/host/folder.rs",
    "src/host/kept.rs",
    "src/host/kept",
    "src/host/machine.rs",
];
/// Which releases of other crates they use, with what of them; not in every checkout.
const OTHERS: [&str; 2] = ["../../Cargo.lock", "../../Cargo.toml"];

fn main() -> io::Result<()> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut cargo = io::stdout();
    let others = OTHERS.into_iter().filter(|path| Path::new(path).exists());
    for path in READERS.into_iter().chain(others) {
        fold(Path::new(path), &mut hash)?;
        writeln!(cargo, "cargo::rerun-if-changed={path}")?;
    }
    // The standard library has hashes of its own, which another one need not share.
    add(&rustc(["--version"])?, &mut hash);
    writeln!(cargo, "cargo::rustc-env=AGENTCTL_READERS={hash:016x}")?;
    if let Some((dir, whole)) = parts()? {
        writeln!(cargo, "cargo::rustc-link-arg-bins=-L{}", dir.display())?;
        if whole {
            // At a fixed place: a program that may lie anywhere has thousands of addresses to put right at each start.
            writeln!(cargo, "cargo::rustc-link-arg-bins=-static")?;
            writeln!(cargo, "cargo::rustc-link-arg-bins=-no-pie")?;
        }
    }
    writeln!(cargo, "cargo::rerun-if-changed={ORDER}")?;
    if is_laid_out()? {
        let order = env::current_dir()?.join(ORDER);
        let order = format!("--symbol-ordering-file={}", order.display());
        for flag in ["-Xlinker", &order, "-Xlinker", "--no-warn-symbol-ordering"] {
            writeln!(cargo, "cargo::rustc-link-arg-bins={flag}")?;
        }
    }
    Ok(())
}

/// Which functions quick questions run, then those of a daemon: `cargo xtask bench --order`. Pages of code that lie apart are mapped each for itself.
const ORDER: &str = "order.txt";

/// What is built is to be quick, and the compiler links with lld unless it is told otherwise: no other linker can be told the order.
fn is_laid_out() -> io::Result<bool> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_usual = env::var_os("RUSTC_LINKER").is_none() && !flags.contains("link");
    let is_quick = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_native = env::var_os("HOST") == env::var_os("TARGET");
    let Some(out) = env::var_os("OUT_DIR").filter(|_| is_usual && is_quick && is_native) else {
        return Ok(false);
    };
    let out = Path::new(&out);
    let (source, program) = (out.join("tried.rs"), out.join("tried"));
    fs::write(&source, "fn main() {}")?;
    let [print, what, to] = ["--print", "link-args", "-o"].map(OsStr::new);
    let said = rustc([print, what, to, program.as_os_str(), source.as_os_str()])?;
    Ok(String::from_utf8_lossy(&said).contains("-fuse-ld=lld"))
}

/// What of the C library a program may be linked with.
const WHOLE: [&str; 6] = ["libutil.a", "librt.a", "libpthread.a", "libm.a", "libdl.a", "libc.a"];

/// A directory in which the linker finds GCC's unwinder and the C library as parts of the program, before it finds the shared
/// ones, and whether it has both: to load those costs a third of what a program that says hello takes. The C library is there
/// whole or not at all, with what a static program begins with.
fn parts() -> io::Result<Option<(PathBuf, bool)>> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|own| own == value);
    let native = env::var_os("HOST") == env::var_os("TARGET");
    let Some(out) = env::var_os("OUT_DIR").filter(|_| {
        native && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu")
    }) else {
        return Ok(None);
    };
    let Some(unwinder) = archive("libgcc_eh.a") else { return Ok(None) };
    let dir = PathBuf::from(out).join("parts");
    let _ = fs::remove_dir_all(&dir); // an earlier build may have had more
    fs::create_dir_all(&dir)?;
    let whole: Option<Vec<PathBuf>> = WHOLE.iter().map(|name| archive(name)).collect();
    let whole = whole.filter(|_| archive("crtbeginT.o").is_some());
    let parts = whole.iter().flatten().zip(WHOLE).chain([(&unwinder, "libgcc_s.a")]);
    for (path, name) in parts {
        fs::copy(path, dir.join(name))?;
        writeln!(io::stdout(), "cargo::rerun-if-changed={}", path.display())?;
    }
    Ok(Some((dir, whole.is_some())))
}

/// Where the C compiler has this; a name alone is what it says of what it does not have.
fn archive(name: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim_end());
    path.is_absolute().then_some(path)
}

/// What the compiler says.
fn rustc(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<Vec<u8>> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(Command::new(rustc).args(words).output()?.stdout)
}

/// A file's name and content, or those of all that is below a directory, in a fixed order.
fn fold(path: &Path, hash: &mut u64) -> io::Result<()> {
    if !path.is_dir() {
        add(path.to_string_lossy().as_bytes(), hash);
        add(&fs::read(path)?, hash);
        return Ok(());
    }
    let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().try_for_each(|path| fold(path, hash))
}

/// FNV-1a.
fn add(bytes: &[u8], hash: &mut u64) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}
