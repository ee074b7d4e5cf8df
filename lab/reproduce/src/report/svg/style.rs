//! Colours, fonts and the types of `plotters`.
//!
//! Ink and background carry colours that occur nowhere else, which a style sheet in the picture
//! exchanges where the reader prefers a dark page.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

pub(super) const INK: RGBColor = RGBColor(0x22, 0x22, 0x23);
pub(super) const LINE: RGBColor = RGBColor(0xdd, 0xdd, 0xde);
pub(super) const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xfe);
pub(super) const BAND: RGBColor = RGBColor(0xbb, 0xbb, 0xbc);

/// The colours of a dark page, in place of those above.
pub(super) const STYLE: &str = "<style>@media (prefers-color-scheme: dark) {\
    [fill=\"#FFFFFE\"]{fill:#16181c} \
    [fill=\"#222223\"]{fill:#e4e4e4} [stroke=\"#222223\"]{stroke:#e4e4e4} \
    [stroke=\"#DDDDDE\"]{stroke:#3a3d42} [fill=\"#BBBBBC\"]{fill:#50545a}}</style>";

/// Okabe and Ito's colours, which the colour-blind can tell apart, without the yellow and the black
/// that one of both pages swallows.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2b, 0x83, 0xba),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x8a, 0x8d, 0x3f),
    RGBColor(0x8b, 0x6f, 0xc0),
];

pub(super) const FONT: i32 = 13;
pub(super) const MARGIN: i32 = 12;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Series beyond the palette have its colours darker, then lighter, then darker still.
pub(super) fn colour(series: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[series % COLOURS.len()];
    let turn = series / COLOURS.len();
    // 1 keeps the colour; nearer to 0 it is nearer to black or white.
    let kept = 0.6_f64.powi(turn.div_ceil(2) as i32);
    let towards = if turn % 2 == 1 { 0.0 } else { 255.0 };
    let shade = |part: u8| (towards + (f64::from(part) - towards) * kept) as u8;
    RGBColor(shade(red), shade(green), shade(blue))
}

pub(super) fn font(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}
