//! Allocation dumps, which follow a body.

use crate::lex::{Cursor, Res};
use crate::wire::{Alloc, AllocId, Relocation};

/// Bytes on one line of a dump.
const LINE: usize = 16;

/// Reads one dump, `allocN (..` and what belongs to it, with the line end after it.
pub fn alloc(cur: &mut Cursor) -> Res<Alloc> {
    let start = cur.pos;
    cur.expect("alloc", "an allocation")?;
    let id = cur.number("an allocation")?;
    cur.expect(" (", "an allocation")?;
    let at = cur.pos;
    let end = cur.line_end();
    let line = cur.slice(at, end);
    let whole = |suffix: &str| line.strip_suffix(suffix).map(str::to_owned);
    let closed = whole(")");
    let found = if line.starts_with("size: ") {
        return memory(cur, id, None);
    } else if let Some(instance) = closed.as_ref().and_then(|l| l.strip_prefix("fn: ")) {
        Alloc::Fn { id, instance: instance.to_owned() }
    } else if let Some(text) = closed.as_ref().filter(|l| l.starts_with("vtable: ")) {
        Alloc::Vtable { id, text: text.clone() }
    } else if let Some(text) = closed.as_ref().filter(|l| l.starts_with("typeid for ")) {
        Alloc::Typeid { id, text: text.clone() }
    } else if let Some(text) = closed.as_ref().and_then(|l| l.strip_prefix("extern static: ")) {
        Alloc::ExternStatic { id, text: text.to_owned() }
    } else if closed.as_deref() == Some("deallocated") {
        Alloc::Deallocated { id, text: "deallocated".to_owned() }
    } else if let Some(rest) = line.strip_prefix("static: ") {
        if let Some(path) = rest.strip_suffix(", error during initializer evaluation)") {
            Alloc::StaticError { id, text: path.to_owned() }
        } else if let Some(size_at) = rest.rfind(", size: ").filter(|_| line.ends_with(['{', '}'])) {
            let path = rest[..size_at].to_owned();
            cur.pos = at + "static: ".len() + size_at + ", ".len();
            return memory(cur, id, Some(path));
        } else if let Some(path) = rest.strip_suffix(')') {
            Alloc::StaticUnprinted { id, text: path.to_owned() }
        } else {
            return Err(cur.error_at(start, "unknown static allocation"));
        }
    } else {
        return Err(cur.error_at(start, "unknown kind of allocation"));
    };
    cur.pos = end;
    line_break(cur)?;
    Ok(found)
}

fn line_break(cur: &mut Cursor) -> Res<()> {
    if cur.pos == cur.src().len() {
        return Ok(());
    }
    cur.expect("\n", "an allocation")
}

/// What a dump of bytes fills.
#[derive(Default)]
struct Bytes {
    hex: String,
    at: u64,
    uninit: Vec<(u64, u64)>,
    relocations: Vec<Relocation>,
    pending: Option<Begun>,
}

/// A pointer that began on the line before.
struct Begun {
    /// Its first byte.
    at: u64,
    /// How many of its bytes stood on that line.
    first: usize,
    /// Its target, if it was named there.
    name: Option<(AllocId, u64)>,
}

/// `size: S, align: A)` and the bytes.
fn memory(cur: &mut Cursor, id: AllocId, static_path: Option<String>) -> Res<Alloc> {
    let start = cur.pos;
    cur.expect("size: ", "an allocation")?;
    let size = cur.number("an allocation's size")?;
    cur.expect(", align: ", "an allocation")?;
    let align = cur.number("an allocation's alignment")?;
    cur.expect(")", "an allocation")?;
    let mut bytes = Bytes::default();
    if size == 0 {
        cur.expect(" {}", "an empty allocation")?;
    } else if cur.at(" { .. }") {
        return cur.fail("allocation's bytes were not printed");
    } else {
        cur.expect(" {\n", "an allocation")?;
        while !cur.at("}") {
            bytes.line(cur, size)?;
        }
        cur.pos += 1;
        if bytes.at != size || bytes.pending.is_some() {
            return Err(cur.error_at(start, format!("allocation of {size} bytes shows {}", bytes.at)));
        }
    }
    line_break(cur)?;
    let Bytes { hex, uninit, relocations, .. } = bytes;
    Ok(Alloc::Memory { id, static_path, size, align, bytes: hex, uninit, relocations })
}

impl Bytes {
    /// One line: `    0x10 │ CELLS │ ASCII`, without the address where all bytes fit on one line.
    fn line(&mut self, cur: &mut Cursor, size: u64) -> Res<()> {
        let start = cur.pos;
        cur.expect("    ", "an allocation's line")?;
        if size > LINE as u64 {
            cur.expect("0x", "an allocation's address")?;
            let address = u64::from_str_radix(cur.ident(), 16);
            // A pointer that straddles lines counts with the line it began on.
            let expected = match &self.pending {
                Some(Begun { at, first, .. }) => at + *first as u64,
                None => self.at,
            };
            if address != Ok(expected) {
                return Err(cur.error_at(start, "unexpected address"));
            }
            cur.expect(" │ ", "an allocation's line")?;
        }
        let end = cur.line_end();
        let cells_end = cur.pos + cur.slice(cur.pos, end).rfind(" │ ").unwrap_or(usize::MAX - cur.pos);
        if cells_end > end {
            return cur.fail("expected the text column of an allocation");
        }
        let mut column = 0;
        if let Some(begun) = self.pending.take() {
            column = self.straddled(cur, begun)?;
        }
        while cur.pos < cells_end {
            if cur.eat(" ") {
                continue;
            }
            column += self.cell(cur, column, cells_end)?;
        }
        cur.pos = end;
        cur.expect("\n", "an allocation")
    }

    /// One cell; returns how many bytes of the line it takes.
    fn cell(&mut self, cur: &mut Cursor, column: usize, cells_end: usize) -> Res<usize> {
        if cur.eat("__") {
            match self.uninit.last_mut() {
                Some(last) if last.1 == self.at => last.1 += 1,
                _ => self.uninit.push((self.at, self.at + 1)),
            }
            self.hex.push_str("00");
            self.at += 1;
            return Ok(1);
        }
        if cur.at("╾") {
            return self.pointer(cur, column, cells_end);
        }
        let start = cur.pos;
        let byte = cur.slice(start, start + 2);
        if byte.len() != 2 || !byte.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return cur.fail("unknown cell of an allocation");
        }
        self.hex.push_str(byte);
        cur.pos += 2;
        self.at += 1;
        Ok(1)
    }

    /// `╾──alloc3<imm>──╼`, or its first part where it goes on in the next line.
    fn pointer(&mut self, cur: &mut Cursor, column: usize, cells_end: usize) -> Res<usize> {
        let start = cur.pos;
        cur.expect("╾", "a pointer")?;
        let inner_at = cur.pos;
        let rest = cur.slice(inner_at, cells_end);
        if rest.split('╼').next().is_some_and(|cell| cell.contains("(ptr fragment")) {
            return Err(cur.error_at(start, "fragment of a pointer in an allocation"));
        }
        match rest.find('╼') {
            Some(length) => {
                let inner = &rest[..length];
                let width = inner.chars().count();
                let (named, declared) = pointer_name(cur, inner_at, inner)?;
                let Some((alloc, offset)) = named else {
                    return Err(cur.error_at(start, "pointer without a name"));
                };
                let size = declared.or((width % 3 == 0).then_some(width / 3 + 1));
                let Some(size) = size.filter(|&s| s == 8 || s == 4) else {
                    return Err(cur.error_at(start, "pointer of unknown size"));
                };
                cur.pos = inner_at + length + '╼'.len_utf8();
                self.relocate(self.at, size, alloc, offset);
                Ok(size)
            }
            None => {
                let inner = rest.trim_end_matches(' ');
                let (named, _) = pointer_name(cur, inner_at, inner)?;
                if column >= LINE {
                    return Err(cur.error_at(start, "pointer past the end of a line"));
                }
                self.pending = Some(Begun { at: self.at, first: LINE - column, name: named });
                cur.pos = cells_end;
                Ok(LINE - column)
            }
        }
    }

    /// The second part of a pointer that began on the line before.
    fn straddled(&mut self, cur: &mut Cursor, begun: Begun) -> Res<usize> {
        let Begun { at, first, name } = begun;
        let start = cur.pos;
        let line = cur.slice(start, cur.line_end());
        let Some(length) = line.find('╼') else {
            return cur.fail("expected the end of a pointer");
        };
        let inner = &line[..length];
        let (named, _) = pointer_name(cur, start, inner)?;
        let width = inner.chars().count();
        if width % 3 != 1 {
            return cur.fail("pointer's second part has an odd width");
        }
        let second = (width - 1) / 3 + 1;
        let (alloc, offset) = match (name, named) {
            (Some(name), None) | (None, Some(name)) => name,
            _ => return cur.fail("pointer must be named in one of its parts"),
        };
        if first + second != 8 && first + second != 4 {
            return cur.fail("pointer of unknown size");
        }
        cur.pos = start + length + '╼'.len_utf8();
        self.relocate(at, first + second, alloc, offset);
        Ok(second)
    }

    fn relocate(&mut self, at: u64, size: usize, alloc: AllocId, offset: u64) {
        self.relocations.push(Relocation { at, size: size as u32, alloc, offset });
        for _ in 0..size {
            self.hex.push_str("00");
        }
        self.at = at + size as u64;
    }
}

/// A pointer's target and the bytes it says it has.
type Named = (Option<(AllocId, u64)>, Option<usize>);

/// `alloc3+0x4<imm>` or `a3+0x4<imm> (8 ptr bytes)` amid `─`; nothing when there is only the line.
fn pointer_name(cur: &Cursor, at: usize, inner: &str) -> Res<Named> {
    let bad = || cur.error_at(at, "unknown pointer in an allocation");
    let text = inner.trim_matches('─');
    if text.is_empty() {
        return Ok((None, None));
    }
    let (name, size) = match text.split_once(" (") {
        Some((name, tail)) => {
            let digits = tail.strip_suffix(" ptr bytes)").ok_or_else(bad)?;
            (name, Some(digits.parse().map_err(|_| bad())?))
        }
        None => (text, None),
    };
    let name = name.strip_suffix("<imm>").unwrap_or(name);
    let (id, offset) = match name.split_once("+0x") {
        Some((id, hex)) => (id, u64::from_str_radix(hex, 16).map_err(|_| bad())?),
        None => (name, 0),
    };
    let id = id.strip_prefix("alloc").or_else(|| id.strip_prefix('a')).ok_or_else(bad)?;
    Ok((Some((id.parse().map_err(|_| bad())?, offset)), size))
}
