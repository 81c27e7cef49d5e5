//! A cursor over rustc's text: literal matching, numbers, identifiers and balanced skipping.

use std::fmt;

/// Where and why reading stopped.  `offset` is a byte offset into the text; see [`line_of`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    pub offset: usize,
    pub message: String,
}

/// Result of every reading step; the error is boxed so that the good path stays small.
pub type Res<T> = Result<T, Box<Fail>>;

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.message)
    }
}

/// 1-based line of a byte offset.
pub fn line_of(text: &str, offset: usize) -> u64 {
    let end = offset.min(text.len());
    1 + text.as_bytes()[..end].iter().filter(|&&b| b == b'\n').count() as u64
}

/// Bytes of the longest group that may hold a source location: a path of the system's longest, and some more.
const LONGEST_LOCATION: usize = 5000;

/// A position in a text.
#[derive(Clone)]
pub struct Cursor<'a> {
    src: &'a str,
    pub pos: usize,
}

/// Whether a byte may stand in a Rust identifier (every non-ASCII byte may).
pub fn is_ident_byte(b: u8) -> bool {
    b == b'_' || b.is_ascii_alphanumeric() || b >= 0x80
}

impl<'a> Cursor<'a> {
    pub fn new(src: &'a str, pos: usize) -> Self {
        Cursor { src, pos }
    }

    pub fn src(&self) -> &'a str {
        self.src
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.src.as_bytes()
    }

    pub fn rest(&self) -> &'a str {
        self.src.get(self.pos..).unwrap_or("")
    }

    pub fn slice(&self, from: usize, to: usize) -> &'a str {
        self.src.get(from..to).unwrap_or("")
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes().get(self.pos).copied()
    }

    pub fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes().get(self.pos + ahead).copied()
    }

    pub fn at(&self, literal: &str) -> bool {
        self.bytes().get(self.pos..).is_some_and(|rest| rest.starts_with(literal.as_bytes()))
    }

    pub fn eat(&mut self, literal: &str) -> bool {
        let hit = self.at(literal);
        if hit {
            self.pos += literal.len();
        }
        hit
    }

    pub fn expect(&mut self, literal: &str, what: &str) -> Res<()> {
        if self.eat(literal) {
            Ok(())
        } else {
            self.fail(format!("expected `{}` in {what}", literal.escape_debug()))
        }
    }

    /// Fails here, quoting what stands at the cursor.
    pub fn fail<T>(&self, message: impl Into<String>) -> Res<T> {
        Err(self.error_at(self.pos, message))
    }

    pub fn error_at(&self, offset: usize, message: impl Into<String>) -> Box<Fail> {
        let rest = self.src.get(offset..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("");
        let shown: String = line.chars().take(60).collect();
        let dots = if shown.len() < line.len() { ".." } else { "" };
        Box::new(Fail { offset, message: format!("{}, found `{shown}{dots}`", message.into()) })
    }

    pub fn number(&mut self, what: &str) -> Res<u64> {
        let start = self.pos;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.pos += 1;
        }
        match self.slice(start, self.pos).parse() {
            Ok(value) => Ok(value),
            Err(_) => Err(self.error_at(start, format!("expected a number in {what}"))),
        }
    }

    pub fn number32(&mut self, what: &str) -> Res<u32> {
        let start = self.pos;
        let value = self.number(what)?;
        u32::try_from(value).map_err(|_| self.error_at(start, format!("number too big in {what}")))
    }

    /// Identifier bytes from the cursor on; empty when there are none.
    pub fn ident(&mut self) -> &'a str {
        let start = self.pos;
        let bytes = self.bytes();
        while self.pos < bytes.len() && is_ident_byte(bytes[self.pos]) {
            self.pos += 1;
        }
        self.slice(start, self.pos)
    }

    /// Offset of the end of the current line (its `\n` or the end of the text).
    pub fn line_end(&self) -> usize {
        match self.bytes().get(self.pos..).and_then(|rest| rest.iter().position(|&b| b == b'\n')) {
            Some(at) => self.pos + at,
            None => self.src.len(),
        }
    }

    /// Skips a bracketed group; the cursor stands on `(`, `[`, `{` or `<`.  Never leaves the line.
    pub fn skip_group(&mut self) -> Res<()> {
        let start = self.pos;
        let bytes = self.bytes();
        let mut stack: Vec<u8> = Vec::new();
        while let Some(&b) = bytes.get(self.pos) {
            match b {
                b'(' => stack.push(b')'),
                b'[' => stack.push(b']'),
                b'<' | b'{' => {
                    let close = if b == b'<' { b'>' } else { b'}' };
                    let located = self.at("<impl at ") || self.at("{closure@") || self.at("{coroutine");
                    match if located { self.located_end(close) } else { None } {
                        Some(end) => {
                            self.pos = end;
                            if stack.is_empty() {
                                return Ok(());
                            }
                            continue;
                        }
                        None => stack.push(close),
                    }
                }
                b'>' if self.pos > start && bytes[self.pos - 1] == b'-' => {}
                b')' | b']' | b'}' | b'>' => {
                    if stack.pop() != Some(b) {
                        return Err(self.error_at(self.pos, "unbalanced bracket"));
                    }
                    if stack.is_empty() {
                        self.pos += 1;
                        return Ok(());
                    }
                }
                b'"' => {
                    let close = bytes[self.pos + 1..].iter().position(|&c| c == b'"' || c == b'\n');
                    match close {
                        Some(n) if bytes[self.pos + 1 + n] == b'"' => self.pos += 1 + n,
                        _ => return Err(self.error_at(self.pos, "unclosed string")),
                    }
                }
                b'\n' => break,
                _ => {}
            }
            self.pos += 1;
        }
        Err(self.error_at(start, "unclosed bracket"))
    }

    /// End of a group that holds a source location, `..FILE:L:C: L:C` and optionally ` (#N)`, then `close`: file names
    /// may hold brackets of any kind.  `None` when no such group closes on this line.
    fn located_end(&self, close: u8) -> Option<usize> {
        let line = self.line_end().min(self.pos + LONGEST_LOCATION);
        let bytes = self.bytes();
        (self.pos..line).find(|&at| bytes[at] == close && ends_with_location(&self.src[self.pos..at])).map(|at| at + 1)
    }
}

/// Whether a text ends in `:L:C: L:C`, with rustc's ` (#N)` (syntax context) allowed after it.
pub fn ends_with_location(text: &str) -> bool {
    let mut text = text;
    if let Some(cut) = text.strip_suffix(')') {
        let digits = cut.trim_end_matches(|c: char| c.is_ascii_digit());
        match digits.strip_suffix(" (#") {
            Some(rest) if digits.len() < cut.len() => text = rest,
            _ => return false,
        }
    }
    for separator in [":", ": ", ":", ":"] {
        let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
        if rest.len() == text.len() {
            return false;
        }
        match rest.strip_suffix(separator) {
            Some(cut) => text = cut,
            None => return false,
        }
    }
    true
}
