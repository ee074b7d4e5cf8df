//! Network intrusion detection: flows are put together from packets that arrive in any order, and
//! searched for signatures.
//!
//! Source: the application intruder in Cao Minh, Chung, Kozyrakis and Olukotun, *STAMP: Stanford
//! transactional applications for multi-processing*, IISWC 2008. A packet is captured from a queue;
//! it is entered into a map of flows; and a flow that is complete is searched. Capturing and
//! entering are transactions: short ones that conflict often.
//!
//! The hand-written version, as in the suite, uses three transactions per packet. The first takes
//! it from a transactional queue, the second enters it, and the third takes a complete flow from
//! another queue. As a worklist, entering a packet is one transaction, and its flow is searched
//! after the commit. (Source: Góes, *Transactional worklists*, where the search is a part of the
//! transaction.)
//!
//! Differences: the map is only asked for single flows, so it is a hash map instead of a balanced
//! tree, and fragments are sorted when a flow is complete, not on arrival. [`Maps::Balanced`]
//! chooses the tree and sorted lists. One automaton searches for all signatures.

mod balanced;
mod by_hand;
mod detector;
mod listed;
mod reassembly;
mod traffic;

use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::ops::Range;

use crate::lists::Lists;
use sinew::Worker;
use sinew::stm::{Tx, TxResult};

use crate::app::App;
use crate::lettered::{Lettered, whole};
use crate::memory::room;
use crate::options::{Error, Maps, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use balanced::Balanced;
use by_hand::ByHand;
use detector::{Detector, Findings, Inspector};
use listed::Listed;
use reassembly::Hashed;
use traffic::{Packet, Shape, Traffic};

const SIZES: &str = "stamp (a10-l128-n262144-s1), or parts of a10-l16-n4096-s1: percent of \
    attacks, bytes of the longest flow, flows, seed";

const LETTERS: Lettered<4> = Lettered {
    app: "intruder",
    sizes: SIZES,
    named: &[("stamp", "a10-l128-n262144-s1")],
    letters: [
        whole('a', [10.0, 10.0, 10.0], 0.0..=100.0),
        whole('l', [8.0, 4.0, 16.0], 1.0..=1e6),
        whole('n', [100.0, 2_038.0, 4_096.0], 1.0..=1e9),
        whole('s', [1.0, 1.0, 1.0], 0.0..=9e15),
    ],
};

pub(crate) const APP: App = App {
    name: "intruder",
    about: "attacks in a stream of packets: short transactions on a map and a queue",
    sizes: SIZES,
    demo: "a10-l64-n16384-s1",
    loops: false,
    reads_files: false,
    has_worklist: true,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    match options.maps {
        Maps::Hashed => prepare_with::<Hashed>(options),
        Maps::Balanced => prepare_with::<Balanced>(options),
    }
}

fn prepare_with<S: Structures>(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [attack_percent, longest, flows, seed] =
        LETTERS.pick(&options.size)?.map(|number| number as u64);
    let shape = Shape { attack_percent, longest, flows, seed };
    let bytes = shape.bytes();
    if bytes >= u64::from(u32::MAX / 2) {
        return Err(LETTERS.impossible(format!("{shape}, which is more than 2 GiB of text")));
    }
    room(APP.name, bytes.saturating_mul(size_of::<Packet>() as u64))?;
    let detector = Detector::new();
    let traffic = Traffic::generate(shape, &detector);
    Ok(problem(Intruder::<S> {
        shape,
        traffic,
        detector,
        by_hand: options.by_hand,
        lists: Lists::of(options),
        structures: PhantomData,
    }))
}

/// The flows that are not complete yet, in transactions.
trait Flows: Send + Sync + 'static {
    /// A complete flow.
    type Complete: Copy + Send + 'static;

    /// Enters the packet `index`, on the worker with this number. If that was the last of its flow,
    /// the flow is removed and returned.
    fn enter<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        worker: usize,
        index: u32,
        packet: Packet,
    ) -> TxResult<Option<Self::Complete>>;

    /// The packets of a complete flow.
    fn packets<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        complete: Self::Complete,
    ) -> TxResult<Vec<u32>>;

    /// Number of flows that have begun and are incomplete.
    fn left(&self) -> usize;
}

/// The structures in which flows are put together.
trait Structures: 'static {
    /// The serial version's.
    type Plain: Send;
    /// The parallel versions'.
    type Shared: Flows;

    /// Sized for these packets, of this many flows.
    fn plain(packets: &[Packet], flows: usize) -> Self::Plain;

    /// As [`plain`](Self::plain).
    fn shared(packets: &[Packet], flows: usize) -> Self::Shared;

    /// Enters the packet `index`. If that was the last of its flow, the flow is removed, and its
    /// packets are returned.
    fn enter(plain: &mut Self::Plain, index: u32, packet: Packet) -> Option<Vec<u32>>;

    /// Number of flows that have begun and are incomplete.
    fn left(plain: &Self::Plain) -> usize;
}

struct Intruder<S> {
    shape: Shape,
    traffic: Traffic,
    detector: Detector,
    by_hand: bool,
    lists: Lists,
    structures: PhantomData<fn() -> S>,
}

/// The state of a version without the traffic.
enum Input<S: Structures> {
    Serial(S::Plain),
    ByHand(Box<ByHand<S::Shared>>),
    Listed(Box<Listed<S::Shared>>),
}

#[derive(Debug, Clone, PartialEq)]
struct Verdict {
    found: Findings,
    /// Flows that never became complete.
    left: usize,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attacks in {} flows", self.found.attacks.len(), self.found.flows)
    }
}

impl<S: Structures> Intruder<S> {
    fn inspector(&self) -> Inspector<'_> {
        Inspector::new(&self.traffic, &self.detector)
    }

    fn packet(&self, index: u32) -> Packet {
        self.traffic.packets[index as usize]
    }

    fn indices(&self) -> Range<u32> {
        0..self.traffic.packets.len() as u32
    }

    fn reassembly(&self) -> S::Shared {
        S::shared(&self.traffic.packets, self.shape.flows as usize)
    }

    fn search(&self, mut flows: S::Plain) -> Verdict {
        let mut inspector = self.inspector();
        for index in self.indices() {
            if let Some(mut complete) = S::enter(&mut flows, index, self.packet(index)) {
                inspector.inspect(&mut complete);
            }
        }
        Verdict { found: iter::once(inspector.found).sum(), left: S::left(&flows) }
    }
}

impl<S: Structures> Solve for Intruder<S> {
    type Input = Input<S>;
    type Answer = Verdict;

    fn size(&self) -> String {
        format!("{}, {} packets", self.shape, self.traffic.packets.len())
    }

    fn input(&self) -> Input<S> {
        Input::Serial(S::plain(&self.traffic.packets, self.shape.flows as usize))
    }

    fn parallel_input(&self) -> Input<S> {
        if self.by_hand {
            Input::ByHand(Box::new(ByHand::new(self)))
        } else {
            Input::Listed(Box::new(Listed::new(self)))
        }
    }

    fn serial(&self, input: Input<S>) -> Verdict {
        match input {
            Input::Serial(flows) => self.search(flows),
            Input::ByHand(_) | Input::Listed(_) => unreachable!("the parallel versions' input"),
        }
    }

    fn parallel(&self, worker: &Worker, input: Input<S>) -> Verdict {
        match input {
            Input::Serial(flows) => self.search(flows),
            Input::ByHand(shared) => shared.run(worker, self),
            Input::Listed(mut shared) => shared.run(self),
        }
    }

    /// Exactly the planted attacks are found, every flow was reassembled as it was sent, and
    /// nothing is left.
    fn check(&self, verdict: &Verdict) -> Result<(), Wrong> {
        let Verdict { found, left } = verdict;
        let (sent, planted) = (self.shape.flows, &self.traffic.attacks);
        Wrong::unless(*left == 0, || format!("{left} flows are still incomplete"))?;
        Wrong::unless(found.flows == sent, || {
            format!("{} of {sent} flows were searched", found.flows)
        })?;
        let same = found.digest == self.traffic.digest;
        Wrong::unless(same, || "a flow was not put together as it was sent".to_owned())?;
        let wrong = || {
            format!(
                "{} attacks were found, {} planted, not the same",
                found.attacks.len(),
                planted.len()
            )
        };
        Wrong::unless(found.attacks == *planted, wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intruder<S: Structures>(attack_percent: u64, longest: u64) -> Intruder<S> {
        let (shape, detector) =
            (Shape { attack_percent, longest, flows: 60, seed: 5 }, Detector::new());
        let traffic = Traffic::generate(shape, &detector);
        let (lists, structures) = (Lists::default(), PhantomData);
        Intruder { shape, traffic, detector, by_hand: false, lists, structures }
    }

    /// Blind to: an attack that is neither planted nor found.
    #[test]
    fn a_missing_flow_a_wrong_text_and_a_wrong_attack_are_noticed() {
        let intruder = intruder::<Hashed>(30, 20);
        let right = intruder.serial(intruder.input());
        intruder.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Verdict)| {
            let mut verdict = right.clone();
            tamper(&mut verdict);
            intruder.check(&verdict).unwrap_err().to_string()
        };
        assert!(wrong(|verdict| verdict.left = 3).contains("3 flows are still incomplete"));
        assert!(wrong(|verdict| verdict.found.flows -= 1).contains("59 of 60"));
        assert!(wrong(|verdict| verdict.found.digest ^= 1).contains("as it was sent"));
        assert!(wrong(|verdict| _ = verdict.found.attacks.pop()).contains("attacks were found"));
        assert!(wrong(|verdict| verdict.found.attacks[0] ^= 1).contains("not the same"));
    }

    /// Blind to: what only transactions at the same time do wrong.
    #[test]
    fn flows_of_one_fragment_and_all_attacks_and_no_attacks_are_handled_by_every_version() {
        all_are_handled::<Hashed>();
        all_are_handled::<Balanced>();
    }

    fn all_are_handled<S: Structures>() {
        let pool = sinew::Pool::builder().threads(2).build().unwrap();
        for (percent, longest) in [(0, 1), (0, 30), (100, 1)] {
            for by_hand in [false, true] {
                let intruder = Intruder::<S> { by_hand, ..intruder(percent, longest) };
                let input = intruder.parallel_input();
                let parallel = pool.run(|worker| intruder.parallel(worker, input));
                intruder.check(&parallel).unwrap();
                assert_eq!(intruder.serial(intruder.input()), parallel);
            }
        }
    }

    /// Blind to: limits of single numbers, which the notation has.
    #[test]
    fn traffic_that_cannot_be_addressed_is_refused_in_one_line() {
        let size = "a10-l128-n33554432-s1".parse().unwrap();
        let message = prepare(&Options { size, ..Options::default() }).err().unwrap().to_string();
        assert!(
            message.contains("`a10-l128-n33554432-s1, which is more than 2 GiB of text`")
                && !message.contains('\n'),
            "{message}"
        );
    }
}
