//! A line that the network cut, which comes in pieces.
//!
//! Its first bytes are held until they decide what it is; its value then goes where it belongs,
//! piece by piece, or nowhere. What it says is `field`'s to tell, as of a line that came whole.

use crate::block::{Block, empty};
use crate::diagnostics::Ended;
use crate::field::{self, Digits, Field, Line};
use crate::guard::counted;

/// What is known of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// There is none: the next byte starts a line.
    #[default]
    Nothing,
    /// What came of it does not decide yet.
    Head,
    /// It is a field, and the rest of it is value.
    Value(Field),
    /// It is a comment that somebody wants to see.
    Comment,
    /// It is to be ignored to its end.
    Ignored(Ended),
}

#[derive(Debug, Default)]
pub struct CutLine {
    known: Known,
    head: [u8; field::HEAD],
    head_len: usize,
    /// The value so far of `event` or `id`, or the text of a comment; that of `data` is in the
    /// block.
    value: Vec<u8>,
    /// The value so far of `retry`.
    digits: Digits,
}

impl CutLine {
    /// Whether there is such a line.
    #[inline(always)]
    pub fn has_begun(&self) -> bool {
        self.known != Known::Nothing
    }

    /// Whether it is decided what the line is.
    #[inline(always)]
    pub fn is_decided(&self) -> bool {
        !matches!(self.known, Known::Nothing | Known::Head)
    }

    /// Takes in what decides what the line is; returns the rest of the piece, which goes to
    /// [`CutLine::push`]. `comments` says whether those are told.
    #[inline(always)]
    pub fn begin<'a>(
        &mut self,
        piece: &'a [u8],
        block: &mut Block,
        chunk: &[u8],
        comments: bool,
    ) -> &'a [u8] {
        match self.known {
            Known::Nothing if piece.len() >= field::HEAD || piece[0] == b':' && !comments => {
                if let Some(value) = field::data(piece) {
                    self.known = Known::Value(Field::Data);
                    block.open_data_line(chunk);
                    return value;
                }
                self.decide(piece, block, chunk, comments)
            }
            Known::Nothing | Known::Head => self.hold(piece, block, chunk, comments),
            Known::Value(_) | Known::Comment | Known::Ignored(_) => piece,
        }
    }

    /// The same for a line of which too little has come.
    fn hold<'a>(
        &mut self,
        piece: &'a [u8],
        block: &mut Block,
        chunk: &[u8],
        comments: bool,
    ) -> &'a [u8] {
        self.known = Known::Head;
        let (held, rest) = piece.split_at(piece.len().min(field::HEAD - self.head_len));
        self.head[self.head_len..][..held.len()].copy_from_slice(held);
        self.head_len += held.len();
        if self.head_len == field::HEAD {
            self.end_head(block, chunk, comments);
        }
        rest
    }

    /// What was held decides.
    fn end_head(&mut self, block: &mut Block, chunk: &[u8], comments: bool) {
        let head = self.head;
        let length = std::mem::take(&mut self.head_len);
        let value = self.decide(&head[..length], block, chunk, comments);
        self.push(value, block);
    }

    /// Decides what the line is; returns its value as far as it came.
    #[inline(never)]
    fn decide<'a>(
        &mut self,
        start: &'a [u8],
        block: &mut Block,
        chunk: &[u8],
        comments: bool,
    ) -> &'a [u8] {
        let (known, value) = match field::split(start) {
            Line::Field(field, value) => (Known::Value(field), value),
            Line::Comment(text) if comments => (Known::Comment, text),
            Line::Comment(_) => (Known::Ignored(Ended::Comment), &[][..]),
            Line::Unknown => (Known::Ignored(Ended::Unknown), &[][..]),
        };
        if known == Known::Value(Field::Data) {
            block.open_data_line(chunk);
        }
        self.known = known;
        value
    }

    /// Whether what is pushed is retained.
    pub fn retains(&self) -> bool {
        match self.known {
            Known::Value(field) => field != Field::Retry,
            Known::Comment => true,
            Known::Nothing | Known::Head | Known::Ignored(_) => false,
        }
    }

    /// Takes in a piece of the value of a line that is decided.
    #[inline(always)]
    pub fn push(&mut self, piece: &[u8], block: &mut Block) {
        match self.known {
            Known::Value(Field::Data) => block.push_data(piece),
            Known::Value(_) | Known::Comment => self.push_own(piece),
            Known::Nothing | Known::Head | Known::Ignored(_) => {}
        }
    }

    #[inline(never)]
    fn push_own(&mut self, piece: &[u8]) {
        if self.known == Known::Value(Field::Retry) {
            self.digits.push(piece);
        } else {
            self.value.extend_from_slice(piece);
        }
    }

    /// Takes in the last piece and ends the line, if it is one of the two that most are: `data`,
    /// or a comment that nobody wants to see. Says whether it did.
    #[inline(always)]
    pub fn end_plain(&mut self, rest: &[u8], block: &mut Block) -> bool {
        match self.known {
            Known::Value(Field::Data) => {
                block.push_data(rest);
                block.note(Block::DATA);
            }
            Known::Ignored(Ended::Comment) => {}
            _ => return false,
        }
        self.known = Known::Nothing;
        true
    }

    /// The line, which has begun, ends: what was decided about it takes effect. The text of a
    /// comment stays for [`CutLine::take_comment`].
    pub fn end(&mut self, block: &mut Block, chunk: &[u8], comments: bool) -> Ended {
        if self.known == Known::Head {
            self.end_head(block, chunk, comments);
        }
        match std::mem::take(&mut self.known) {
            Known::Value(field) => Ended::Field {
                field,
                ignored: self.end_field(field, block),
            },
            Known::Ignored(Ended::Unknown) => {
                block.note(Block::OTHER);
                Ended::Unknown
            }
            Known::Comment | Known::Ignored(_) | Known::Nothing | Known::Head => Ended::Comment,
        }
    }

    /// Whether the standard ignores the value.
    fn end_field(&mut self, field: Field, block: &mut Block) -> bool {
        block.note(match field {
            Field::Data => Block::DATA,
            Field::Event | Field::Id | Field::Retry => Block::FIELD,
        });
        match field {
            Field::Data => {}
            Field::Event => block.event.set_own(&mut self.value),
            Field::Id if field::is_valid_id(&self.value) => block.id.set_own(&mut self.value),
            Field::Id => {
                empty(&mut self.value);
                return true;
            }
            Field::Retry => return !block.set_retry(std::mem::take(&mut self.digits)),
        }
        false
    }

    /// Hands over the text of a comment that has ended.
    pub fn take_comment<R>(&mut self, tell: impl FnOnce(&[u8]) -> R) -> R {
        let told = tell(&self.value);
        empty(&mut self.value);
        told
    }

    /// What the guard counts of the line and of what the block holds of fields; in bytes.
    #[inline]
    pub fn count(&self, block: &Block, comments: bool) -> usize {
        let held = match self.known {
            Known::Head => counted(field::split(&self.head[..self.head_len]), comments),
            _ => self.value.len(),
        };
        // The LF that joins the line to those before counts when it ends.
        let joined = self.known == Known::Value(Field::Data) && block.has(Block::DATA);
        block.len() + held - usize::from(joined)
    }
}
