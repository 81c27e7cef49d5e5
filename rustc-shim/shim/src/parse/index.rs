//! The first pass over a dump: finds where items begin and end, reads only their headers.

use super::Passed;
use crate::lex::{Cursor, Res};
use crate::wire::ItemKind;

/// One item of the dump.
#[derive(Debug, Clone)]
pub struct Item<'a> {
    pub kind: ItemKind,
    pub header: &'a str,
    pub args: Vec<&'a str>,
    pub output: &'a str,
    pub ctfe: bool,
    /// 1-based line of the header.
    pub line: u64,
    /// Bytes of the body: from its header to its closing line's end, that is to where its allocations begin.
    pub start: usize,
    pub end: usize,
    /// Where its allocations end.
    pub allocs_end: usize,
}

/// Finds every item of a `-Zunpretty=mir` text.
pub fn index<'a>(text: &'a str, passed: Passed<'_>) -> Res<Vec<Item<'a>>> {
    let mut items = Vec::new();
    let mut cur = Cursor::new(text, 0);
    let mut lines = Lines { text, counted: 0, line: 1 };
    let mut ctfe = false;
    while cur.pos < text.len() {
        if cur.eat("\n") {
            continue;
        }
        if cur.at("//") {
            let end = cur.line_end();
            match cur.slice(cur.pos, end) {
                "// MIR FOR CTFE" => ctfe = true,
                line if line.starts_with("// WARNING: ") || line.starts_with("// HINT: ") => {}
                line if line.starts_with("// and is subject to change") => {}
                _ => return cur.fail("unknown comment between items"),
            }
            cur.pos = end;
            continue;
        }
        let mut item = header(&mut cur)?;
        item.line = lines.at(item.start);
        item.ctfe = std::mem::take(&mut ctfe);
        if item.kind != ItemKind::TrivialConst {
            cur.pos = body_end(&cur, item.start)?;
        }
        item.end = cur.pos;
        skip_allocs(&mut cur)?;
        item.allocs_end = cur.pos;
        passed(item.start);
        items.push(item);
    }
    Ok(items)
}

/// Counts lines as offsets go up.
struct Lines<'a> {
    text: &'a str,
    counted: usize,
    line: u64,
}

impl Lines<'_> {
    fn at(&mut self, offset: usize) -> u64 {
        let between = &self.text.as_bytes()[self.counted..offset];
        self.line += memchr::memchr_iter(b'\n', between).count() as u64;
        self.counted = offset;
        self.line
    }
}

/// End of the body whose header starts at `start`: after the next line that is only `}`.  No line of an asm template
/// can be one, because its braces are doubled.
fn body_end(cur: &Cursor, start: usize) -> Res<usize> {
    match memchr::memmem::find(&cur.bytes()[start..], b"\n}\n") {
        Some(found) => Ok(start + found + 3),
        None if cur.src()[start..].ends_with("\n}") => Ok(cur.src().len()),
        None => Err(cur.error_at(start, "body without an end")),
    }
}

/// Skips the allocations after a body.
fn skip_allocs(cur: &mut Cursor) -> Res<()> {
    while cur.at("\nalloc") && alloc_follows(cur) {
        cur.pos += 1;
        skip_alloc(cur)?;
    }
    Ok(())
}

/// Skips one allocation, at whose first letter the cursor stands.
pub fn skip_alloc(cur: &mut Cursor) -> Res<()> {
    let line_end = cur.line_end();
    if cur.slice(cur.pos, line_end).ends_with('{') {
        cur.pos = body_end(cur, cur.pos)?;
    } else {
        cur.pos = (line_end + 1).min(cur.src().len());
    }
    Ok(())
}

/// At `\nallocN (`, not at an anonymous constant of a function `alloc..`.
fn alloc_follows(cur: &Cursor) -> bool {
    let mut ahead = cur.clone();
    ahead.eat("\n") && ahead.eat("alloc") && ahead.number("an allocation").is_ok() && ahead.at(" (")
}

/// Reads a header line; leaves the cursor after the header's line for a trivial constant.
pub fn header<'a>(cur: &mut Cursor<'a>) -> Res<Item<'a>> {
    let start = cur.pos;
    let mut kind = if cur.eat("fn ") {
        ItemKind::Fn
    } else if cur.eat("const ") {
        ItemKind::Const
    } else if cur.eat("static mut ") {
        ItemKind::StaticMut
    } else if cur.eat("static ") {
        ItemKind::Static
    } else {
        ItemKind::Anon
    };
    let path_at = cur.pos;
    path(cur)?;
    let header = cur.slice(path_at, cur.pos);
    let mut args = Vec::new();
    let output;
    if kind == ItemKind::Fn {
        cur.expect("(", "an item's header")?;
        if !cur.eat(")") {
            loop {
                cur.expect("_", "an item's header")?;
                cur.number("an argument")?;
                cur.expect(": ", "an item's header")?;
                args.push(type_text(cur)?);
                if cur.eat(")") {
                    break;
                }
                cur.expect(", ", "an item's header")?;
            }
        }
        cur.expect(" -> ", "an item's header")?;
        let line = cur.slice(cur.pos, cur.line_end());
        output = line.strip_suffix(" {").unwrap_or(line);
    } else {
        cur.expect(": ", "an item's header")?;
        let line = cur.slice(cur.pos, cur.line_end());
        output = match line.strip_suffix(" = {").or_else(|| line.strip_suffix(" =")) {
            Some(ty) => ty,
            None => {
                let ty_at = cur.pos;
                let ty = type_text(cur)?;
                if kind != ItemKind::Const || !cur.at(" = const ") || !line.ends_with(';') {
                    return Err(cur.error_at(ty_at, "unknown item"));
                }
                kind = ItemKind::TrivialConst;
                ty
            }
        };
        if header.ends_with(']') && header.contains("::promoted[") {
            kind = ItemKind::Promoted;
        }
    }
    cur.pos = cur.line_end();
    Ok(Item { kind, header, args, output, ctfe: false, line: 0, start, end: 0, allocs_end: 0 })
}

/// Skips the path of a header.
fn path(cur: &mut Cursor) -> Res<()> {
    loop {
        match cur.peek() {
            Some(b'<' | b'{' | b'[') => cur.skip_group()?,
            Some(b':') if cur.at("::") => cur.pos += 2,
            Some(b'(' | b':' | b' ' | b'\n') | None => return Ok(()),
            _ => cur.pos += 1,
        }
    }
}

/// Skips a type; it ends at `, _`, at `)` or at ` =`.
fn type_text<'a>(cur: &mut Cursor<'a>) -> Res<&'a str> {
    let start = cur.pos;
    loop {
        match cur.peek() {
            Some(b'<' | b'(' | b'[' | b'{') => cur.skip_group()?,
            Some(b')' | b'\n') | None => break,
            Some(b',') if cur.at(", _") => break,
            Some(b' ') if cur.at(" = ") => break,
            _ => cur.pos += 1,
        }
    }
    Ok(cur.slice(start, cur.pos))
}
