//! The reader's state: a cursor, the document's tables, the body at hand.

use std::ops::{Deref, DerefMut};

use super::grammar::Grammar;
use super::tables::Tables;
use crate::lex::{Cursor, Res};
use crate::wire::{Place, Projection, Ty, TyId};

/// Deepest nesting of types that is read.
const MAX_DEPTH: u32 = 2000;

pub struct Reader<'a, 't> {
    pub cur: Cursor<'a>,
    pub tables: &'t mut Tables,
    pub grammar: Grammar,
    /// Types of the body's locals, where known so far.
    pub locals: Vec<Option<TyId>>,
    /// Text is `-Zunpretty=stable-mir`'s: copies and constants have no keyword.
    pub stable: bool,
    /// How many signatures end where the type read last ends: `fn() -> &fn()` has two.
    pub edge_sigs: u32,
    depth: u32,
}

impl<'a> Deref for Reader<'a, '_> {
    type Target = Cursor<'a>;
    fn deref(&self) -> &Cursor<'a> {
        &self.cur
    }
}

impl<'a> DerefMut for Reader<'a, '_> {
    fn deref_mut(&mut self) -> &mut Cursor<'a> {
        &mut self.cur
    }
}

impl<'a, 't> Reader<'a, 't> {
    pub fn new(cur: Cursor<'a>, tables: &'t mut Tables, grammar: Grammar) -> Self {
        Reader { cur, tables, grammar, locals: Vec::new(), stable: false, edge_sigs: 0, depth: 0 }
    }

    /// Runs `read` one level deeper, or fails where nesting is absurd.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth >= MAX_DEPTH {
            return self.fail("nested too deeply");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub fn set_local(&mut self, local: u32, ty: TyId) -> Res<()> {
        let at = local as usize;
        if at > self.locals.len() + 4_000_000 {
            return self.fail("local's number is absurd");
        }
        if self.locals.len() <= at {
            self.locals.resize(at + 1, None);
        }
        if self.locals[at].replace(ty).is_some() {
            return self.fail(format!("_{local} is declared twice"));
        }
        Ok(())
    }

    /// Type of a place, where the text tells it.
    pub fn place_ty(&self, place: &Place) -> Option<TyId> {
        let mut ty = *self.locals.get(place.local as usize)?;
        for projection in &place.proj {
            ty = match projection {
                Projection::Deref => match self.tables.ty(ty?)? {
                    Ty::Ref { pointee, .. } | Ty::Ptr { pointee, .. } => Some(*pointee),
                    _ => None,
                },
                Projection::Field { ty, .. } | Projection::OpaqueCast { ty } | Projection::UnwrapBinder { ty } => {
                    Some(*ty)
                }
                Projection::Downcast { .. } => ty,
                Projection::Index { .. } | Projection::ConstantIndex { .. } => match self.tables.ty(ty?)? {
                    Ty::Array { elem, .. } | Ty::Slice { elem, .. } => Some(*elem),
                    _ => None,
                },
                Projection::Subslice { .. } => None,
            };
        }
        ty
    }
}
