//! The signatures to find in flows, and those that were found.

use std::hash::{Hash, Hasher};
use std::iter::Sum;

use aho_corasick::AhoCorasick;
use rustc_hash::FxHasher;

use super::traffic::Traffic;

/// Texts that only attackers send, in lower case.
pub(super) const SIGNATURES: [&str; 48] = [
    "../../../",
    "/bin/sh",
    "/dev/tcp/",
    "/etc/passwd",
    "/etc/shadow",
    "<iframe",
    "<script>",
    "@@version",
    "autorun.inf",
    "bash -i",
    "certutil -urlcache",
    "char(0x",
    "chmod 777",
    "cmd.exe",
    "curl http",
    "data:text/html",
    "document.cookie",
    "drop table",
    "eval(base64",
    "expect://",
    "file:///",
    "format c:",
    "into outfile",
    "invoke-expression",
    "javascript:",
    "jndi:ldap",
    "load_file(",
    "meterpreter",
    "mimikatz",
    "nc -e",
    "net user",
    "onerror=",
    "or 1=1--",
    "php://input",
    "phpinfo()",
    "powershell -enc",
    "reg add hklm",
    "rm -rf /",
    "shellcode",
    "sleep(10)",
    "union select",
    "vssadmin delete",
    "waitfor delay",
    "wget http",
    "whoami /priv",
    "xp_cmdshell",
    "%252e%252e",
    "\\\\.\\pipe\\",
];

/// Finds signatures.
#[derive(Debug)]
pub(super) struct Detector(AhoCorasick);

impl Detector {
    pub(super) fn new() -> Self {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(SIGNATURES);
        Self(automaton.expect("some short texts make a small automaton"))
    }

    /// Whether a signature is in `text`, in upper or lower case.
    pub(super) fn is_attack(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }
}

/// A number for a flow with its text. Those of several flows are added, so their order does not
/// matter.
pub(super) fn digest(flow: u32, text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    (flow, text).hash(&mut hasher);
    hasher.finish()
}

/// The findings of one worker, or of all workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Findings {
    /// The flows that are attacks, in order in a sum.
    pub(super) attacks: Vec<u32>,
    /// Number of flows that were searched.
    pub(super) flows: u64,
    /// Their digests, added.
    pub(super) digest: u64,
}

impl Sum for Findings {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut all = parts.fold(Self::default(), |mut all, part| {
            all.attacks.extend(part.attacks);
            all.flows += part.flows;
            all.digest = all.digest.wrapping_add(part.digest);
            all
        });
        all.attacks.sort_unstable();
        all
    }
}

/// One worker's search in complete flows.
#[derive(Debug)]
pub(super) struct Inspector<'t> {
    traffic: &'t Traffic,
    detector: &'t Detector,
    text: Vec<u8>,
    pub(super) found: Findings,
}

impl<'t> Inspector<'t> {
    pub(super) fn new(traffic: &'t Traffic, detector: &'t Detector) -> Self {
        Self { traffic, detector, text: Vec::new(), found: Findings::default() }
    }

    /// Puts the fragments of a flow in order, and looks at its text.
    pub(super) fn inspect(&mut self, fragments: &mut [u32]) {
        let packet = |&index: &u32| self.traffic.packets[index as usize];
        fragments.sort_unstable_by_key(|index| packet(index).number);
        let Some(first) = fragments.first() else { return };
        let flow = packet(first).flow;
        self.text.clear();
        for index in &*fragments {
            self.text.extend_from_slice(self.traffic.bytes(packet(index)));
        }
        self.found.flows += 1;
        self.found.digest = self.found.digest.wrapping_add(digest(flow, &self.text));
        if self.detector.is_attack(&self.text) {
            self.found.attacks.push(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blind to: signatures that contain others.
    #[test]
    fn signatures_are_found_in_any_case_and_nothing_else_is() {
        let detector = Detector::new();
        for signature in SIGNATURES {
            assert_eq!(signature, signature.to_ascii_lowercase(), "is compared with lower case");
            let hidden = format!("xy{}z", signature.to_ascii_uppercase());
            assert!(detector.is_attack(hidden.as_bytes()), "{signature}");
            assert!(!detector.is_attack(&signature.as_bytes()[1..]), "{signature}");
        }
        assert!(!detector.is_attack(b""));
    }

    /// Blind to: digests that are equal by coincidence.
    #[test]
    fn a_digest_depends_on_the_flow_and_on_every_byte() {
        let digests = [
            digest(1, b"ab"),
            digest(2, b"ab"),
            digest(1, b"ba"),
            digest(1, b"abc"),
            digest(1, b""),
        ];
        for (at, one) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(one));
        }
    }
}
