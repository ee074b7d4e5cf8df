//! Builds an index of documents, and searches it: which documents contain all words of a question,
//! best first. Documents are the text files of a folder (`search_index FOLDER WORD…`), or made.
//!
//! Shows: `fold` and `reduce` with large maps, `map` and `collect` over a map, `flat_map_iter`,
//! sorts, and chains inside a chain.

use sinew::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// For each word the documents that contain it, and how often.
type Index = HashMap<String, Vec<(usize, usize)>>;

struct Document {
    name: String,
    text: String,
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn index_one(mut index: Index, (number, document): (usize, &Document)) -> Index {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in words(&document.text) {
        *counts.entry(word).or_default() += 1;
    }
    for (word, count) in counts {
        index.entry(word).or_default().push((number, count));
    }
    index
}

fn merge(mut index: Index, other: Index) -> Index {
    for (word, mut documents) in other {
        index.entry(word).or_default().append(&mut documents);
    }
    index
}

fn build(documents: &[Document]) -> Index {
    let index = documents.par_iter().enumerate().fold(Index::new, index_one);
    // The parts come in the order of the documents, so each list is sorted.
    index.reduce(Index::new, merge)
}

/// The documents with all words of `question`, best first: rare words count more.
fn search(index: &Index, documents: usize, question: &str) -> Vec<(usize, f64)> {
    let mut scores: HashMap<usize, (usize, f64)> = HashMap::new();
    let question: Vec<String> = words(question).collect();
    for list in question.iter().filter_map(|word| index.get(word)) {
        let rarity = (documents as f64 / list.len() as f64).ln() + 1.0;
        for (number, count) in list {
            let score = scores.entry(*number).or_default();
            *score = (score.0 + 1, score.1 + *count as f64 * rarity);
        }
    }
    let complete = scores.into_iter().filter(|(_, (found, _))| *found == question.len());
    let mut found: Vec<_> = complete.map(|(number, (_, score))| (number, score)).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

/// All text files below `folder`; files that are no text are left out.
fn read(folder: &Path) -> std::io::Result<Vec<Document>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let files = entries.par_iter().map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return read(&path);
        }
        let text = std::fs::read_to_string(&path).ok();
        let document = text.map(|text| Document { name: path.display().to_string(), text });
        Ok(document.into_iter().collect())
    });
    Ok(files.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn made() -> Vec<Document> {
    let topics = ["loops", "tasks", "pipelines", "transactions", "stencils", "queues", "grids"];
    let document = |i: usize| {
        let words = (0..200).map(|k| topics[(i + k * k) % (2 + i % 6)]);
        let text = words.collect::<Vec<_>>().join(" ");
        Document { name: format!("document {i}"), text: format!("{text} number{}", i % 50) }
    };
    (0..5_000).into_par_iter().map(document).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let documents = match arguments.first() {
        Some(folder) => read(folder.as_ref()).map_err(|error| format!("{folder}: {error}"))?,
        None => made(),
    };
    let index = build(&documents);
    println!("{} documents, {} words", documents.len(), index.len());
    if let Some((_, question)) = arguments.split_first() {
        for (number, score) in search(&index, documents.len(), &question.join(" ")).iter().take(10)
        {
            println!("{score:8.1} {}", documents[*number].name);
        }
        return Ok(());
    }

    assert_eq!(index, documents.iter().enumerate().fold(Index::new(), index_one));
    // Many questions at once.
    let questions: Vec<String> = (0..50).map(|i| format!("Stencils number{i}")).collect();
    let answers: Vec<_> =
        questions.par_iter().map(|question| search(&index, documents.len(), question)).collect();
    for (question, answer) in questions.iter().zip(&answers).take(3) {
        let best = answer.first().map(|(number, _)| documents[*number].name.as_str());
        println!("{question}: {} documents, the best is {best:?}", answer.len());
    }
    let contains = |d: &&Document, word: &str| words(&d.text).any(|w| w == word);
    for (i, answer) in answers.iter().enumerate() {
        let number = format!("number{i}");
        let expected = documents.iter().filter(|d| contains(d, "stencils") && contains(d, &number));
        assert_eq!(answer.len(), expected.count());
    }
    Ok(())
}
