//! Reader of Rust's pretty `Debug` text (`{:#?}`), the form in which rustc prints a `Layout`.

use std::fmt;

/// One value of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Anything without structure: a number, a range, `8 bytes`.
    Atom(String),
    /// `Name { field: value, .. }`.
    Struct(String, Vec<(String, Value)>),
    /// `Name(value, ..)`.
    Tuple(String, Vec<Value>),
    /// `[value, ..]`.
    List(Vec<Value>),
}

/// Where and why reading stopped; `line` is 1-based in the text given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Reads one value that fills the text.
pub fn parse(text: &str) -> Result<Value, Unknown> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at == text.len() {
        Ok(value)
    } else {
        Err(reader.unknown("the value ends before the text does"))
    }
}

/// Deeper than any layout that rustc prints; keeps broken input from exhausting the stack.
const MAX_DEPTH: usize = 200;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn unknown(&self, message: &str) -> Unknown {
        let line = self.text[..self.at].matches('\n').count() + 1;
        let near: String = self.rest().chars().take(40).take_while(|c| *c != '\n').collect();
        Unknown { line, message: format!("{message}, at `{near}`") }
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len_utf8();
        }
        found
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let ident = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !ident(c)).unwrap_or(rest.len());
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return "";
        }
        self.at += end;
        &rest[..end]
    }

    fn value(&mut self, depth: usize) -> Result<Value, Unknown> {
        if depth > MAX_DEPTH {
            return Err(self.unknown("nested too deep"));
        }
        if self.eat('[') {
            return Ok(Value::List(self.items(']', depth)?));
        }
        let start = self.at;
        let name = self.word().to_owned();
        if name.is_empty() {
            return self.atom(start);
        }
        if self.rest().starts_with('(') {
            self.at += 1;
            return Ok(Value::Tuple(name, self.items(')', depth)?));
        }
        if self.rest().starts_with(" {") {
            self.at += 2;
            let mut fields = Vec::new();
            while !self.eat('}') {
                let field = self.word().to_owned();
                if field.is_empty() || !self.eat(':') {
                    return Err(self.unknown("expected a field"));
                }
                fields.push((field, self.value(depth + 1)?));
                self.separator('}')?;
            }
            return Ok(Value::Struct(name, fields));
        }
        if self.rest().starts_with([',', '\n', ')', ']']) || self.rest().is_empty() {
            return Ok(Value::Atom(name));
        }
        self.atom(start)
    }

    /// Items up to the closing token, which is eaten.
    fn items(&mut self, close: char, depth: usize) -> Result<Vec<Value>, Unknown> {
        let mut out = Vec::new();
        while !self.eat(close) {
            out.push(self.value(depth + 1)?);
            self.separator(close)?;
        }
        Ok(out)
    }

    fn separator(&mut self, close: char) -> Result<(), Unknown> {
        if self.eat(',') || self.rest().starts_with(close) {
            Ok(())
        } else {
            Err(self.unknown(&format!("expected `,` or `{close}`")))
        }
    }

    /// Text up to the next comma or closing bracket outside parentheses.
    fn atom(&mut self, start: usize) -> Result<Value, Unknown> {
        self.at = start;
        self.skip_space();
        let rest = self.rest();
        let mut open = 0usize;
        let end = rest.char_indices().find(|(_, c)| match c {
            '(' => {
                open += 1;
                false
            }
            ')' if open > 0 => {
                open -= 1;
                false
            }
            ')' | ']' | '}' | ',' | '\n' => open == 0,
            _ => false,
        });
        let end = end.map_or(rest.len(), |(end, _)| end);
        let text = rest[..end].trim();
        if text.is_empty() {
            return Err(self.unknown("expected a value"));
        }
        self.at += end;
        Ok(Value::Atom(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(text: &str) -> Value {
        Value::Atom(text.to_owned())
    }

    #[test]
    fn reads_every_form() {
        let text = "Layout {\n    size: Size(8 bytes),\n    range: (..=0) | (1..),\n    niche: None,\n    \
                    list: [\n        0,\n        Some(\n            Niche {\n                at: 1..=3,\n            },\n        ),\n    ],\n    empty: [],\n}";
        let Value::Struct(name, fields) = parse(text).unwrap() else { panic!() };
        assert_eq!(name, "Layout");
        assert_eq!(fields[0].1, Value::Tuple("Size".into(), vec![atom("8 bytes")]));
        assert_eq!(fields[1].1, atom("(..=0) | (1..)"));
        assert_eq!(fields[2].1, atom("None"));
        let niche = Value::Struct("Niche".into(), vec![("at".into(), atom("1..=3"))]);
        assert_eq!(fields[3].1, Value::List(vec![atom("0"), Value::Tuple("Some".into(), vec![niche])]));
        assert_eq!(fields[4].1, Value::List(vec![]));
    }

    #[test]
    fn refuses_broken_text() {
        for text in ["", "A {", "A { x 1 }", "A { x: 1 } B", "[1", "A(,)", &"[".repeat(5000)] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("A {\n    x: 1,\n    y\n}").unwrap_err().line, 4);
    }
}
