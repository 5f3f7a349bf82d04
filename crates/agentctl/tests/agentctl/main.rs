//! The program as a whole, from outside.

mod bad_input;
mod budgeted;
mod chaos;
mod cli;
mod configured;
mod driven;
mod home;
mod kills;
mod late;
mod live;
mod real_claude;
mod real_codex;
mod real_copilot;
mod real_demo;
mod real_gemini;
mod real_many;
mod real_openclaw;
mod real_opencode;
mod real_pi;
mod security;
mod situations;
mod soak;
mod support;
mod verbs;
