//! Which events are worth making, for those who look at few of them.

use std::borrow::Cow;

use memchr::memmem::Finder;

/// Keeps the events whose type is listed or whose data has one of the needles.
#[derive(Debug, Default)]
pub struct Filter {
    /// Sorted.
    types: Vec<Box<str>>,
    contains: Vec<Finder<'static>>,
}

impl Filter {
    pub fn new<'a>(
        types: impl IntoIterator<Item = &'a str>,
        contains: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let mut types: Vec<Box<str>> = types.into_iter().map(Into::into).collect();
        types.sort_unstable();
        let contains = contains
            .into_iter()
            .map(|needle| Finder::new(needle).into_owned())
            .collect();
        Filter { types, contains }
    }

    pub(crate) fn keeps(&self, event: &[u8], data: &[u8]) -> bool {
        self.lists(event)
            || self
                .contains
                .iter()
                .any(|needle| needle.find(data).is_some())
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
