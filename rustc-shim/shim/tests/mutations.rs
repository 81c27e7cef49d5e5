//! Damaged dumps are read or refused, and never end the process or take forever.

mod common;

use std::time::{Duration, Instant};

use common::*;
use mirgen_rustc::parse::{parse_dump, Selection};

const ROUNDS: usize = 1_000;

/// Numbers that are the same on every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Words, single signs and line ends.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut word = false;
    for (at, c) in text.char_indices() {
        let is_word = c == '_' || c.is_alphanumeric();
        if !(is_word && word) && at > start {
            tokens.push(&text[start..at]);
            start = at;
        }
        word = is_word;
    }
    tokens.push(&text[start..]);
    tokens
}

/// A dump cut into eight where items begin.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    for left in (2..=8).rev() {
        let target = rest.len() / left;
        let Some(cut) = rest[target..].find("\n\nfn ") else { break };
        let (part, tail) = rest.split_at(target + cut + 1);
        parts.push(part);
        rest = tail;
    }
    parts.push(rest);
    parts
}

/// One to three cuts, repetitions, swaps or replacements.
fn damage(tokens: &[&str], random: &mut Random) -> String {
    let mut tokens = tokens.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(tokens.len());
        let length = match random.below(4) {
            0 => 1,
            1 => 1 + random.below(8),
            2 => 1 + random.below(200),
            _ => 1 + random.below(3),
        };
        let end = (at + length).min(tokens.len());
        match random.below(5) {
            0 => drop(tokens.drain(at..end)),
            1 => {
                let copy = tokens[at..end].to_vec();
                tokens.splice(at..at, copy);
            }
            2 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens.truncate(end),
            _ => {
                tokens[at] =
                    ["<", "(", "{", "\"", "\n", "}", "é", "_", "99999999999999999999", "─", "alloc1"][random.below(11)]
            }
        }
        if tokens.is_empty() {
            return String::new();
        }
    }
    tokens.concat()
}

#[test]
fn damaged_dumps() {
    let mut slowest = Duration::ZERO;
    let mut refused = 0;
    for (number, release) in RELEASES.into_iter().enumerate() {
        let text = text(release, "mir");
        let stable = common::text(release, "stable-mir");
        let parts: Vec<_> = parts(&text).into_iter().map(tokens).collect();
        let side = tokens(&stable);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 + number as u64);
        for round in 0..ROUNDS / RELEASES.len() + 1 {
            // Mostly a part of the dump alone; sometimes the whole with a damaged side channel, or with a sound one.
            let (main, side) = match round % 16 {
                0 => (text.clone(), Some(damage(&side, &mut random))),
                1 => (damage(&parts.concat(), &mut random), Some(stable.clone())),
                _ => (damage(&parts[round % parts.len()], &mut random), None),
            };
            let start = Instant::now();
            match parse_dump(&main, side.as_deref(), grammar(release), &Selection::all()) {
                Ok(_) => {}
                Err(error) => {
                    refused += 1;
                    assert!(!error.message.is_empty());
                    assert!(error.line as usize <= main.lines().count() + 1, "{error}");
                }
            }
            slowest = slowest.max(start.elapsed());
        }
    }
    assert!(refused > ROUNDS / 3, "only {refused} were refused");
    assert!(slowest < Duration::from_secs(20), "one took {slowest:?}");
}
