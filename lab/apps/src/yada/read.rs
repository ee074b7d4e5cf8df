//! Meshes in the format of the program Triangle: `NAME.node`, `NAME.ele`, and `NAME.poly` where
//! there is one.
//!
//! Vertices, triangles and segments are numbered from 0 or from 1, without holes; `#` begins a
//! remark. Attributes and boundary markers are read over, and so are the holes and regions of a
//! `.poly` file, for the triangles say already where there is anything. Source: J. R. Shewchuk,
//! "Triangle: Engineering a 2D Quality Mesh Generator and Delaunay Triangulator" (1996), and the
//! program's documentation.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::build::{Flaw, Parts};
use super::domain::Domain;
use super::geometry::LARGEST;
use super::store::Mesh;
use super::triangle::Point;
use crate::lines::{Lines, Record};
use crate::options::Error;

/// Greatest number of items: slots and vertices have 29 bits.
const MOST: usize = 1 << 28;

/// The mesh with this name: that of one of its files, or without their ending.
pub(super) fn read(path: &Path, angle: f64) -> Result<(Mesh, Domain), Error> {
    let name = name(path);
    let nodes = Lines::read(&with(&name, "node"))?;
    let elements = Lines::read(&with(&name, "ele"))?;
    let poly = with(&name, "poly");
    let segments = if poly.exists() { Some(Lines::read(&poly)?) } else { None };
    build(&nodes, &elements, segments.as_ref(), angle)
}

/// A path without the ending of one of the three files. Other text after a dot belongs to the name.
fn name(path: &Path) -> PathBuf {
    let ending = path.extension().and_then(OsStr::to_str);
    let known = ending.is_some_and(|ending| ["node", "ele", "poly"].contains(&ending));
    if known { path.with_extension("") } else { path.to_owned() }
}

fn with(name: &Path, ending: &str) -> PathBuf {
    let mut path = name.to_owned().into_os_string();
    path.push(".");
    path.push(ending);
    path.into()
}

fn build(
    nodes: &Lines,
    elements: &Lines,
    poly: Option<&Lines>,
    angle: f64,
) -> Result<(Mesh, Domain), Error> {
    let vertices = Table::read(nodes, "vertices", 3, &["2"])?;
    let points = vertices.rows.iter().map(point).collect::<Result<_, _>>()?;
    let triangles = Table::read(elements, "triangles", 4, &["3", "6"])?;
    let segments = poly.map(Table::of_segments).transpose()?.unwrap_or_default();
    let parts = Parts {
        points,
        triangles: triangles
            .rows
            .iter()
            .map(|row| vertices.named(row))
            .collect::<Result<_, _>>()?,
        segments: segments.rows.iter().map(|row| vertices.named(row)).collect::<Result<_, _>>()?,
    };
    parts.build(angle).map_err(|flaw| match flaw {
        Flaw::Triangle(number, why) => triangles.rows[number].wrong(format!("the triangle {why}")),
        Flaw::Segment(number, why) => segments.rows[number].wrong(format!("the segment {why}")),
    })
}

/// Numbered lines that follow one with their number.
#[derive(Default)]
struct Table<'l> {
    rows: Vec<Record<'l>>,
    /// The number of the first row.
    first: usize,
}

impl<'l> Table<'l> {
    /// Reads a file of one table, whose rows have at least this many fields. The second number of
    /// its first line is the dimension, or the vertices of a triangle.
    fn read(lines: &'l Lines, what: &str, fields: usize, second: &[&str]) -> Result<Self, Error> {
        let mut records = lines.records();
        let (head, table) = Self::next(lines, &mut records, what, fields)?;
        if !head.fields.get(1).is_some_and(|given| second.contains(given)) {
            let second = second.join(" or ");
            return Err(head.wrong(format!("the number of {what} is to be followed by {second}")));
        }
        match records.next() {
            Some(more) => {
                Err(more.wrong(format!("there are more {what} than the first line says")))
            }
            None if table.rows.is_empty() => {
                Err(lines.ends_before(&format!("the first of the {what}")))
            }
            None => Ok(table),
        }
    }

    /// The second table of a `.poly` file. The first one is empty if the vertices are in the
    /// `.node` file, and the same otherwise.
    fn of_segments(lines: &'l Lines) -> Result<Self, Error> {
        let mut records = lines.records();
        Self::next(lines, &mut records, "vertices", 3)?;
        Self::next(lines, &mut records, "segments", 3).map(|(_, segments)| segments)
    }

    fn next(
        lines: &'l Lines,
        records: &mut impl Iterator<Item = Record<'l>>,
        what: &str,
        fields: usize,
    ) -> Result<(Record<'l>, Self), Error> {
        let head =
            records.next().ok_or_else(|| lines.ends_before(&format!("the number of {what}")))?;
        let count = field(&head, 0, &format!("number of {what}"), |count| *count <= MOST)?;
        let mut table = Self::default();
        while table.rows.len() < count {
            let missing = || format!("number {} of {count} {what}", table.rows.len() + 1);
            let row = records.next().ok_or_else(|| lines.ends_before(&missing()))?;
            table.push(row, what, fields)?;
        }
        Ok((head, table))
    }

    fn push(&mut self, row: Record<'l>, what: &str, fields: usize) -> Result<(), Error> {
        let number: usize = field(&row, 0, "number to begin with, 0 or 1", |_| true)?;
        if self.rows.is_empty() {
            self.first = number;
        }
        let expected = self.first + self.rows.len();
        if self.first > 1 || number != expected {
            let expected =
                if self.rows.is_empty() { "0 or 1".to_owned() } else { expected.to_string() };
            return Err(row.wrong(format!(
                "{what} are numbered one by one: {expected} is expected, not {number}"
            )));
        }
        if row.fields.len() < fields {
            return Err(row
                .wrong(format!("{fields} fields or more are expected, not {}", row.fields.len())));
        }
        self.rows.push(row);
        Ok(())
    }

    /// The vertices, which are this table's, that a row of another names.
    fn named<const N: usize>(&self, row: &Record<'_>) -> Result<[u32; N], Error> {
        let mut places = [0; N];
        for (place, at) in places.iter_mut().zip(1..) {
            let number: usize = field(row, at, "vertex", |_| true)?;
            let known = number.checked_sub(self.first).filter(|place| *place < self.rows.len());
            let last = self.first + self.rows.len() - 1;
            *place = known.ok_or_else(|| {
                row.wrong(format!("there is no vertex {number}, only {} to {last}", self.first))
            })? as u32;
        }
        Ok(places)
    }
}

/// A field of a line as a number, which has to be `right`.
fn field<T: FromStr>(
    row: &Record<'_>,
    at: usize,
    expected: &str,
    right: fn(&T) -> bool,
) -> Result<T, Error> {
    let text = row.fields.get(at).ok_or_else(|| row.wrong(format!("a {expected} is missing")))?;
    let number = text.parse().ok().filter(right);
    number.ok_or_else(|| row.wrong(format!("`{text}` is no {expected}")))
}

fn point(row: &Record<'_>) -> Result<Point, Error> {
    let coordinate =
        |at| field(row, at, "coordinate of at most 1e60", |value: &f64| value.abs() <= LARGEST);
    Ok(Point { x: coordinate(1)?, y: coordinate(2)? })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NODES: &str = "# a square\n5 2 1 1\n\n1 0 0 7.5 1\n2 1 0 7.5 1\n3 1 1e0 7.5 1 # \
        remark\n 4 0 1 7.5 1\n5 0.5 0.25 7.5 0\n";
    const ELEMENTS: &str = "4 3 0\n1 1 2 5\n2 2 3 5\n# in between\n3 3 4 5\n4 5 4 1\n";
    const SEGMENTS: &str = "0 2 1 1\n2 1\n1 1 2 1\n2 5 3 1\n0\n";

    /// Reads the three files, or what `read` says about them.
    fn mesh(nodes: &str, elements: &str, segments: Option<&str>) -> Result<(Mesh, Domain), Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("square.1");
        let files = [("node", Some(nodes)), ("ele", Some(elements)), ("poly", segments)];
        for (ending, text) in files.into_iter().filter_map(|(ending, text)| Some((ending, text?))) {
            fs::write(with(&path, ending), text).unwrap();
        }
        read(&path, 20.0)
    }

    /// Catches: numbers from 0, and segments that are read as others.
    #[test]
    fn a_mesh_is_read_whatever_its_numbers_begin_with() {
        let (of_one, domain) = mesh(NODES, ELEMENTS, Some(SEGMENTS)).unwrap();
        assert_eq!((of_one.vertices.len(), of_one.triangles.len()), (5, 4));
        assert_eq!(domain.segments, [[0, 1], [0, 3], [1, 2], [2, 3], [2, 4]]);
        let nodes = "3 2 0 0\n0 0 0\n1 2 0\n2 0 2\n";
        let (of_zero, domain) = mesh(nodes, "1 6 0\n0 0 1 2 9 9 9\n", None).unwrap();
        assert_eq!((of_zero.triangles[0].corners, domain.segments.len()), ([0, 1, 2], 3));
    }

    /// Catches: a name that is cut at its own dot.
    #[test]
    fn any_of_the_files_stands_for_the_mesh() {
        for path in ["a/633.2", "a/633.2.node", "a/633.2.ele", "a/633.2.poly"] {
            assert_eq!(name(Path::new(path)), Path::new("a/633.2"));
        }
    }

    /// Catches: a message without file or line, and flaws of other kinds.
    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_line() {
        let node = |from, to| (NODES.replace(from, to), ELEMENTS.to_owned(), SEGMENTS.to_owned());
        let element =
            |from, to| (NODES.to_owned(), ELEMENTS.replace(from, to), SEGMENTS.to_owned());
        let segment =
            |from, to| (NODES.to_owned(), ELEMENTS.to_owned(), SEGMENTS.replace(from, to));
        let flaws = [
            (
                node("\n3 1", "\n9 1"),
                ".node`, line 6: vertices are numbered one by one: 3 is expected, not 9",
            ),
            (
                node("\n1 0", "\n2 0"),
                ".node`, line 4: vertices are numbered one by one: 0 or 1 is expected, not 2",
            ),
            (node("5 2", "6 2"), ".node`, line 9: the file ends before number 6 of 6 vertices"),
            (
                node("5 2", "4 2"),
                ".node`, line 8: there are more vertices than the first line says",
            ),
            (node("5 2", "5 3"), ".node`, line 2: the number of vertices is to be followed by 2"),
            (node("5 2", "-5 2"), ".node`, line 2: `-5` is no number of vertices"),
            (node("1e0", "1e99"), ".node`, line 6: `1e99` is no coordinate of at most 1e60"),
            (node("1e0", "NaN"), ".node`, line 6: `NaN` is no coordinate"),
            (
                node("5 0.5 0.25 7.5 0", "5 0.5"),
                ".node`, line 8: 3 fields or more are expected, not 2",
            ),
            (element("2 3 5", "2 3 6"), ".ele`, line 3: there is no vertex 6, only 1 to 5"),
            (element("2 3 5", "2 3 0"), ".ele`, line 3: there is no vertex 0, only 1 to 5"),
            (element("2 3 5", "2 3 2"), ".ele`, line 3: the triangle has no area"),
            (
                element("2 3 5", "2 1 4"),
                ".ele`, line 3: the triangle lies on the same side of an edge as another",
            ),
            (
                element("4 3", "4000000000 3"),
                ".ele`, line 1: `4000000000` is no number of triangles",
            ),
            (segment("5 3", "2 4"), ".poly`, line 4: the segment is no side of a triangle"),
            (segment("5 3", "5 x"), ".poly`, line 4: `x` is no vertex"),
            (
                segment("2 1\n", "3 1\n"),
                ".poly`, line 5: segments are numbered one by one: 3 is expected, not 0",
            ),
        ];
        for ((nodes, elements, segments), expected) in flaws {
            let message = mesh(&nodes, &elements, Some(&segments)).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}, not {expected}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    /// Catches: an empty file.
    #[test]
    fn files_that_are_missing_or_empty_are_named() {
        let message = read(Path::new("/nowhere/633.2"), 20.0).unwrap_err().to_string();
        assert!(message.contains("/nowhere/633.2.node"), "{message}");
        assert!(mesh("", ELEMENTS, None).unwrap_err().to_string().contains("number of vertices"));
        assert!(
            mesh(NODES, "0 3 0\n", None)
                .unwrap_err()
                .to_string()
                .contains("first of the triangles")
        );
    }
}
