//! libFuzzer on the target `cursors` of `agentctl_testkit::hostile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (agentctl_testkit::hostile::core("cursors").run)(input));
