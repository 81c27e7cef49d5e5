//! From rustc's printed `Layout` to the wire's.

use crate::layout::debug::{self, Unknown, Value};
use crate::wire::{BackendRepr, FieldsShape, LayoutData, ScalarLayout, TagEncoding, Variants};

type Result<T> = std::result::Result<T, String>;

/// Reads the text after `layout_of(..) = `.  An error names the construct that is not known.
pub fn layout(text: &str) -> std::result::Result<LayoutData, Unknown> {
    let value = debug::parse(text)?;
    whole(&value).map_err(|message| Unknown { line: 1, message })
}

fn whole(value: &Value) -> Result<LayoutData> {
    let fields = Fields::of(value, "Layout")?;
    let size = bytes(fields.get("size")?, "Size")?;
    let align = Fields::of(fields.get("align")?, "AbiAlign")?;
    let align = bytes(align.get("abi")?, "Align")?;
    Ok(LayoutData {
        size,
        align,
        backend_repr: backend_repr(fields.get("backend_repr")?)?,
        fields: shape(fields.get("fields")?)?,
        variants: variants(fields.get("variants")?, align)?,
        uninhabited: boolean(fields.get("uninhabited")?)?,
    })
}

/// A variant as 1.97 prints it: only what can differ from the enum's own layout.  Its alignment is not printed; the
/// enum's, which is its upper bound, stands for it.
fn variant(value: &Value, index: u64, align: u64) -> Result<LayoutData> {
    let fields = Fields::of(value, "VariantLayout")?;
    Ok(LayoutData {
        size: bytes(fields.get("size")?, "Size")?,
        align,
        backend_repr: backend_repr(fields.get("backend_repr")?)?,
        fields: FieldsShape::Arbitrary { offsets: sizes(fields.get("field_offsets")?)? },
        variants: Variants::Single { index: narrow(index)? },
        uninhabited: boolean(fields.get("uninhabited")?)?,
    })
}

fn backend_repr(value: &Value) -> Result<BackendRepr> {
    match value {
        Value::Tuple(name, args) => match (name.as_str(), args.as_slice()) {
            ("Scalar", [value]) => Ok(BackendRepr::Scalar { value: scalar(value)? }),
            ("ScalarPair", [first, second]) => {
                Ok(BackendRepr::ScalarPair { first: scalar(first)?, second: scalar(second)? })
            }
            _ => Err(unknown("backend representation", value)),
        },
        Value::Struct(name, _) if name == "Memory" => {
            let sized = boolean(Fields::of(value, "Memory")?.get("sized")?)?;
            Ok(BackendRepr::Memory { sized })
        }
        Value::Struct(name, _) if name == "SimdVector" => {
            let fields = Fields::of(value, "SimdVector")?;
            Ok(BackendRepr::Vector { element: scalar(fields.get("element")?)?, count: number(fields.get("count")?)? })
        }
        _ => Err(unknown("backend representation", value)),
    }
}

fn scalar(value: &Value) -> Result<ScalarLayout> {
    let (initialized, fields) = match value {
        Value::Struct(name, _) if name == "Initialized" => (true, Fields::of(value, "Initialized")?),
        _ => (false, Fields::of(value, "Union")?),
    };
    let (primitive, signed, bits) = primitive(fields.get("value")?)?;
    let max = u128::MAX >> (128 - bits);
    let (start, end) = if initialized { range(fields.get("valid_range")?)? } else { (0, max) };
    if start > max || end > max {
        return Err(format!("valid range {start:#x}..={end:#x} is wider than {primitive}"));
    }
    // A range that wraps onto itself is every value.
    let (start, end) = if start == end.wrapping_add(1) & max { (0, max) } else { (start, end) };
    Ok(ScalarLayout { primitive, signed, initialized, valid_start: hex(start), valid_end: hex(end) })
}

/// Name, sign and bits of a primitive.
fn primitive(value: &Value) -> Result<(String, bool, u32)> {
    let Value::Tuple(kind, args) = value else {
        return Err(unknown("primitive", value));
    };
    let atoms: Vec<&str> = args.iter().filter_map(atom).collect();
    match (kind.as_str(), atoms.as_slice()) {
        ("Int", [width, signed]) => {
            let bits = match *width {
                "I8" => 8,
                "I16" => 16,
                "I32" => 32,
                "I64" => 64,
                "I128" => 128,
                _ => return Err(unknown("integer", value)),
            };
            Ok((width.to_lowercase(), truth(signed)?, bits))
        }
        ("Float", [width]) => {
            let bits = match *width {
                "F16" => 16,
                "F32" => 32,
                "F64" => 64,
                "F128" => 128,
                _ => return Err(unknown("float", value)),
            };
            Ok((width.to_lowercase(), false, bits))
        }
        ("Pointer", []) => match args.as_slice() {
            [Value::Tuple(space, number)] if space == "AddressSpace" && number[..] == [Value::Atom("0".into())] => {
                Ok(("pointer".to_owned(), false, 64))
            }
            _ => Err(unknown("address space", value)),
        },
        _ => Err(unknown("primitive", value)),
    }
}

fn range(value: &Value) -> Result<(u128, u128)> {
    let text = atom(value).ok_or_else(|| unknown("range", value))?;
    let bounds = match text.strip_prefix("(..=").and_then(|rest| rest.strip_suffix("..)")) {
        Some(wrapping) => wrapping.split_once(") | (").map(|(end, start)| (start, end)),
        None => text.split_once("..="),
    };
    let parsed = bounds.and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    parsed.ok_or_else(|| unknown("range", value))
}

fn shape(value: &Value) -> Result<FieldsShape> {
    match value {
        Value::Atom(name) if name == "Primitive" => Ok(FieldsShape::Primitive),
        Value::Tuple(name, args) if name == "Union" => match args.as_slice() {
            [count] => Ok(FieldsShape::Union { count: number(count)? }),
            _ => Err(unknown("fields", value)),
        },
        Value::Struct(name, _) if name == "Array" => {
            let fields = Fields::of(value, "Array")?;
            let stride = bytes(fields.get("stride")?, "Size")?;
            Ok(FieldsShape::Array { stride, count: number(fields.get("count")?)? })
        }
        Value::Struct(name, _) if name == "Arbitrary" => {
            let offsets = sizes(Fields::of(value, "Arbitrary")?.get("offsets")?)?;
            Ok(FieldsShape::Arbitrary { offsets })
        }
        _ => Err(unknown("fields", value)),
    }
}

fn variants(value: &Value, align: u64) -> Result<Variants> {
    match value {
        Value::Atom(name) if name == "Empty" => Ok(Variants::Empty),
        Value::Struct(name, _) if name == "Single" => {
            // 1.95 and later print only the index here.
            Ok(Variants::Single { index: narrow(number(Fields::of(value, "Single")?.get("index")?)?)? })
        }
        Value::Struct(name, _) if name == "Multiple" => {
            let fields = Fields::of(value, "Multiple")?;
            let list = list(fields.get("variants")?)?;
            let each = list.iter().zip(0..).map(|(value, index)| match value {
                Value::Struct(name, _) if name == "VariantLayout" => variant(value, index, align),
                _ => whole(value),
            });
            Ok(Variants::Multiple {
                tag: scalar(fields.get("tag")?)?,
                tag_encoding: tag_encoding(fields.get("tag_encoding")?)?,
                tag_field: narrow(number(fields.get("tag_field")?)?)?,
                variants: each.collect::<Result<_>>()?,
            })
        }
        _ => Err(unknown("variants", value)),
    }
}

fn tag_encoding(value: &Value) -> Result<TagEncoding> {
    if atom(value) == Some("Direct") {
        return Ok(TagEncoding::Direct);
    }
    let fields = Fields::of(value, "Niche")?;
    let (first, last) = range(fields.get("niche_variants")?)?;
    let start = atom(fields.get("niche_start")?).and_then(|text| text.parse().ok());
    let small = |value: u128| u32::try_from(value).map_err(|error| error.to_string());
    Ok(TagEncoding::Niche {
        untagged_variant: narrow(number(fields.get("untagged_variant")?)?)?,
        niche_first: small(first)?,
        niche_last: small(last)?,
        niche_start: hex(start.ok_or_else(|| unknown("niche start", value))?),
    })
}

/// The fields of a struct of a given name.
struct Fields<'a> {
    name: &'static str,
    fields: &'a [(String, Value)],
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, name: &'static str) -> Result<Self> {
        match value {
            Value::Struct(found, fields) if found == name => Ok(Self { name, fields }),
            _ => Err(unknown(name, value)),
        }
    }

    fn get(&self, field: &str) -> Result<&'a Value> {
        let found = self.fields.iter().find(|(name, _)| name == field);
        found.map(|(_, value)| value).ok_or_else(|| format!("{} has no field `{field}`", self.name))
    }
}

fn unknown(what: &str, value: &Value) -> String {
    let text = match value {
        Value::Atom(text) | Value::Struct(text, _) | Value::Tuple(text, _) => text.as_str(),
        Value::List(_) => "[..]",
    };
    format!("unknown {what} `{text}`")
}

fn atom(value: &Value) -> Option<&str> {
    match value {
        Value::Atom(text) => Some(text),
        _ => None,
    }
}

fn list(value: &Value) -> Result<&[Value]> {
    match value {
        Value::List(items) => Ok(items),
        _ => Err(unknown("list", value)),
    }
}

fn sizes(value: &Value) -> Result<Vec<u64>> {
    list(value)?.iter().map(|value| bytes(value, "Size")).collect()
}

fn bytes(value: &Value, name: &str) -> Result<u64> {
    let inner = match value {
        Value::Tuple(found, args) if found == name => args.first().and_then(atom),
        _ => None,
    };
    let number = inner.and_then(|text| text.strip_suffix(" bytes")).and_then(|text| text.parse().ok());
    number.ok_or_else(|| unknown(name, value))
}

fn number(value: &Value) -> Result<u64> {
    atom(value).and_then(|text| text.parse().ok()).ok_or_else(|| unknown("number", value))
}

fn narrow<T: TryFrom<u64>>(value: u64) -> Result<T> {
    T::try_from(value).map_err(|_| format!("{value} is too large"))
}

fn boolean(value: &Value) -> Result<bool> {
    truth(atom(value).unwrap_or_default())
}

fn truth(text: &str) -> Result<bool> {
    text.parse().map_err(|_| format!("unknown truth value `{text}`"))
}

fn hex(value: u128) -> String {
    format!("{value:#x}")
}
