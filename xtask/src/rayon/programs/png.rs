//! Images as PNG files, without compression: as much as the inputs need (W3C, PNG specification,
//! third edition).

/// An image of 8-bit RGB pixels, rows of `width` from the top.
pub(super) fn rgb(width: usize, pixels: &[u8]) -> Vec<u8> {
    let row = width * 3;
    let height = pixels.len() / row;
    let mut header = Vec::new();
    header.extend(length(width));
    header.extend(length(height));
    // Eight bits, RGB, and the only compression, filter and interlacing that need no choice.
    header.extend([8, 2, 0, 0, 0]);
    // Each row is preceded by its filter, which is none.
    let filtered: Vec<u8> =
        pixels.chunks(row).flat_map(|row| [0].iter().chain(row)).copied().collect();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", stored(&filtered)), (b"IEND", Vec::new())] {
        chunk(&mut file, kind, &data);
    }
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend(length(data.len()));
    let start = file.len();
    file.extend(kind);
    file.extend(data);
    let sum = crc(&file[start..]);
    file.extend(sum.to_be_bytes());
}

/// A length as PNG writes it.
fn length(length: usize) -> [u8; 4] {
    // Images here are far below the 2 GiB that the format allows.
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

/// A zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let size = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(size.to_le_bytes());
        stream.extend((!size).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler(data).to_be_bytes());
    stream
}

/// Adler-32 (RFC 1950, 8.2).
fn adler(data: &[u8]) -> u32 {
    let step = |(low, high): (u32, u32), &byte: &u8| {
        let low = (low + u32::from(byte)) % 65_521;
        (low, (high + low) % 65_521)
    };
    let (low, high) = data.iter().fold((1, 0), step);
    high << 16 | low
}

/// CRC-32 (PNG, annex D), a bit at a time: the images are small.
fn crc(data: &[u8]) -> u32 {
    let bit = |rest: u32| if rest & 1 == 1 { 0xedb8_8320 ^ (rest >> 1) } else { rest >> 1 };
    !data.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |rest, _| bit(rest)))
}

#[cfg(test)]
mod tests {
    //! Blind to: an image that some reader refuses, which the programs would show.
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_standards() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn an_image_has_its_size_and_ends_as_it_should() {
        let file = rgb(2, &[0; 18]);
        assert_eq!(file[16..24], [0, 0, 0, 2, 0, 0, 0, 3]);
        assert!(file.ends_with(b"\0\0\0\0IEND\xae\x42\x60\x82"));
    }

    #[test]
    fn long_data_is_stored_in_blocks_of_which_the_last_is_marked() {
        let stream = stored(&vec![7; 0x1_0000]);
        assert_eq!(stream[2], 0);
        assert_eq!(stream[2 + 5 + 0xffff], 1);
        assert_eq!(stream.len(), 2 + 5 + 0xffff + 5 + 1 + 4);
    }
}
