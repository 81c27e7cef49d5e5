//! Interned tables of a document: types by their text, spans, file names.

use std::collections::{HashMap, HashSet};

use crate::wire::{FileId, Span, SpanId, Ty, TyId};

/// The interners of one document.
#[derive(Default)]
pub struct Tables {
    pub types: Vec<Ty>,
    by_text: HashMap<String, TyId>,
    pub spans: Vec<Span>,
    span_ids: HashMap<Span, SpanId>,
    pub files: Vec<String>,
    file_ids: HashMap<String, FileId>,
    /// Names seen as `T/#0`, which only generic parameters print.
    pub param_names: HashSet<String>,
    /// Types built by an aggregate or projected into, so surely not parameters.
    pub surely_adt: HashSet<TyId>,
}

impl Tables {
    /// Id of the type spelled `text`, made by `make` when it is new.
    pub fn intern(&mut self, text: &str, make: impl FnOnce(String) -> Ty) -> TyId {
        if let Some(&id) = self.by_text.get(text) {
            return id;
        }
        let id = self.types.len() as TyId;
        self.types.push(make(text.to_owned()));
        self.by_text.insert(text.to_owned(), id);
        id
    }

    pub fn ty(&self, id: TyId) -> Option<&Ty> {
        self.types.get(id as usize)
    }

    pub fn span(&mut self, file: &str, position: [u32; 4]) -> SpanId {
        let file = match self.file_ids.get(file) {
            Some(&id) => id,
            None => {
                let id = self.files.len() as FileId;
                self.files.push(file.to_owned());
                self.file_ids.insert(file.to_owned(), id);
                id
            }
        };
        let [line, col, end_line, end_col] = position;
        let span = Span { file, line, col, end_line, end_col };
        *self.span_ids.entry(span).or_insert_with(|| {
            self.spans.push(span);
            (self.spans.len() - 1) as SpanId
        })
    }

    /// A bare identifier is an ADT of the crate's root or a generic parameter, and the text does not tell which.  It
    /// becomes a parameter where a comment printed it as `T/#0` and nothing showed it to be an ADT.
    pub fn settle_params(&mut self) {
        for (id, ty) in self.types.iter_mut().enumerate() {
            if let Ty::Adt { text, path, args } = ty {
                let bare = args.is_empty() && text == path && self.param_names.contains(path.as_str());
                if bare && !self.surely_adt.contains(&(id as TyId)) {
                    *ty = Ty::Param { text: std::mem::take(text) };
                }
            }
        }
    }
}
