//! Compares a layout with what debug information says of the same type.

use crate::layout::debuginfo::{Shape, TypeInfo, VariantInfo};
use crate::wire::{BackendRepr, FieldsShape, LayoutData, TagEncoding, Variants};

/// `Ok` when everything that both state agrees, else what does not.
pub fn agree(layout: &LayoutData, info: &TypeInfo) -> Result<(), String> {
    same("size", layout.size, info.size)?;
    if let Some(align) = info.align {
        same("alignment", layout.align, align)?;
    }
    match &info.shape {
        Shape::Opaque => Ok(()),
        Shape::Struct(_) if matches!(layout.backend_repr, BackendRepr::Vector { .. }) => Ok(()),
        Shape::Struct(offsets) => fields(&layout.fields, offsets),
        Shape::Union(count) => match layout.fields {
            FieldsShape::Union { count: known } => same("union fields", known, *count as u64),
            _ => Err("one source says that it is a union".to_owned()),
        },
        Shape::Enum { tag, variants } => enumeration(layout, *tag, variants),
    }
}

fn enumeration(layout: &LayoutData, tag: Option<(u64, u64)>, infos: &[VariantInfo]) -> Result<(), String> {
    match &layout.variants {
        Variants::Empty => Ok(()),
        Variants::Single { index } => match (tag, infos.get(*index as usize)) {
            (Some(_), _) => Err("debug information has a tag, the layout none".to_owned()),
            (None, None) => Err(format!("there is no variant {index}")),
            (None, Some(info)) => info.offsets.as_ref().map_or(Ok(()), |offsets| fields(&layout.fields, offsets)),
        },
        Variants::Multiple { tag: scalar, tag_encoding, tag_field, variants } => {
            same("variants", variants.len() as u64, infos.len() as u64)?;
            let (offset, size) = tag.ok_or("the layout has a tag, debug information none")?;
            let known = match &layout.fields {
                FieldsShape::Arbitrary { offsets } => offsets.get(*tag_field as usize).copied(),
                _ => None,
            };
            same("tag offset", known.ok_or("the tag has no field")?, offset)?;
            let bits = match scalar.primitive.as_str() {
                "pointer" => 64,
                name => name.get(1..).and_then(|bits| bits.parse().ok()).ok_or("the tag has no size")?,
            };
            same("tag size", bits / 8, size)?;
            for (index, (variant, info)) in variants.iter().zip(infos).enumerate() {
                let named = |what: String| format!("variant {}: {what}", info.name);
                if let Some(offsets) = &info.offsets {
                    fields(&variant.fields, offsets).map_err(named)?;
                }
                tag_value(tag_encoding, index, bits, info).map_err(named)?;
            }
            Ok(())
        }
    }
}

/// Whether a variant's tag is the one that the layout's encoding gives it.
fn tag_value(encoding: &TagEncoding, index: usize, bits: u64, info: &VariantInfo) -> Result<(), String> {
    let value = info.tag.as_ref().map(|tag| tag.bits);
    match encoding {
        TagEncoding::Direct if value.is_none() => Err("a direct tag without a value".to_owned()),
        // The value is the discriminant itself, which no other source states.
        TagEncoding::Direct => Ok(()),
        TagEncoding::Niche { untagged_variant, niche_first, niche_last, niche_start } => {
            let index = u32::try_from(index).map_err(|error| error.to_string())?;
            if index == *untagged_variant {
                return if value.is_none() { Ok(()) } else { Err("the untagged variant has a tag".to_owned()) };
            }
            if !(*niche_first..=*niche_last).contains(&index) {
                // Uninhabited: no value of the type has this variant.
                return Ok(());
            }
            let start = niche_start.strip_prefix("0x").and_then(|hex| u128::from_str_radix(hex, 16).ok());
            let start = start.ok_or("the niche has no start")?;
            let mask = u128::MAX >> (128 - u32::try_from(bits).map_err(|error| error.to_string())?);
            let expected = start.wrapping_add(u128::from(index - niche_first)) & mask;
            if value == Some(expected) {
                Ok(())
            } else {
                Err(format!("niche tag {expected:#x} in the layout, {value:x?} in debug information"))
            }
        }
    }
}

fn fields(shape: &FieldsShape, offsets: &[u64]) -> Result<(), String> {
    match shape {
        FieldsShape::Arbitrary { offsets: known } if known == offsets => Ok(()),
        FieldsShape::Primitive if offsets.is_empty() => Ok(()),
        _ => Err(format!("fields are {shape:?} in the layout, at {offsets:?} in debug information")),
    }
}

fn same(what: &str, layout: u64, info: u64) -> Result<(), String> {
    if layout == info {
        Ok(())
    } else {
        Err(format!("{what} is {layout} in the layout, {info} in debug information"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::debuginfo::Tag;
    use crate::layout::read;

    /// `Option<bool>` of rustc 1.97.
    fn option_bool() -> LayoutData {
        let variant = |size: u64, offsets: &str| {
            format!(
                "VariantLayout {{ size: Size({size} bytes), backend_repr: Memory {{ sized: true }}, \
                 field_offsets: {offsets}, uninhabited: false }}"
            )
        };
        let scalar = "Initialized { value: Int(I8, false), valid_range: 0..=2 }";
        let text = format!(
            "Layout {{ size: Size(1 bytes), align: AbiAlign {{ abi: Align(1 bytes) }}, backend_repr: Scalar({scalar}), \
             fields: Arbitrary {{ offsets: [Size(0 bytes)], in_memory_order: [0] }}, uninhabited: false, \
             variants: Multiple {{ tag: {scalar}, tag_encoding: Niche {{ untagged_variant: 1, niche_variants: 0..=0, \
             niche_start: 2 }}, tag_field: 0, variants: [{}, {}] }} }}",
            variant(0, "[]"),
            variant(1, "[Size(0 bytes)]")
        );
        read::layout(&text).unwrap()
    }

    fn info(tag: u128) -> TypeInfo {
        let variant = |name: &str, tag: Option<u128>, offsets: Vec<u64>| VariantInfo {
            name: name.into(),
            tag: tag.map(|bits| Tag { bits, text: bits.to_string() }),
            offsets: Some(offsets),
        };
        let variants = vec![variant("None", Some(tag), vec![]), variant("Some", None, vec![0])];
        TypeInfo { size: 1, align: Some(1), shape: Shape::Enum { tag: Some((0, 1)), variants } }
    }

    #[test]
    fn the_same_type_agrees_and_every_difference_is_named() {
        let layout = option_bool();
        assert_eq!(agree(&layout, &info(2)), Ok(()));
        assert!(agree(&layout, &info(3)).unwrap_err().contains("variant None: niche tag 0x2"));
        assert!(agree(&layout, &TypeInfo { size: 2, ..info(2) }).unwrap_err().contains("size is 1"));
        assert!(agree(&layout, &TypeInfo { align: Some(2), ..info(2) }).unwrap_err().contains("alignment"));
        let plain = TypeInfo { shape: Shape::Union(1), ..info(2) };
        assert!(agree(&layout, &plain).unwrap_err().contains("union"));
        let mut moved = info(2);
        if let Shape::Enum { variants, .. } = &mut moved.shape {
            variants[1].offsets = Some(vec![1]);
        }
        assert!(agree(&layout, &moved).unwrap_err().contains("variant Some"));
    }
}
