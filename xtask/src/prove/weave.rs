//! Many mutants in one source: the text of each stands beside what it replaces, behind a switch.

use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Write, mem, ops::Range};
use syn::{
    Expr, ImplItemFn, ItemFn, Pat,
    spanned::Spanned,
    visit::{self, Visit},
};

/// A mutant as cargo-mutants lists it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mutant {
    /// Begins with file, line and column.
    pub(super) name: String,
    pub(super) file: String,
    genre: Genre,
    replacement: String,
    span: Place,
    function: Option<Function>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Clone, Debug, Deserialize)]
struct Function {
    return_type: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    start: Point,
    end: Point,
}

/// Both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Point {
    line: usize,
    column: usize,
}

/// A source with mutants in it.
#[derive(Debug, Default)]
pub(super) struct Woven {
    pub(super) text: String,
    /// Those that cannot be switched: in constants, and in functions that name no type they return.
    pub(super) aside: Vec<usize>,
    pub(super) parts: Vec<Part>,
}

/// Lines that are there because of mutants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// From 1.
    pub(super) lines: Range<usize>,
    /// One that stands there, or all those that are off there.
    pub(super) mutants: Vec<usize>,
    pub(super) is_off: bool,
}

/// Puts mutants, by their numbers, into the source they are of.
pub(super) fn weave(source: &str, mutants: &BTreeMap<usize, Mutant>) -> Outcome<Woven> {
    let tree = syn::parse_file(source).map_err(|why| Failure::new(why.to_string()))?;
    let mut sites = Sites::default();
    sites.visit_file(&tree);
    let mut woven = Woven::default();
    // A body comes before an expression that is all of it; else the longer before the shorter.
    let mut chosen: BTreeMap<Key, Vec<Change<'_>>> = BTreeMap::new();
    for (number, mutant) in mutants {
        let range = bytes(source, mutant.span.start)..bytes(source, mutant.span.end);
        match sites.of(mutant, &range) {
            Some(site) => chosen.entry(site).or_default().push(Change {
                number: *number,
                range,
                replacement: &mutant.replacement,
            }),
            None => woven.aside.push(*number),
        }
    }
    let chosen: Vec<(Key, Vec<Change<'_>>)> = chosen.into_iter().collect();
    woven.text = render(source, 0..source.len(), &chosen);
    woven.parts = parts(&woven.text);
    Ok(woven)
}

/// Where something begins, how far before the end of all it ends, and whether it is an expression.
type Key = (usize, usize, bool);

struct Change<'a> {
    number: usize,
    range: Range<usize>,
    replacement: &'a str,
}

/// Where mutants can be switched.
#[derive(Default)]
struct Sites {
    expressions: Vec<Range<usize>>,
    /// Where nothing can be asked at run time.
    fixed: Vec<Range<usize>>,
    /// The next expression belongs to an operator before it.
    joined: bool,
}

impl Sites {
    fn of(&self, mutant: &Mutant, range: &Range<usize>) -> Option<Key> {
        let within = |outer: &Range<usize>| outer.start <= range.start && range.end <= outer.end;
        let returned = mutant.function.as_ref().map_or("", |function| &function.return_type);
        if self.fixed.iter().any(within) {
            return None;
        }
        if mutant.genre == Genre::FnValue {
            let named = !returned.contains("impl ");
            return named.then_some((range.start, usize::MAX - range.end, false));
        }
        let around = self.expressions.iter().filter(|site| within(site));
        let site = around.min_by_key(|site| site.len())?;
        Some((site.start, usize::MAX - site.end, true))
    }

    fn add(&mut self, expr: &Expr) {
        self.expressions.push(expr.span().byte_range());
    }

    fn operand(&mut self, expr: &Expr) {
        self.joined = matches!(expr, Expr::Binary(_) | Expr::Unary(_));
        self.visit_expr(expr);
    }
}

impl<'ast> Visit<'ast> for Sites {
    /// Operators with nothing between them are one site: another operator may bind in another way.
    fn visit_expr(&mut self, expr: &'ast Expr) {
        let joined = mem::take(&mut self.joined);
        match expr {
            Expr::Binary(both) if !has_let(expr) => {
                if !joined {
                    self.add(expr);
                }
                self.operand(&both.left);
                self.operand(&both.right);
            }
            Expr::Unary(one) => {
                if !joined {
                    self.add(expr);
                }
                self.operand(&one.expr);
            }
            Expr::If(one) if has_let(&one.cond) => {
                self.add(expr);
                visit::visit_expr(self, expr);
            }
            Expr::While(one) if has_let(&one.cond) => {
                self.add(expr);
                visit::visit_expr(self, expr);
            }
            Expr::Match(_) | Expr::Struct(_) => {
                self.add(expr);
                visit::visit_expr(self, expr);
            }
            Expr::Const(_) => self.fixed.push(expr.span().byte_range()),
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_pat(&mut self, pat: &'ast Pat) {
        if let Pat::Guard(one) = pat
            && !has_let(&one.guard)
        {
            self.add(&one.guard);
        }
        visit::visit_pat(self, pat);
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if item.sig.constness.is_some() {
            self.fixed.push(item.span().byte_range());
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if item.sig.constness.is_some() {
            self.fixed.push(item.span().byte_range());
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.fixed.push(item.span().byte_range());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.fixed.push(item.span().byte_range());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.fixed.push(item.span().byte_range());
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.fixed.push(array.span().byte_range());
    }
}

/// A condition that binds names: it must stay whole.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

/// Before text of the mutants whose numbers follow; comments, so that they may stand anywhere.
const OPEN: &str = "/*mutants ";
/// Between the two if they are off there.
const OFF: &str = "off ";
/// After the text.
const CLOSE: &str = "/*mutants*/";

/// The text of a range, with what is switched in it. A mutant's own text has no other mutants in it: one is on at most.
fn render(source: &str, range: Range<usize>, mut sites: &[(Key, Vec<Change<'_>>)]) -> String {
    let (mut out, mut at) = (String::new(), range.start);
    while let Some(((key, changes), rest)) = sites.split_first() {
        let site = key.0..usize::MAX - key.1;
        let inner = rest.iter().take_while(|((start, ..), _)| *start < site.end).count();
        let (inner, after) = rest.split_at(inner);
        out.push_str(&source[at..site.start]);
        let whole = render(source, site.clone(), inner);
        out.push_str(&match key.2 {
            true => expression(source, &site, changes, &whole),
            false => body(changes, &whole),
        });
        (at, sites) = (site.end, after);
    }
    out.push_str(&source[at..range.end]);
    out
}

fn expression(source: &str, site: &Range<usize>, changes: &[Change<'_>], whole: &str) -> String {
    let mut out = "{ ".to_owned();
    for Change { number, range, replacement } in changes {
        let before = &source[site.start..range.start];
        let after = &source[range.end..site.end];
        let _ = write!(out, "if crate::switch::on({number}) {{\n{OPEN}{number}*/ ");
        let _ = write!(out, "{before}{replacement}{after}\n{CLOSE} }} else ");
    }
    let numbers: Vec<String> = changes.iter().map(|one| one.number.to_string()).collect();
    let _ = write!(out, "{{\n{OPEN}{OFF}{}*/ {whole}\n{CLOSE} }} }}", numbers.join(" "));
    out
}

fn body(changes: &[Change<'_>], whole: &str) -> String {
    let mut out = "\n".to_owned();
    for Change { number, replacement, .. } in changes {
        let _ = write!(out, "if crate::switch::on({number}) {{ {OPEN}{number}*/");
        let _ = writeln!(out, " return {replacement}; {CLOSE} }}");
    }
    out + whole
}

fn bytes(source: &str, point: Point) -> usize {
    let line = source.split_inclusive('\n').take(point.line - 1).map(str::len).sum::<usize>();
    let rest = &source[line..];
    line + rest.char_indices().nth(point.column - 1).map_or(rest.len(), |(at, _)| at)
}

/// What stands between comments.
fn parts(text: &str) -> Vec<Part> {
    let (mut open, mut done) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()) {
        for (at, _) in text.match_indices(OPEN.trim_end()) {
            let rest = &text[at..];
            if rest.starts_with(CLOSE) {
                let part = open.pop();
                done.extend(
                    part.map(|part: Part| Part { lines: part.lines.start..line + 1, ..part }),
                );
            } else if let Some(rest) = rest.strip_prefix(OPEN) {
                let numbers = rest.split("*/").next().unwrap_or_default();
                let mutants = numbers.split(' ').filter_map(|number| number.parse().ok()).collect();
                open.push(Part { lines: line..line, mutants, is_off: numbers.starts_with(OFF) });
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(genre: &str, replacement: &str, at: (usize, usize), to: (usize, usize)) -> Mutant {
        let point = |(line, column)| serde_json::json!({ "line": line, "column": column });
        let json = serde_json::json!({
            "name": "a.rs:1:1: x", "file": "a.rs", "genre": genre, "replacement": replacement,
            "span": { "start": point(at), "end": point(to) }, "function": { "return_type": "" },
        });
        serde_json::from_value(json).expect("as cargo-mutants writes it")
    }

    fn woven(source: &str, mutants: &[Mutant]) -> Woven {
        weave(source, &mutants.iter().cloned().enumerate().collect()).expect("a source")
    }

    fn words(woven: &Woven) -> String {
        woven.text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn operators_without_anything_between_them_are_switched_together() {
        let woven = woven(
            "fn f() -> bool { é == b && !c }",
            &[
                mutant("BinaryOperator", "!=", (1, 20), (1, 22)),
                mutant("UnaryOperator", "", (1, 28), (1, 29)),
            ],
        );
        let expected = "fn f() -> bool { \
            { if crate::switch::on(0) { /*mutants 0*/ é != b && !c /*mutants*/ } \
            else if crate::switch::on(1) { /*mutants 1*/ é == b && c /*mutants*/ } \
            else { /*mutants off 0 1*/ é == b && !c /*mutants*/ } } }";
        assert_eq!(words(&woven), expected);
        let part = |lines, mutants, is_off| Part { lines, mutants, is_off };
        let parts =
            [part(2..4, vec![0], false), part(4..6, vec![1], false), part(6..8, vec![0, 1], true)];
        assert_eq!(woven.parts, parts);
    }

    #[test]
    fn a_function_answers_at_its_head_and_what_is_in_it_is_switched_too() {
        let body = [
            mutant("FnValue", "1", (1, 17), (1, 22)),
            mutant("BinaryOperator", "-", (1, 19), (1, 20)),
        ];
        let expected = "fn f() -> u32 { \
            if crate::switch::on(0) { /*mutants 0*/ return 1; /*mutants*/ } \
            { if crate::switch::on(1) { /*mutants 1*/ a - b /*mutants*/ } \
            else { /*mutants off 1*/ a + b /*mutants*/ } } }";
        assert_eq!(words(&woven("fn f() -> u32 { a + b }", &body)), expected);
    }

    #[test]
    fn a_condition_that_binds_names_stays_whole() {
        let source = "fn f() { if let Some(a) = b && c { d() } }";
        let woven = woven(source, &[mutant("BinaryOperator", "||", (1, 29), (1, 31))]);
        assert!(words(&woven).contains("0*/ if let Some(a) = b || c { d() }"), "{}", woven.text);
    }

    #[test]
    fn constants_are_set_aside() {
        let plus = mutant("BinaryOperator", "-", (1, 18), (1, 19));
        assert_eq!(woven("const A: u32 = 1 + 2;", std::slice::from_ref(&plus)).aside, [0]);
        assert_eq!(woven("const fn f() { 1 + 2 }", &[plus]).aside, [0]);
    }
}
