//! Packets as they arrive: those of all flows, cut into fragments and mixed.
//!
//! A flow is an attack with the given probability: then its text is one of the signatures, in a
//! mixture of upper and lower case. Otherwise it is up to the given number of random printable
//! characters, and no attack by accident. Each flow is cut into a random number of fragments of
//! equal length, of which the last takes what is left over, and the fragments of all flows are
//! shuffled.

use std::fmt;

use fastrand::Rng;

use super::detector::{Detector, SIGNATURES, digest};

/// A fragment of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub(super) flow: u32,
    /// Its place among the fragments of the flow.
    pub(super) number: u32,
    /// Number of fragments of the flow.
    pub(super) of: u32,
    /// Its position in the text.
    start: u32,
    length: u32,
}

/// The parameters of the generator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) attack_percent: u64,
    /// The longest flow that is no attack, in bytes.
    pub(super) longest: u64,
    pub(super) flows: u64,
    pub(super) seed: u64,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attack_percent, longest, flows, seed } = self;
        write!(f, "a{attack_percent}-l{longest}-n{flows}-s{seed}")
    }
}

impl Shape {
    /// The bytes of text at most, and so the packets at most.
    pub(super) fn bytes(self) -> u64 {
        let longest =
            SIGNATURES.iter().map(|signature| signature.len() as u64).fold(self.longest, u64::max);
        self.flows.saturating_mul(longest)
    }
}

/// The packets that have arrived, and their contents.
#[derive(Debug)]
pub(super) struct Traffic {
    /// In the order of arrival.
    pub(super) packets: Vec<Packet>,
    /// The texts of all flows.
    text: Vec<u8>,
    /// The flows that were made attacks, in order.
    pub(super) attacks: Vec<u32>,
    /// The digests of all flows, added.
    pub(super) digest: u64,
}

impl Traffic {
    /// Traffic of this shape, the same each time. There must be no more than `u32::MAX` bytes of
    /// it.
    pub(super) fn generate(shape: Shape, detector: &Detector) -> Self {
        let mut rng = Rng::with_seed(shape.seed);
        let mut traffic =
            Self { packets: Vec::new(), text: Vec::new(), attacks: Vec::new(), digest: 0 };
        for flow in 0..shape.flows as u32 {
            if rng.u64(..100) < shape.attack_percent {
                traffic.attacks.push(flow);
                traffic.send(flow, &attack(&mut rng), &mut rng);
            } else {
                traffic.send(flow, &harmless(&mut rng, shape.longest as usize, detector), &mut rng);
            }
        }
        rng.shuffle(&mut traffic.packets);
        traffic
    }

    /// Adds a flow, in fragments.
    fn send(&mut self, flow: u32, text: &[u8], rng: &mut Rng) {
        let length = text.len() as u32;
        let of = rng.u32(1..=length);
        let (start, each) = (self.text.len() as u32, length / of);
        for number in 0..of {
            let begin = number * each;
            let length = if number + 1 == of { length - begin } else { each };
            self.packets.push(Packet { flow, number, of, start: start + begin, length });
        }
        self.text.extend_from_slice(text);
        self.digest = self.digest.wrapping_add(digest(flow, text));
    }

    /// The contents of a packet.
    pub(super) fn bytes(&self, packet: Packet) -> &[u8] {
        &self.text[packet.start as usize..][..packet.length as usize]
    }
}

fn attack(rng: &mut Rng) -> Vec<u8> {
    let signature = SIGNATURES[rng.usize(..SIGNATURES.len())];
    signature
        .bytes()
        .map(|byte| if rng.bool() { byte.to_ascii_uppercase() } else { byte })
        .collect()
}

fn harmless(rng: &mut Rng, longest: usize, detector: &Detector) -> Vec<u8> {
    loop {
        let text: Vec<u8> = (0..rng.usize(1..=longest)).map(|_| rng.u8(b' '..=b'~')).collect();
        if !detector.is_attack(&text) {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(attack_percent: u64, longest: u64) -> (Traffic, Detector) {
        let detector = Detector::new();
        (
            Traffic::generate(Shape { attack_percent, longest, flows: 500, seed: 7 }, &detector),
            detector,
        )
    }

    /// Blind to: a share of attacks that is only about right.
    #[test]
    fn as_many_flows_are_attacks_as_asked_for() {
        for (percent, few, many) in [(0, 0, 0), (10, 25, 75), (100, 500, 500)] {
            let (traffic, _) = traffic(percent, 16);
            assert!(
                (few..=many).contains(&traffic.attacks.len()),
                "{percent} %: {}",
                traffic.attacks.len()
            );
        }
    }

    /// Blind to: a shuffle that changes little.
    #[test]
    fn every_fragment_of_every_flow_arrives_once_and_none_is_empty() {
        let (traffic, _) = traffic(10, 40);
        assert!(
            traffic.packets.windows(2).any(|pair| pair[0].flow > pair[1].flow),
            "nothing was mixed"
        );
        let mut arrived = traffic.packets.clone();
        arrived.sort_by_key(|packet| (packet.flow, packet.number));
        let mut end = 0;
        for flow in arrived.chunk_by(|one, other| one.flow == other.flow) {
            for (number, packet) in (0..).zip(flow) {
                assert_eq!(
                    (packet.number, packet.of, packet.start),
                    (number, flow.len() as u32, end)
                );
                assert!(packet.length > 0, "{packet:?}");
                end += packet.length;
            }
        }
        assert_eq!(end as usize, traffic.text.len());
        assert_eq!(arrived.last().unwrap().flow, 499);
    }

    /// Blind to: another sequence for the same seed in a later version.
    #[test]
    fn traffic_of_the_same_shape_is_the_same_and_another_seed_makes_another() {
        let generate = |seed| {
            let shape = Shape { attack_percent: 10, longest: 16, flows: 100, seed };
            Traffic::generate(shape, &Detector::new())
        };
        assert_eq!(generate(1).digest, generate(1).digest);
        assert_ne!(generate(1).digest, generate(2).digest);
    }
}
