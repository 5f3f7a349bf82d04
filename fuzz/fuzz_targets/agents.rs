//! libFuzzer on the target `agents` of `agentctl_testkit::hostile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (agentctl_testkit::hostile::core("agents").run)(input));
