//! Types as rustc prints them: enough structure to write them again as Rust source in another crate.

/// A region as printed after borrow checking.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Region {
    /// `'{erased}` or `'static`: no region of consequence.
    Erased,
    /// `'^2` or `'^1_2`: variable 2 of the binder `depth` levels out.
    Bound { depth: usize, var: usize },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Arg {
    Type(Ty),
    Region(Region),
    /// A const argument as a Rust expression, and its type.
    Const {
        value: String,
        ty: String,
    },
    /// `Name = Type` in a trait's arguments.
    Assoc(String, Ty),
}

/// One segment of a path and its generic arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Segment {
    /// An identifier, or text that source cannot write: `{closure#0}`, `<a::B as c::D>`, `<impl at ..>`.
    pub name: String,
    /// Which of several items of this name in the same place: `#1`.
    pub nth: usize,
    pub args: Vec<Arg>,
}

impl Segment {
    /// Whether source can write the segment.
    pub fn is_plain(&self) -> bool {
        self.nth == 0 && !self.name.starts_with(['{', '<'])
    }
}

pub type Path = Vec<Segment>;

/// A path without arguments, as one text.
pub fn key(path: &[Segment]) -> String {
    let names = path.iter().map(|segment| match segment.nth {
        0 => segment.name.clone(),
        nth => format!("{}#{nth}", segment.name),
    });
    names.collect::<Vec<_>>().join("::")
}

/// A function signature; `bound` counts the region variables of its binder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sig {
    pub bound: usize,
    pub is_unsafe: bool,
    /// `extern` string, or `None` for Rust's own.
    pub abi: Option<String>,
    pub inputs: Vec<Ty>,
    pub variadic: bool,
    pub output: Ty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClosureKind {
    Fn,
    FnMut,
    FnOnce,
}

/// A trait in `dyn`, with the region variables of its binder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bound {
    pub bound: usize,
    pub path: Path,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ty {
    /// `u8`, `bool`, `str`, `!`: written as they stand.
    Primitive(String),
    Tuple(Vec<Ty>),
    /// `core::pattern_type!(of is pattern)`: the inside of `NonZero` and kin.
    Pattern {
        of: Box<Ty>,
        pattern: String,
    },
    Ref {
        region: Region,
        mutable: bool,
        to: Box<Ty>,
    },
    Ptr {
        mutable: bool,
        to: Box<Ty>,
    },
    /// `len` is `None` where rustc has not evaluated the constant.
    Array {
        elem: Box<Ty>,
        len: Option<String>,
    },
    Slice(Box<Ty>),
    Path(Path),
    FnPtr(Box<Sig>),
    /// `text` is the function's path, which is no source.
    FnDef {
        text: String,
        sig: Box<Sig>,
    },
    Closure {
        text: String,
        kind: ClosureKind,
        sig: Box<Sig>,
        upvars: Vec<Ty>,
    },
    /// `text` is rustc's for the whole type, in braces.
    Coroutine {
        text: String,
        path: String,
        upvars: usize,
        resume: Box<Ty>,
        yields: Box<Ty>,
        returns: Box<Ty>,
    },
    Dyn(Vec<Bound>),
    /// `<T as Trait>::Name`, which rustc resolves when it is asked.
    Projection {
        of: Box<Ty>,
        bound: Path,
        name: Segment,
    },
}

impl Ty {
    /// The path of an ADT without generic arguments.
    pub fn adt_path(&self) -> Option<String> {
        match self {
            Self::Path(path) => Some(key(path)),
            _ => None,
        }
    }

    /// Whether values hold no value of another type, so that dropping one does nothing.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Pattern { of, .. } => of.is_plain(),
            Self::Primitive(_) | Self::Ref { .. } | Self::Ptr { .. } | Self::FnPtr(_) | Self::FnDef { .. } => true,
            _ => false,
        }
    }

    /// Calls `each` with every path of an ADT inside.
    pub fn paths<'a>(&'a self, each: &mut dyn FnMut(&'a Path)) {
        match self {
            // A stand-in is told its size.
            Self::Primitive(_) | Self::Coroutine { .. } => {}
            Self::Tuple(elems) => elems.iter().for_each(|elem| elem.paths(each)),
            Self::Ref { to, .. } | Self::Ptr { to, .. } | Self::Pattern { of: to, .. } => to.paths(each),
            Self::Array { elem, .. } => elem.paths(each),
            Self::Slice(elem) => elem.paths(each),
            Self::Path(path) => {
                each(path);
                arguments(path, each);
            }
            Self::FnPtr(sig) => sig.inputs.iter().chain([&sig.output]).for_each(|ty| ty.paths(each)),
            // Zero-sized whatever its signature.
            Self::FnDef { .. } => {}
            Self::Closure { upvars, .. } => upvars.iter().for_each(|upvar| upvar.paths(each)),
            Self::Dyn(bounds) => bounds.iter().for_each(|bound| arguments(&bound.path, each)),
            Self::Projection { of, bound, name } => {
                of.paths(each);
                arguments(bound, each);
                name.args.iter().for_each(|arg| argument(arg, each));
            }
        }
    }
}

fn arguments<'a>(path: &'a [Segment], each: &mut dyn FnMut(&'a Path)) {
    path.iter().flat_map(|segment| &segment.args).for_each(|arg| argument(arg, each));
}

fn argument<'a>(arg: &'a Arg, each: &mut dyn FnMut(&'a Path)) {
    if let Arg::Type(ty) | Arg::Assoc(_, ty) = arg {
        ty.paths(each);
    }
}
