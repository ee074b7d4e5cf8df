//! Comma-separated values.

/// A sheet: titles, and rows of as many cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) titles: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Sheet {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
        let titles = reader.headers().map_err(|error| error.to_string())?;
        let titles: Vec<String> = titles.iter().map(str::to_owned).collect();
        let row = |record: Result<csv::StringRecord, csv::Error>| {
            record
                .map(|record| record.iter().map(str::to_owned).collect())
                .map_err(|error| error.to_string())
        };
        let rows: Result<Vec<Vec<String>>, String> = reader.records().map(row).collect();
        match titles.is_empty() {
            true => Err("there is no line of titles in it".to_owned()),
            false => Ok(Self { titles, rows: rows? }),
        }
    }
}
