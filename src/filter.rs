//! Which events are worth making, for those who look at few of them.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, packed};
use memchr::memmem::Finder;

/// Keeps the events whose type is listed or whose data has one of the needles.
#[derive(Debug)]
pub struct Filter {
    /// Sorted.
    types: Vec<Box<str>>,
    /// In a place of their own: they are aligned as the processor's registers are, and what holds
    /// a filter need not be.
    contains: Box<Needles>,
}

impl Filter {
    pub fn new<'a>(
        types: impl IntoIterator<Item = &'a str>,
        contains: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let mut types: Vec<Box<str>> = types.into_iter().map(Into::into).collect();
        types.sort_unstable();
        let contains: Vec<_> = contains.into_iter().collect();
        Filter {
            types,
            contains: Box::new(Needles::new(&contains)),
        }
    }

    pub(crate) fn keeps(&self, event: &[u8], data: &[u8]) -> bool {
        self.lists(event) || self.contains.are_in(data)
    }

    fn lists(&self, event: &[u8]) -> bool {
        if self.types.is_empty() {
            return false;
        }
        let name = match event {
            b"" => Cow::Borrowed("message"),
            name => String::from_utf8_lossy(name),
        };
        self.types
            .binary_search_by(|listed| (**listed).cmp(&name))
            .is_ok()
    }
}

/// Byte strings, any of which is to be found.
#[derive(Debug)]
enum Needles {
    /// One after the other: sooner than together up to [`TWO`].
    Each(Vec<Finder<'static>>),
    /// As many as fit in the processor's registers, in one pass.
    Few(packed::Searcher),
    /// In one pass.
    Many(AhoCorasick),
}

const TWO: usize = 2;

impl Needles {
    fn new(needles: &[&[u8]]) -> Self {
        if needles.len() > TWO {
            if let Some(few) = packed::Searcher::new(needles) {
                return Needles::Few(few);
            }
            if let Ok(many) = AhoCorasick::new(needles) {
                return Needles::Many(many);
            }
        }
        let finders = needles.iter().map(|needle| Finder::new(*needle));
        Needles::Each(finders.map(Finder::into_owned).collect())
    }

    fn are_in(&self, data: &[u8]) -> bool {
        match self {
            Needles::Each(needles) => needles.iter().any(|needle| needle.find(data).is_some()),
            Needles::Few(needles) => needles.find(data).is_some(),
            Needles::Many(needles) => needles.is_match(data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_few_and_many_needles_are_found_anywhere() {
        let words: Vec<String> = (0..400).map(|i| format!("needle{i:03}")).collect();
        for count in [1, 2, 3, 17, 100, 400] {
            let needles: Vec<&[u8]> = words[..count].iter().map(String::as_bytes).collect();
            let filter = Filter::new([], needles.iter().copied());
            for length in [0, 1, 15, 31, 32, 33, 64, 300] {
                let hay = "needle".repeat(length / 6 + 1).as_bytes()[..length].to_vec();
                assert!(!filter.keeps(b"", &hay), "{count} needles, {length} bytes");
                for place in [0, length / 2, length] {
                    for needle in [needles[0], needles[count - 1]] {
                        let data = [&hay[..place], needle, &hay[place..]].concat();
                        assert!(filter.keeps(b"", &data), "{count} needles at {place}");
                    }
                }
            }
        }
        assert!(!Filter::new([], []).keeps(b"", b"needle"));
        assert!(Filter::new(["message"], []).keeps(b"", b"needle"));
    }
}
