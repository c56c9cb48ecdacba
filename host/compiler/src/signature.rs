//! Formats function types as WIT, with the type names of their interfaces.

use std::collections::{HashMap, HashSet};

use scorpiox_component_abi::anatomy::{Function, Resource};
use wasmparser::PrimitiveValType;
use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType as Defined, ComponentDefinedTypeId, ComponentEntityType,
    ComponentFuncTypeId, ComponentValType, ResourceId,
};
use wasmparser::types::TypesRef;

/// Maximum length of a type's text. A short declaration can expand to a text that exceeds any memory.
const MAX_CHARS: usize = 1000;
/// Maximum nesting depth in the text.
const MAX_DEPTH: u32 = 64;

/// Known types of a component.
pub(crate) struct Signatures<'a> {
    types: TypesRef<'a>,
    /// Names of types in their interfaces.
    names: HashMap<ComponentAnyTypeId, String>,
    /// Imported resources.
    imported: HashSet<ResourceId>,
    /// Resources that the component exports itself, each once, in the order of the exports.
    own: Vec<(ResourceId, Resource)>,
}

/// A text that grows up to a limit.
struct Text<'s, 'a> {
    signatures: &'s Signatures<'a>,
    written: String,
    depth: u32,
}

impl<'a> Signatures<'a> {
    /// Collects the types of a component with these imports and exports.
    pub(crate) fn new(types: TypesRef<'a>, imports: &[String], exports: &[String]) -> Self {
        let mut names = HashMap::new();
        let mut imported_resources = HashSet::new();
        let mut name = |name: &str, ty: &ComponentEntityType| {
            if let ComponentEntityType::Type { referenced, created } = ty {
                names.entry(*created).or_insert_with(|| name.to_owned());
                names.entry(*referenced).or_insert_with(|| name.to_owned());
            }
        };
        let imported = imports.iter().filter_map(|name| Some((name, types.component_item_for_import(name)?)));
        let exported = exports.iter().filter_map(|name| Some((name, types.component_item_for_export(name)?)));
        let exported = exported.map(|item| (item, false));
        for ((item_name, item), is_imported) in exported.chain(imported.map(|item| (item, true))) {
            let mut take = |item_name: &str, ty: &ComponentEntityType| {
                name(item_name, ty);
                imported_resources.extend(resource(ty).filter(|_| is_imported));
            };
            take(item_name, &item.ty);
            if let ComponentEntityType::Instance(id) = &item.ty {
                for (inner_name, inner) in &types[*id].exports {
                    take(inner_name, &inner.ty);
                }
            }
        }
        let mut signatures = Self { types, names, imported: imported_resources, own: Vec::new() };
        for export in exports {
            signatures.collect_own(export);
        }
        signatures
    }

    /// Collects the resources of an export that the component defines itself.
    fn collect_own(&mut self, export: &str) {
        let Some(item) = self.types.component_item_for_export(export) else { return };
        let mut take = |interface: Option<&str>, name: &str, ty: &ComponentEntityType| {
            let id = resource(ty).filter(|id| !self.imported.contains(id));
            let Some(id) = id.filter(|id| self.own.iter().all(|(own, _)| own != id)) else { return };
            let resource = Resource { interface: interface.map(str::to_owned), name: name.to_owned() };
            self.own.push((id, resource));
        };
        take(None, export, &item.ty);
        if let ComponentEntityType::Instance(id) = &item.ty {
            for (name, inner) in &self.types[*id].exports {
                take(Some(export), name, &inner.ty);
            }
        }
    }

    /// Returns the resources that the component exports itself.
    pub(crate) fn into_resources(self) -> Vec<Resource> {
        self.own.into_iter().map(|(_, resource)| resource).collect()
    }

    /// Returns a function with this name and type.
    pub(crate) fn function(&mut self, name: &str, id: ComponentFuncTypeId) -> Function {
        let ty = &self.types[id];
        let mut text = Text { signatures: self, written: String::new(), depth: 0 };
        text.push(if ty.async_ { "async func(" } else { "func(" });
        for (index, (name, ty)) in ty.params.iter().enumerate() {
            text.push(if index == 0 { "" } else { ", " });
            text.push(name.as_str());
            text.push(": ");
            text.value(ty);
        }
        text.push(")");
        if let Some(ty) = &ty.result {
            text.push(" -> ");
            text.value(ty);
        }
        let wit = text.written;
        let mut seen = HashSet::new();
        let result = ty.result.as_ref().map(|ty| self.streamed(ty));
        let mut values = ty.params.iter().map(|(_, ty)| ty).chain(result.unwrap_or_default());
        let unfit = values.find_map(|ty| self.unfit(ty, &mut seen, MAX_DEPTH));
        let mut gives = Vec::new();
        if let Some(ty) = &ty.result {
            self.given(ty, &mut gives, &mut HashSet::new(), MAX_DEPTH);
        }
        gives.sort_unstable();
        gives.dedup();
        Function { name: name.to_owned(), wit, unfit: unfit.map(str::to_owned), gives }
    }

    /// Collects the component's own resources of which values of a type contain handles.
    fn given(
        &self,
        ty: &ComponentValType,
        gives: &mut Vec<usize>,
        seen: &mut HashSet<ComponentDefinedTypeId>,
        depth: u32,
    ) {
        let (ComponentValType::Type(id), Some(depth)) = (ty, depth.checked_sub(1)) else { return };
        if !seen.insert(*id) {
            return;
        }
        if let Defined::Own(id) | Defined::Borrow(id) = &self.types[*id] {
            gives.extend(self.own.iter().position(|(own, _)| *own == id.resource()));
        }
        for part in parts(&self.types[*id]) {
            self.given(part, gives, seen, depth);
        }
    }

    /// Returns the parts of a result type to check. Streams of bytes are omitted, because the host reads them
    /// to their end.
    fn streamed<'t>(&'t self, ty: &'t ComponentValType) -> Vec<&'t ComponentValType> {
        let defined = |ty: &ComponentValType| match ty {
            ComponentValType::Type(id) => Some(&self.types[*id]),
            ComponentValType::Primitive(_) => None,
        };
        let is_byte = |ty: &ComponentValType| matches!(ty, ComponentValType::Primitive(PrimitiveValType::U8));
        let is_bytes = |ty: &ComponentValType| matches!(defined(ty), Some(Defined::Stream { ty: Some(of), .. }) if is_byte(of));
        match defined(ty) {
            _ if is_bytes(ty) => Vec::new(),
            Some(Defined::Result { ok: Some(ok), err, .. }) if is_bytes(ok) => err.iter().collect(),
            _ => vec![ty],
        }
    }

    /// Returns the part of a type that JSON cannot represent.
    fn unfit(
        &self,
        ty: &ComponentValType,
        seen: &mut HashSet<ComponentDefinedTypeId>,
        depth: u32,
    ) -> Option<&'static str> {
        let id = match ty {
            ComponentValType::Primitive(PrimitiveValType::ErrorContext) => {
                return Some("it has an error context");
            }
            ComponentValType::Primitive(_) => return None,
            ComponentValType::Type(id) => *id,
        };
        if !seen.insert(id) {
            return None;
        }
        let Some(depth) = depth.checked_sub(1) else { return Some("its types are nested too deeply") };
        match &self.types[id] {
            Defined::Primitive(ty) => self.unfit(&ComponentValType::Primitive(*ty), seen, depth),
            Defined::Own(id) | Defined::Borrow(id) => {
                self.imported.contains(&id.resource()).then_some("it has a resource of others")
            }
            Defined::Future { .. } => Some("it has a future"),
            Defined::Stream { .. } => Some("it has a stream"),
            defined => parts(defined).into_iter().find_map(|ty| self.unfit(ty, seen, depth)),
        }
    }
}

/// Returns the types of which values of a type consist. Streams and futures are omitted: their values come
/// later.
fn parts(ty: &Defined) -> Vec<&ComponentValType> {
    match ty {
        Defined::Record(record) => record.fields.values().collect(),
        Defined::Variant(variant) => variant.cases.values().filter_map(|case| case.ty.as_ref()).collect(),
        Defined::List { element, .. } | Defined::FixedLengthList { element, .. } => vec![element],
        Defined::Map { key, value, .. } => vec![key, value],
        Defined::Tuple(tuple) => tuple.types.iter().collect(),
        Defined::Option { ty, .. } => vec![ty],
        Defined::Result { ok, err, .. } => ok.iter().chain(err).collect(),
        Defined::Primitive(_)
        | Defined::Flags(_)
        | Defined::Enum(_)
        | Defined::Own(_)
        | Defined::Borrow(_)
        | Defined::Future { .. }
        | Defined::Stream { .. } => Vec::new(),
    }
}

/// Returns the resource of a type, if it is one.
pub(crate) fn resource(ty: &ComponentEntityType) -> Option<ResourceId> {
    match ty {
        ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(id), .. } => Some(id.resource()),
        _ => None,
    }
}

impl Text<'_, '_> {
    fn push(&mut self, text: &str) {
        const CUT: char = '…';
        if self.written.ends_with(CUT) {
            return;
        }
        let room = MAX_CHARS.saturating_sub(self.written.chars().count());
        self.written.extend(text.chars().take(room));
        if text.chars().count() > room {
            self.written.push(CUT);
        }
    }

    fn is_full(&self) -> bool {
        self.written.len() > MAX_CHARS || self.depth > MAX_DEPTH
    }

    fn value(&mut self, ty: &ComponentValType) {
        if self.is_full() {
            return self.push("…");
        }
        match ty {
            ComponentValType::Primitive(ty) => self.push(&ty.to_string()),
            ComponentValType::Type(id) => {
                let signatures = self.signatures;
                if let Some(name) = signatures.names.get(&ComponentAnyTypeId::Defined(*id)) {
                    return self.push(name);
                }
                self.depth += 1;
                self.defined(&signatures.types[*id]);
                self.depth -= 1;
            }
        }
    }

    fn defined(&mut self, ty: &Defined) {
        match ty {
            Defined::Primitive(ty) => self.push(&ty.to_string()),
            Defined::Record(record) => {
                let fields = record.fields.iter().map(|(name, ty)| (name.as_str(), Some(ty)));
                self.members("record { ", fields, " }");
            }
            Defined::Variant(variant) => {
                let cases = variant.cases.iter().map(|(name, case)| (name.as_str(), case.ty.as_ref()));
                self.members("variant { ", cases, " }");
            }
            Defined::Flags(names) => {
                self.members("flags { ", names.iter().map(|name| (name.as_str(), None)), " }");
            }
            Defined::Enum(names) => {
                self.members("enum { ", names.iter().map(|name| (name.as_str(), None)), " }");
            }
            Defined::List { element, .. } => self.generic("list", &[Some(element)]),
            Defined::FixedLengthList { element, length, .. } => {
                self.push("list<");
                self.value(element);
                self.push(&format!(", {length}>"));
            }
            Defined::Map { key, value, .. } => self.generic("map", &[Some(key), Some(value)]),
            Defined::Tuple(tuple) => {
                let types: Vec<_> = tuple.types.iter().map(Some).collect();
                self.generic("tuple", &types);
            }
            Defined::Option { ty, .. } => self.generic("option", &[Some(ty)]),
            Defined::Result { ok: None, err: None, .. } => self.push("result"),
            Defined::Result { ok, err: None, .. } => self.generic("result", &[ok.as_ref()]),
            Defined::Result { ok, err, .. } => self.generic("result", &[ok.as_ref(), err.as_ref()]),
            Defined::Own(resource) => self.resource(*resource, ""),
            Defined::Borrow(resource) => self.resource(*resource, "borrow"),
            Defined::Future { ty, .. } => self.generic("future", &[ty.as_ref()]),
            Defined::Stream { ty, .. } => self.generic("stream", &[ty.as_ref()]),
        }
    }

    fn members<'t>(
        &mut self,
        before: &str,
        members: impl Iterator<Item = (&'t str, Option<&'t ComponentValType>)>,
        after: &str,
    ) {
        self.push(before);
        for (index, (name, ty)) in members.enumerate() {
            if self.is_full() {
                break;
            }
            self.push(if index == 0 { "" } else { ", " });
            self.push(name);
            if let Some(ty) = ty {
                self.push(": ");
                self.value(ty);
            }
        }
        self.push(after);
    }

    fn generic(&mut self, name: &str, types: &[Option<&ComponentValType>]) {
        self.push(name);
        self.push("<");
        for (index, ty) in types.iter().enumerate() {
            if self.is_full() {
                break;
            }
            self.push(if index == 0 { "" } else { ", " });
            match ty {
                Some(ty) => self.value(ty),
                None => self.push("_"),
            }
        }
        self.push(">");
    }

    fn resource(&mut self, id: wasmparser::component_types::AliasableResourceId, how: &str) {
        let name = self.signatures.names.get(&ComponentAnyTypeId::Resource(id));
        let name = name.cloned().unwrap_or_else(|| "resource".to_owned());
        if how.is_empty() { self.push(&name) } else { self.push(&format!("{how}<{name}>")) }
    }
}
