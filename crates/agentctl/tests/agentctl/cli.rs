//! The command line: words, exit codes, pipes, colours, widths, and what is made from the definitions.

mod made;
mod pipes;
mod readme;
mod schema;
mod screens;
mod terminal;
mod words;
