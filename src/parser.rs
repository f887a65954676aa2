//! The parser: an event stream interpreted line by line, across chunks.
//!
//! A line that lies whole in the chunk is taken apart where it lies; one that the network cut goes
//! through [`CutLine`]. Lines need no more than their rules, unless the limit is near or there is
//! something to tell: then each is a `careful_line`.

use crate::block::Block;
use crate::cut::CutLine;
use crate::diagnostics::{Diagnostic, Ended, Kind, Watch, unknown_name};
use crate::field::{self, Digits, Field, Line};
use crate::filter::Filter;
use crate::guard::{Exceeded, Guard, Overflow, counted};
use crate::lines::{Cursor, LineEnds};
use crate::scan::{BLOCK, Best, Scan, Work};
use crate::sink::{Event, Flow, Sink};

const BOM: [u8; 3] = *b"\xEF\xBB\xBF";

/// What to tell the sink, and the limit.
#[derive(Debug)]
pub struct Options {
    /// Retained bytes at most; `None` for no limit.
    pub max_buffer_size: Option<usize>,
    pub comments: bool,
    pub diagnostics: bool,
    /// Whether events carry the bytes of their blocks.
    pub raw: bool,
    /// `None` keeps every event.
    pub filter: Option<Filter>,
}

impl Options {
    pub const MAX_BUFFER_SIZE: usize = 64 * 1024 * 1024;

    /// Whether there is more to tell than events, or of them.
    fn tell(&self) -> bool {
        self.comments || self.diagnostics || self.raw
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_buffer_size: Some(Self::MAX_BUFFER_SIZE),
            comments: false,
            diagnostics: false,
            raw: false,
            filter: None,
        }
    }
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// The whole chunk is parsed.
    Done,
    /// The sink wanted a pause; the chunk goes on at the cursor.
    Paused,
    /// The guard's limit is exceeded; the parser is closed and holds nothing.
    Overflow,
}

/// Everything that `reset` makes anew.
#[derive(Debug, Default)]
struct State {
    /// How many bytes of a BOM have been seen; `BOM.len()` when that is settled.
    bom: usize,
    after_cr: bool,
    cut: CutLine,
    block: Block,
    watch: Watch,
    /// Line ends so far.
    line: u64,
    /// Bytes in the chunks before the one at hand.
    passed: u64,
    /// Where the cut line began in the stream.
    line_offset: u64,
    /// The latest valid one, in milliseconds, as of the last blank line.
    retry: Option<u64>,
    skipped: u64,
    closed: bool,
    overflow: bool,
    truncated: bool,
}

/// An incremental event stream parser.
///
/// Time is linear in the bytes fed, however they are cut. No byte sequence makes it fail, but
/// for what exceeds the limit.
#[derive(Debug)]
pub struct Parser {
    options: Options,
    guard: Guard,
    best: Best,
    /// Whether lines need more than their rules: a guard that is armed, or something to tell.
    careful: bool,
    state: State,
}

/// The lines of a chunk, to be parsed.
struct Lines<'a, S> {
    parser: &'a mut Parser,
    chunk: &'a [u8],
    cursor: &'a mut Cursor,
    sink: &'a mut S,
}

impl<S: Sink> Work for Lines<'_, S> {
    type Output = Result<Flow, Exceeded>;

    #[inline(always)]
    fn run(self, scan: impl Scan) -> Self::Output {
        self.parser.lines(scan, self.chunk, self.cursor, self.sink)
    }
}

impl Default for Parser {
    fn default() -> Self {
        Parser::new(Options::default())
    }
}

impl Parser {
    pub fn new(options: Options) -> Self {
        Parser {
            guard: Guard::new(options.max_buffer_size),
            best: Best::default(),
            careful: options.tell(),
            options,
            state: State::default(),
        }
    }

    /// Begins a new stream with the same options.
    pub fn reset(&mut self) {
        self.guard = Guard::new(self.options.max_buffer_size);
        self.careful = self.options.tell();
        self.state = State::default();
    }

    /// The latest valid `retry` of the stream, in milliseconds.
    pub fn retry(&self) -> Option<u64> {
        self.state.block.retry.or(self.state.retry)
    }

    /// Events that the filter left out.
    pub fn skipped(&self) -> u64 {
        self.state.skipped
    }

    /// Whether nothing more can be fed, after [`Parser::close`] or an overflow.
    pub fn is_closed(&self) -> bool {
        self.state.closed
    }

    /// Whether the limit was exceeded.
    pub fn has_overflowed(&self) -> bool {
        self.state.overflow
    }

    /// Whether [`Parser::close`] found the stream ended inside a block.
    pub fn is_truncated(&self) -> bool {
        self.state.truncated
    }

    /// What the guard counts, in bytes. Of use between chunks.
    pub fn buffered(&self) -> usize {
        self.count(0)
    }

    /// Parses a chunk to its end, whatever the sink says. A closed parser takes in nothing.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Overflow> {
        let mut cursor = Cursor::default();
        loop {
            match self.step(chunk, &mut cursor, sink) {
                Progress::Done => return Ok(()),
                Progress::Paused => {}
                Progress::Overflow => {
                    return Err(Overflow {
                        limit: self.guard.limit,
                    });
                }
            }
        }
    }

    /// Parses a chunk from `cursor` on until its end or until the sink says [`Flow::Stop`].
    ///
    /// A chunk that was paused must be given again, with its cursor, until it is done: what the
    /// block holds are spans of it.
    #[inline(always)]
    pub fn step<S: Sink>(&mut self, chunk: &[u8], cursor: &mut Cursor, sink: &mut S) -> Progress {
        if cursor.is_new()
            && let Some(progress) = self.begin_chunk(chunk, cursor)
        {
            return progress;
        }
        let best = self.best;
        let lines = Lines {
            parser: self,
            chunk,
            cursor,
            sink,
        };
        match best.run(lines) {
            Ok(Flow::Stop) => Progress::Paused,
            Ok(Flow::Continue) => Progress::Done,
            Err(Exceeded) => {
                self.overflow();
                *cursor = Cursor::default();
                Progress::Overflow
            }
        }
    }

    /// What is to be done once for a chunk; says so if that was all.
    #[inline(always)]
    fn begin_chunk(&mut self, chunk: &[u8], cursor: &mut Cursor) -> Option<Progress> {
        if self.state.bom < BOM.len()
            && let Some(progress) = self.begin_stream(chunk, cursor)
        {
            return Some(progress);
        }
        if !self.guard.expect(chunk.len()) {
            self.count_anew(chunk.len(), cursor.at);
        }
        if chunk.len() <= BLOCK && cursor.search_short(chunk) == 0 && self.goes_on(chunk) {
            return Some(Progress::Done);
        }
        None
    }

    /// The first bytes of a stream, or bytes for a parser that is closed.
    #[cold]
    fn begin_stream(&mut self, chunk: &[u8], cursor: &mut Cursor) -> Option<Progress> {
        if self.state.overflow {
            return Some(Progress::Overflow);
        }
        if self.state.closed {
            return Some(Progress::Done);
        }
        self.take_bom(chunk, cursor);
        None
    }

    /// The guard may be exceeded by what is coming, as far as it knows.
    #[cold]
    fn count_anew(&mut self, coming: usize, at: usize) {
        self.guard.set(self.count(at), coming);
        self.careful = self.guard.is_armed() || self.options.tell();
    }

    /// Takes in a chunk without a line end if it only continues a line, as in a stream that drips,
    /// and nobody watches. Says whether it did.
    #[inline(always)]
    fn goes_on(&mut self, chunk: &[u8]) -> bool {
        let state = &mut self.state;
        let goes_on = !self.careful && state.cut.is_decided();
        if goes_on {
            state.cut.push(chunk, &mut state.block);
        }
        goes_on
    }

    /// Ends the stream. Hands over the unfinished event, if a `data` field had begun: the last
    /// line counts without its ending. Neither `retry` nor the last event ID changes.
    pub fn close<R>(&mut self, take: impl FnOnce(Event<'_>) -> R) -> Option<R> {
        if self.state.closed {
            return None;
        }
        if self.state.bom < BOM.len() {
            let seen = std::mem::replace(&mut self.state.bom, BOM.len());
            self.line_before_chunk(&BOM[..seen]);
        }
        let truncated = self.state.cut.has_begun() || self.state.block.has_line();
        let retry = self.retry();
        if self.state.cut.has_begun() {
            self.end_cut_line(&[]);
        }
        let block = &self.state.block;
        let event = block
            .has(Block::DATA)
            .then(|| take(self.event(&[], block.data.get(&[]))));
        self.state = State {
            retry,
            skipped: self.state.skipped,
            closed: true,
            truncated,
            ..State::default()
        };
        event
    }

    #[cold]
    fn overflow(&mut self) {
        self.state = State {
            retry: self.retry(),
            skipped: self.state.skipped,
            closed: true,
            overflow: true,
            ..State::default()
        };
    }

    /// One leading BOM is dropped, which may come in pieces. What only began like one is text.
    #[cold]
    fn take_bom(&mut self, chunk: &[u8], cursor: &mut Cursor) {
        while self.state.bom < BOM.len() {
            let Some(&byte) = chunk.get(cursor.at) else {
                break;
            };
            if byte == BOM[self.state.bom] {
                self.state.bom += 1;
                cursor.at += 1;
            } else {
                let seen = std::mem::replace(&mut self.state.bom, BOM.len());
                self.line_before_chunk(&BOM[..seen]);
            }
        }
        self.state.block.skip_raw(cursor.at);
    }

    /// The first line starts with `bytes`, which were held back or are passed already.
    fn line_before_chunk(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.options.raw {
            self.state.block.push_raw(bytes);
        }
        self.state.line_offset = 0;
        // Too few to be counted: no value begins before a colon.
        let _ = self.piece(&[], 0, bytes);
    }

    #[inline(always)]
    fn lines<S: Sink>(
        &mut self,
        scan: impl Scan,
        chunk: &[u8],
        cursor: &mut Cursor,
        sink: &mut S,
    ) -> Result<Flow, Exceeded> {
        let Cursor { mut at, mut ends } = *cursor;
        let mut after_cr = self.state.after_cr;
        // Whether a line needs no more than its rules. One that began in an earlier chunk does; it
        // can only be the first.
        let mut plain = !self.careful && !self.state.cut.has_begun();
        let flow = loop {
            let Some(end) = ends.next(scan, chunk) else {
                after_cr &= at == chunk.len();
                self.end_of_chunk(chunk, at)?;
                break Flow::Continue;
            };
            let line = &chunk[at..end];
            let mut last = end;
            let flow = if !plain {
                plain = !self.careful;
                if plain && self.state.cut.end_plain(line, &mut self.state.block) {
                    Flow::Continue
                } else {
                    self.careful_line(chunk, at, end, after_cr, sink)?
                }
            } else if let Some(value) = field::data(line) {
                if let Some(blank) = self.lone_data(chunk, end, &mut ends) {
                    last = blank;
                    self.end_of_block(chunk, at, Some(value), sink)
                } else {
                    let span = end - value.len()..end;
                    self.state.block.data_line(chunk, span);
                    last = self.more_data(scan, chunk, end, &mut ends);
                    Flow::Continue
                }
            } else if line.is_empty() {
                let swallowed = after_cr && chunk[end] == b'\n';
                if !swallowed && self.state.block.has_line() {
                    self.end_of_block(chunk, at, None, sink)
                } else {
                    Flow::Continue
                }
            } else {
                if line[0] != b':' {
                    self.take_line(chunk, line, end);
                }
                Flow::Continue
            };
            after_cr = chunk[last] == b'\r';
            at = last + 1;
            if flow == Flow::Stop {
                if at == chunk.len() {
                    self.end_of_chunk(chunk, at)?;
                    break Flow::Continue;
                }
                break flow;
            }
        };
        self.state.after_cr = after_cr;
        *cursor = Cursor { at, ends };
        Ok(flow)
    }

    /// Whether a `data` line that ends at `end` is the block's only one and its blank line follows
    /// at once; where that ends. It is what most streams are made of, and can go out from where it
    /// lies.
    #[inline(always)]
    fn lone_data(&self, chunk: &[u8], end: usize, ends: &mut LineEnds) -> Option<usize> {
        let more = match chunk[end..] {
            _ if self.state.block.has(Block::DATA) => return None,
            [b'\n', b'\n' | b'\r', ..] | [b'\r', b'\r', ..] => 1,
            [b'\r', b'\n', b'\n' | b'\r', ..] => 2,
            _ => return None,
        };
        ends.take(end + more, more).then_some(end + more)
    }

    /// Takes in the `data` lines that follow a `data` line, which ends at `last`, and each other.
    /// Where the last of them ends.
    #[inline(always)]
    fn more_data(
        &mut self,
        scan: impl Scan,
        chunk: &[u8],
        mut last: usize,
        ends: &mut LineEnds,
    ) -> usize {
        loop {
            let before = *ends;
            let next = ends.next(scan, chunk);
            let line = next.map_or(&[][..], |end| &chunk[last + 1..end]);
            let (Some(end), Some(value)) = (next, field::data(line)) else {
                *ends = before;
                return last;
            };
            let span = end - value.len()..end;
            self.state.block.next_data_line(chunk, span);
            last = end;
        }
    }

    /// A line that began in an earlier chunk, or of which there is more to do than its rules say.
    #[inline(never)]
    fn careful_line<S: Sink>(
        &mut self,
        chunk: &[u8],
        at: usize,
        end: usize,
        after_cr: bool,
        sink: &mut S,
    ) -> Result<Flow, Exceeded> {
        let flow = if self.state.cut.has_begun() {
            self.rest_of_line(chunk, at, end, sink)?
        } else if end > at {
            self.whole_line(chunk, at, end, sink)?
        } else if after_cr && chunk[end] == b'\n' {
            self.swallow(end)?;
            return Ok(Flow::Continue);
        } else {
            self.blank_line(chunk, at, sink)
        };
        self.state.line += 1;
        Ok(flow)
    }

    /// A line that lies in the chunk from its first byte to its last.
    fn whole_line<S: Sink>(
        &mut self,
        chunk: &[u8],
        at: usize,
        end: usize,
        sink: &mut S,
    ) -> Result<Flow, Exceeded> {
        if self.guard.is_armed() {
            let line = field::split(&chunk[at..end]);
            self.guard
                .check(self.count(end) + counted(line, self.options.comments))?;
        }
        let ended = self.take_line(chunk, &chunk[at..end], end);
        self.tell(chunk, at, end, ended, sink)
    }

    /// A whole line takes effect, which ends at `end` in the chunk.
    #[inline(never)]
    fn take_line(&mut self, chunk: &[u8], line: &[u8], end: usize) -> Ended {
        let block = &mut self.state.block;
        let (field, value) = match field::split(line) {
            Line::Field(field, value) => (field, value),
            Line::Comment(_) => return Ended::Comment,
            Line::Unknown => {
                block.note(Block::OTHER);
                return Ended::Unknown;
            }
        };
        let span = end - value.len()..end;
        let mut ignored = false;
        if field != Field::Data {
            block.note(Block::FIELD);
        }
        match field {
            Field::Data => block.data_line(chunk, span),
            Field::Event => block.event.set(span),
            Field::Id if field::is_valid_id(value) => block.id.set(span),
            Field::Id => ignored = true,
            Field::Retry => {
                let mut digits = Digits::default();
                digits.push(value);
                ignored = !block.set_retry(digits);
            }
        }
        Ended::Field { field, ignored }
    }

    /// What there is to tell of a whole line, and the guard's count of it.
    fn tell<S: Sink>(
        &mut self,
        chunk: &[u8],
        at: usize,
        end: usize,
        ended: Ended,
        sink: &mut S,
    ) -> Result<Flow, Exceeded> {
        let line = &chunk[at..end];
        let mut flow = Flow::Continue;
        if self.options.diagnostics {
            let valid = std::str::from_utf8(line).is_ok();
            let offset = self.state.passed + at as u64;
            flow = self.diagnose(ended, valid, unknown_name(line), offset, sink);
        }
        if self.options.comments
            && let Line::Comment(text) = field::split(line)
        {
            flow = sink.comment(text);
        }
        self.guard.check(self.count(end + 1))?;
        Ok(flow)
    }

    /// The last piece of a line whose first ones came in earlier chunks.
    fn rest_of_line<S: Sink>(
        &mut self,
        chunk: &[u8],
        at: usize,
        end: usize,
        sink: &mut S,
    ) -> Result<Flow, Exceeded> {
        if end > at {
            self.piece(chunk, end, &chunk[at..end])?;
        }
        let ended = self.end_cut_line(chunk);
        let mut flow = Flow::Continue;
        if !self.careful {
            return Ok(flow);
        }
        if self.options.diagnostics {
            let watch = std::mem::take(&mut self.state.watch);
            let (valid, name) = (watch.is_valid_utf8(), unknown_name(watch.start()));
            flow = self.diagnose(ended, valid, name, self.state.line_offset, sink);
        }
        if self.options.comments && ended == Ended::Comment {
            flow = self.state.cut.take_comment(|text| sink.comment(text));
        }
        self.guard.check(self.count(end + 1))?;
        Ok(flow)
    }

    /// The LF of a CRLF whose CR has ended the line.
    #[cold]
    fn swallow(&mut self, lf: usize) -> Result<(), Exceeded> {
        if self.options.raw {
            let block = &mut self.state.block;
            if block.raw_len(lf) == 0 {
                // It belongs to the blank line that ended the block before.
                block.start_raw(lf + 1);
            }
            self.guard.check(self.count(lf + 1))?;
        }
        Ok(())
    }

    /// The end of a block: its ID becomes the last event ID, its data an event.
    fn blank_line<S: Sink>(&mut self, chunk: &[u8], at: usize, sink: &mut S) -> Flow {
        if self.options.raw {
            self.state.block.keep_raw(chunk, at, at + 1);
        }
        let flow = if self.state.block.has_line() {
            self.end_of_block(chunk, at, None, sink)
        } else {
            Flow::Continue
        };
        if self.options.raw {
            self.state.block.start_raw(at + 1);
        }
        flow
    }

    /// A block ends that is not empty; `data` is its data if that was not taken in.
    #[inline(always)]
    fn end_of_block<S: Sink>(
        &mut self,
        chunk: &[u8],
        at: usize,
        data: Option<&[u8]>,
        sink: &mut S,
    ) -> Flow {
        let mut flow = Flow::Continue;
        let block = &self.state.block;
        if block.has(Block::FIELD) {
            if block.id.is_set() {
                sink.last_event_id(block.id.get(chunk));
            }
            self.state.retry = block.retry.or(self.state.retry);
        }
        let data = data.or_else(|| block.has(Block::DATA).then(|| block.data.get(chunk)));
        if let Some(data) = data {
            let event = self.event(chunk, data);
            match &self.options.filter {
                Some(filter) if !filter.keeps(event.event, event.data) => self.state.skipped += 1,
                _ => flow = sink.event(event),
            }
        } else if self.options.diagnostics && block.has(Block::FIELD) {
            flow = sink.diagnostic(Diagnostic {
                kind: Kind::NoData,
                line: self.state.line + 1,
                offset: self.state.passed + at as u64,
                detail: "",
            });
        }
        self.state.block.clear();
        flow
    }

    #[inline(always)]
    fn event<'a>(&'a self, chunk: &'a [u8], data: &'a [u8]) -> Event<'a> {
        let block = &self.state.block;
        let fields = block.has(Block::FIELD);
        Event {
            event: if fields { block.event.get(chunk) } else { b"" },
            data,
            id: (fields && block.id.is_set()).then(|| block.id.get(chunk)),
            retry: if fields { block.retry } else { None },
            raw: self.options.raw.then(|| block.raw()),
        }
    }

    #[inline(never)]
    fn end_of_chunk(&mut self, chunk: &[u8], at: usize) -> Result<(), Exceeded> {
        if at < chunk.len() {
            if !self.state.cut.has_begun() {
                self.state.line_offset = self.state.passed + at as u64;
            }
            self.piece(chunk, chunk.len(), &chunk[at..])?;
        }
        if self.state.block.has_line() {
            self.state.block.outlive(chunk);
        }
        if self.options.raw {
            self.state.block.keep_raw(chunk, chunk.len(), 0);
        }
        self.state.passed += chunk.len() as u64;
        Ok(())
    }

    /// Takes in a piece of a cut line, which ends at `end` in the chunk.
    #[inline(always)]
    fn piece(&mut self, chunk: &[u8], end: usize, piece: &[u8]) -> Result<(), Exceeded> {
        let State {
            cut, block, watch, ..
        } = &mut self.state;
        if !self.careful {
            let rest = cut.begin(piece, block, chunk, false);
            cut.push(rest, block);
            return Ok(());
        }
        if self.options.diagnostics {
            watch.push(piece);
        }
        let rest = cut.begin(piece, block, chunk, self.options.comments);
        if self.guard.is_armed() {
            let retained = if self.state.cut.retains() {
                rest.len()
            } else {
                0
            };
            self.guard.check(self.count(end) + retained)?;
        }
        self.state.cut.push(rest, &mut self.state.block);
        Ok(())
    }

    /// The cut line is whole.
    fn end_cut_line(&mut self, chunk: &[u8]) -> Ended {
        let State { cut, block, .. } = &mut self.state;
        cut.end(block, chunk, self.options.comments)
    }

    #[cold]
    fn diagnose<S: Sink>(
        &mut self,
        ended: Ended,
        valid_utf8: bool,
        name: &str,
        offset: u64,
        sink: &mut S,
    ) -> Flow {
        let mut flow = Flow::Continue;
        let mut tell = |kind, detail| {
            flow = sink.diagnostic(Diagnostic {
                kind,
                line: self.state.line + 1,
                offset,
                detail,
            });
        };
        if !valid_utf8 {
            let detail = match ended {
                Ended::Field { field, .. } => field.name(),
                Ended::Comment | Ended::Unknown => "",
            };
            tell(Kind::InvalidUtf8, detail);
        }
        match ended {
            Ended::Unknown => tell(Kind::UnknownField, name),
            Ended::Field {
                field: Field::Retry,
                ignored: true,
            } => tell(Kind::InvalidRetry, ""),
            Ended::Field {
                field: Field::Id,
                ignored: true,
            } => tell(Kind::InvalidId, ""),
            Ended::Field { .. } | Ended::Comment => {}
        }
        flow
    }

    /// What the guard counts when the chunk is parsed up to `end`.
    #[inline]
    fn count(&self, end: usize) -> usize {
        let State { cut, block, .. } = &self.state;
        let mut count = cut.count(block, self.options.comments);
        if self.options.raw {
            count += block.raw_len(end);
        }
        count
    }
}
