//! Machine code that the drop-in leaves to the programs above it: how vectors of plain numbers
//! grow.
//!
//! A generic function of the standard library that is never inlined, such as the one that makes a
//! vector grow, is compiled by the first crate that uses it for a type. All crates above that one
//! call it there. Such a call goes through a table, whose entry takes a register in the loop around
//! it. Collecting chosen numbers took 1.06 of its time once a crate below the program had pushed a
//! `u32` anywhere. So no crate under the drop-in pushes or inserts plain numbers, or unzips them:
//! `extend([number])` grows a vector by another way.

use crate::command;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Plain types, as the names of functions have them. Not `u8`, whose vectors the standard library
/// itself makes grow.
const PLAIN: &[(char, &str)] = &[
    ('a', "i8"),
    ('b', "bool"),
    ('c', "char"),
    ('d', "f64"),
    ('f', "f32"),
    ('i', "isize"),
    ('j', "usize"),
    ('l', "i32"),
    ('m', "u32"),
    ('n', "i128"),
    ('o', "u128"),
    ('s', "i16"),
    ('t', "u16"),
    ('x', "i64"),
    ('y', "u64"),
];

/// Builds the drop-in, and looks which vectors grow in it and in what it is made of.
///
/// # Errors
///
/// It does not build, none grow in a way that is known here, or one of plain numbers, or of tuples
/// of them, does.
pub(crate) fn check() -> Result<(), String> {
    let folder = command::output_folder("growth");
    // Libraries of an earlier build would be looked at as well.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    let mut cargo = command::nested(command::DROP_IN, &["build", "--release"]);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    cargo
        .env("RUSTFLAGS", format!("{flags} -C symbol-mangling-version=v0"))
        .env("CARGO_TARGET_DIR", &folder);
    command::run(&mut cargo)?;
    let (mut grown, mut wrong) = (0, Vec::new());
    for (name, code) in libraries(&folder.join("release").join("deps"))? {
        grown += growing(&code).count();
        wrong.extend(plain(&code).iter().map(|of| format!("{name} makes vectors of {of} grow")));
    }
    if grown == 0 {
        return Err(
            "no vector grows anywhere: functions have other names than this check knows".to_owned()
        );
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}: use extend([…])", wrong.join("; "))) }
}

/// The libraries in `folder`: their names, and what is in them.
fn libraries(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|extension| extension == "rlib") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            all.push((name, String::from_utf8_lossy(&fs::read(&path).map_err(fail)?).into_owned()));
        }
    }
    Ok(all)
}

/// Of what the vectors are that grow in `code`, as functions' names have it.
fn growing(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("6RawVec").skip(1);
    after.filter_map(|rest| rest.split_once("E8grow_one").map(|(of, _)| of))
}

/// The plain types among them, and tuples of plain types.
fn plain(code: &str) -> BTreeSet<String> {
    let name = |letter| PLAIN.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name);
    let names = |of: &str| of.chars().map(name).collect::<Option<Vec<&str>>>();
    let shown = |of: &str| match of.strip_prefix('T').and_then(|of| of.strip_suffix('E')) {
        Some(parts) => names(parts).map(|names| format!("({})", names.join(", "))),
        None => names(of).filter(|names| names.len() == 1).map(|names| names.concat()),
    };
    growing(code).filter_map(shown).collect()
}

#[cfg(test)]
mod tests {
    //! Blind to: a check that never finds anything.
    use super::*;

    #[test]
    fn vectors_of_plain_numbers_are_found_among_others() {
        let code = "_5alloc7raw_vecINtB5_6RawVecNtB1_3RowE8grow_oneB_ and \
                    INtB5_6RawVecmE8grow_oneC_ \
                    INtB5_6RawVecTmdEE8grow_one INtB5_6RawVechE8grow_one \
                    INtB5_6RawVecTmNtB1_3RowEE8grow_one \
                    INtB5_6RawVecyEE4drop";
        assert_eq!(growing(code).count(), 5);
        assert!(plain(code).iter().eq(["(u32, f64)", "u32"]));
    }
}
