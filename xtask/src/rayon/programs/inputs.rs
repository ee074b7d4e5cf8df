//! Input files of the programs, the same for both builds: made from a fixed seed, never stored.

use super::png;
use std::collections::BTreeMap;

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inputs {
    /// Random bytes, from none to 16 MiB; a file is named by its length.
    Blobs,
    /// A tree of source files in several languages.
    Sources,
    /// Images that compress well, badly and not at all.
    Images,
    /// Lines of words and numbers, a megabyte a file.
    Letters,
    /// Many files of which some are equal, and some equal but for their last byte.
    Copies,
}

type Tree = BTreeMap<String, Vec<u8>>;

impl Inputs {
    /// For the table of results.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Inputs::Blobs => "6 files of 0 to 16 MiB",
            Inputs::Sources => "600 source files",
            Inputs::Images => "3 images of 320 by 240",
            Inputs::Letters => "6 texts of 1 MB",
            Inputs::Copies => "300 files, half of them copies",
        }
    }
}

/// Makes the files of a kind of input.
pub(super) fn make(inputs: Inputs) -> Tree {
    let mut random = Random(0x5eed);
    match inputs {
        Inputs::Blobs => blobs(&mut random),
        Inputs::Sources => sources(&mut random),
        Inputs::Images => images(&mut random),
        Inputs::Letters => letters(&mut random),
        Inputs::Copies => copies(&mut random),
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter, well mixed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        // The remainder is not quite uniform, which no program here minds, and it fits, being below
        // a `usize`.
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).collect();
        bytes.truncate(count);
        bytes
    }
}

const WORDS: [&str; 12] = [
    "alpha", "bar", "cedar", "delta", "echo", "far", "golf", "harbour", "ink", "jar", "kilo",
    "lunar",
];

fn blobs(random: &mut Random) -> Tree {
    let lengths = [0, 1, 1023, 65_537, 1_048_583, 16_777_259];
    lengths.into_iter().map(|length| (format!("{length}.bin"), random.bytes(length))).collect()
}

fn sources(random: &mut Random) -> Tree {
    let kinds = [("rs", "//"), ("c", "//"), ("py", "#"), ("sh", "#"), ("hs", "--")];
    let file = |index: usize| {
        let (kind, comment) = kinds[index % kinds.len()];
        let name = format!("{}/{}/{index}.{kind}", WORDS[index % 7], WORDS[index % 11]);
        let mut text = String::new();
        for line in 0..random.below(300) {
            match random.below(6) {
                0 => text.push('\n'),
                1 => text.push_str(&format!("{comment} {}\n", WORDS[random.below(WORDS.len())])),
                _ => text.push_str(&format!("{} = {line};\n", WORDS[random.below(WORDS.len())])),
            }
        }
        (name, text.into_bytes())
    };
    (0..600).map(file).collect()
}

fn images(random: &mut Random) -> Tree {
    let (width, height) = (320, 240);
    let grey = vec![0x80; width * height * 3];
    let noise = random.bytes(width * height * 3);
    let mut ramp = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            // A smooth picture with a little noise; each channel is cut to a byte on purpose.
            let level = (x * 255 / width + random.below(4)) as u8;
            ramp.extend([level, (y * 255 / height) as u8, level ^ (y as u8)]);
        }
    }
    let image = |name: &str, pixels: &[u8]| (name.to_owned(), png::rgb(width, pixels));
    Tree::from([image("grey.png", &grey), image("noise.png", &noise), image("ramp.png", &ramp)])
}

fn letters(random: &mut Random) -> Tree {
    let mut text = || {
        let mut text = String::new();
        while text.len() < 1_000_000 {
            let (first, second) =
                (WORDS[random.below(WORDS.len())], WORDS[random.below(WORDS.len())]);
            text.push_str(&format!(
                "{first}{} {} {second}\n",
                random.below(10),
                random.below(100_000)
            ));
        }
        text.into_bytes()
    };
    (0..6).map(|index| (format!("{index}.txt"), text())).collect()
}

fn copies(random: &mut Random) -> Tree {
    let originals: Vec<Vec<u8>> =
        (0..50).map(|index| random.bytes(100 + index % 5 * 30_000)).collect();
    let mut tree = Tree::new();
    for (index, original) in originals.iter().enumerate() {
        for copy in 0..3 {
            tree.insert(format!("{}/{index}-{copy}", WORDS[(index + copy) % 12]), original.clone());
        }
        for other in 0..3_u8 {
            let mut near = original.clone();
            // The last byte differs, so that only reading all of it tells.
            if let Some(last) = near.last_mut() {
                *last ^= other + 1;
            }
            tree.insert(format!("near/{index}-{other}"), near);
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    //! Blind to: inputs on which a program does everything on one thread.
    use super::*;

    #[test]
    fn inputs_are_the_same_every_time() {
        for inputs in [Inputs::Sources, Inputs::Images, Inputs::Letters, Inputs::Copies] {
            assert!(make(inputs) == make(inputs), "{inputs:?}");
        }
    }

    #[test]
    fn a_blob_is_as_long_as_its_name_says() {
        for (name, bytes) in make(Inputs::Blobs) {
            assert_eq!(name, format!("{}.bin", bytes.len()));
        }
    }

    #[test]
    fn there_are_as_many_files_as_the_table_says() {
        assert_eq!(make(Inputs::Sources).len(), 600);
        assert_eq!(make(Inputs::Copies).len(), 300);
        assert_eq!(make(Inputs::Images).len(), 3);
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // The first number that the reference gives for the seed 1234567.
        assert_eq!(Random(1_234_567).next(), 6_457_827_717_110_365_317);
    }
}
