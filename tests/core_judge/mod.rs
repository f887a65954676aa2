//! The judge: the standard and the contract, read off a stream byte by byte, slowly and obviously.
//!
//! It shares nothing with the core. A line is held whole until it ends; what the guard counts is
//! added up anew after each byte. [`check`] lets the core and the judge have the same stream.

pub mod check;

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];
const CR: u8 = 13;
const LF: u8 = 10;

/// What a stream is to be parsed with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub limit: Option<usize>,
    pub comments: bool,
    pub diagnostics: bool,
    pub raw: bool,
    /// Types and needles.
    pub filter: Option<(Vec<String>, Vec<Vec<u8>>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub event: String,
    pub data: String,
    pub id: String,
    pub retry: Option<u64>,
    pub raw: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Event(Event),
    Comment(String),
    Diagnostic(&'static str, u64, u64, String),
}

#[derive(Debug, Default)]
struct Block {
    data: Vec<Vec<u8>>,
    event: Vec<u8>,
    id: Option<Vec<u8>>,
    retry: Option<u64>,
    known_field: bool,
    /// A line that is no comment.
    any_line: bool,
}

/// What a stream has come to so far.
#[derive(Debug)]
pub struct Judge<'a> {
    settings: &'a Settings,
    /// All of the stream that has come.
    came: usize,
    /// Whether all that has come could be the start of a BOM.
    bom_so_far: bool,
    after_cr: bool,
    line: Vec<u8>,
    line_number: u64,
    line_start: u64,
    block: Block,
    raw: Vec<u8>,
    pub items: Vec<Item>,
    pub last_event_id: String,
    pub retry: Option<u64>,
    pub skipped: u64,
    pub overflow: bool,
}

impl<'a> Judge<'a> {
    pub fn new(settings: &'a Settings) -> Self {
        Judge {
            settings,
            came: 0,
            bom_so_far: true,
            after_cr: false,
            line: Vec::new(),
            line_number: 1,
            line_start: 0,
            block: Block::default(),
            raw: Vec::new(),
            items: Vec::new(),
            last_event_id: String::new(),
            retry: None,
            skipped: 0,
            overflow: false,
        }
    }

    /// The next byte of the stream; what comes after an overflow is nobody's.
    pub fn byte(&mut self, byte: u8) {
        if self.overflow {
            return;
        }
        self.came += 1;
        if self.bom_so_far {
            if byte == BOM[self.came - 1] {
                if self.came == BOM.len() {
                    self.bom_so_far = false;
                    self.line_start = 3;
                }
                return;
            }
            self.bom_so_far = false;
            self.line.extend_from_slice(&BOM[..self.came - 1]);
            self.raw.extend_from_slice(&BOM[..self.came - 1]);
        }
        if self.after_cr && byte == LF {
            // The second byte of a line's end. After a blank line it is of no block.
            self.after_cr = false;
            self.line_start += 1;
            if !self.raw.is_empty() {
                self.raw.push(byte);
            }
        } else if byte == CR || byte == LF {
            self.after_cr = byte == CR;
            let line = std::mem::take(&mut self.line);
            if line.is_empty() {
                self.blank_line();
            } else {
                self.raw.push(byte);
                self.end_line(&line);
            }
            self.line_number += 1;
            self.line_start = self.came as u64;
        } else {
            self.after_cr = false;
            self.line.push(byte);
            self.raw.push(byte);
        }
        self.overflow = self
            .settings
            .limit
            .is_some_and(|limit| self.count() > limit);
    }

    /// What the guard counts.
    pub fn count(&self) -> usize {
        if self.overflow {
            return 0;
        }
        let block = &self.block;
        let mut count = block.data.iter().map(Vec::len).sum::<usize>();
        count += block.data.len().saturating_sub(1);
        count += block.event.len() + block.id.as_ref().map_or(0, Vec::len);
        // A longer name counts for nothing, however long it is; to look for its end takes time.
        let names = &self.line[..self.line.len().min(6)];
        let (name, value) = match names.contains(&b':') {
            true => split(&self.line),
            false => (names, &b""[..]),
        };
        count += match name {
            b"data" | b"event" | b"id" => value.len(),
            b"" if self.settings.comments => value.len(),
            _ => 0,
        };
        if self.settings.raw {
            count += self.raw.len();
        }
        count
    }

    /// The stream has ended: the unfinished event, and whether it ended inside a block.
    pub fn end(mut self) -> (Option<Event>, bool) {
        if self.overflow {
            return (None, false);
        }
        if self.bom_so_far {
            self.line.extend_from_slice(&BOM[..self.came]);
            self.raw.extend_from_slice(&BOM[..self.came]);
        }
        let truncated = self.block.any_line || !self.line.is_empty();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            take(&mut self.block, &line);
        }
        let id = match &self.block.id {
            Some(id) => text(id),
            None => self.last_event_id.clone(),
        };
        let event = (!self.block.data.is_empty()).then(|| self.event(id));
        (event, truncated)
    }

    fn end_line(&mut self, line: &[u8]) {
        let (number, start) = (self.line_number, self.line_start);
        let (name, value) = split(line);
        let known = [&b"data"[..], b"event", b"id", b"retry"].contains(&name);
        let mut tell = |kind, detail: &[u8]| {
            if self.settings.diagnostics {
                let found = Item::Diagnostic(kind, number, start, text(detail));
                self.items.push(found);
            }
        };
        if std::str::from_utf8(line).is_err() {
            tell("invalid-utf-8", if known { name } else { b"" });
        }
        if let Some((kind, detail)) = take(&mut self.block, line) {
            tell(kind, detail);
        } else if name == b"retry" {
            self.retry = self.block.retry;
        }
        if line[0] == b':' && self.settings.comments {
            self.items.push(Item::Comment(text(value)));
        }
    }

    fn blank_line(&mut self) {
        if let Some(id) = &self.block.id {
            self.last_event_id = text(id);
        }
        if !self.block.data.is_empty() {
            if self.keeps() {
                let event = self.event(self.last_event_id.clone());
                self.items.push(Item::Event(event));
            } else {
                self.skipped += 1;
            }
        } else if self.block.known_field && self.settings.diagnostics {
            let place = (self.line_number, self.line_start);
            self.items
                .push(Item::Diagnostic("no-data", place.0, place.1, String::new()));
        }
        self.block = Block::default();
        self.raw.clear();
    }

    fn event(&self, id: String) -> Event {
        Event {
            event: self.event_type(),
            data: text(&self.block.data.join(&LF)),
            id,
            retry: self.block.retry,
            raw: self.settings.raw.then(|| self.raw.clone()),
        }
    }

    fn event_type(&self) -> String {
        match &self.block.event[..] {
            b"" => "message".to_owned(),
            name => text(name),
        }
    }

    fn keeps(&self) -> bool {
        let Some((types, needles)) = &self.settings.filter else {
            return true;
        };
        let data = self.block.data.join(&LF);
        let has = |needle: &Vec<u8>| data.windows(needle.len()).any(|window| window == needle);
        types.contains(&self.event_type()) || needles.iter().any(has)
    }
}

/// A line's field name and value; a comment's name is empty, and so is a blank line's.
fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b':') {
        None => (line, b""),
        Some(colon) => {
            let value = &line[colon + 1..];
            (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
        }
    }
}

/// What a line does to its block. Returns the kind and detail of what the standard ignores.
fn take<'a>(block: &mut Block, line: &'a [u8]) -> Option<(&'static str, &'a [u8])> {
    let (name, value) = split(line);
    if line[0] == b':' {
        return None;
    }
    block.any_line = true;
    match name {
        b"data" => block.data.push(value.to_vec()),
        b"event" => block.event = value.to_vec(),
        b"id" if value.contains(&0) => {
            block.known_field = true;
            return Some(("invalid-id", b""));
        }
        b"id" => block.id = Some(value.to_vec()),
        b"retry" => {
            block.known_field = true;
            if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
                return Some(("invalid-retry", b""));
            }
            block.retry = Some(number(value));
        }
        _ => {
            let harmless = |&byte: &u8| {
                let other = byte == b'-' || byte == b'_' || byte == b' ';
                byte.is_ascii_alphabetic() || byte.is_ascii_digit() || other
            };
            let told = name.len() < line.len() && name.len() <= 64 && name.iter().all(harmless);
            return Some(("unknown-field", if told { name } else { b"" }));
        }
    }
    block.known_field = true;
    None
}

/// What ASCII digits say, at most 2**63 - 1.
fn number(digits: &[u8]) -> u64 {
    let largest = 9_223_372_036_854_775_807_u128;
    let mut number = 0_u128;
    for digit in digits {
        number = (number * 10 + u128::from(digit - 48)).min(largest);
    }
    number as u64
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
