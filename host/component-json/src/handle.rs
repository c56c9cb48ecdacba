//! Resources, which live in a component and are written as handles such as `counter-7`.
//!
//! In this crate, a handle is a string. The runtime stores its resource and replaces the handle with it.

use std::fmt;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::types::{Component, ComponentExtern, ComponentItem, Type};
use wasmtime::component::{ResourceType, Val};

use crate::shape::{Field, Shape};

/// Resources that a component defines itself, by their types.
#[derive(Debug, Default)]
pub struct Resources(Vec<Own>);

/// A resource that the component defines.
#[derive(Debug)]
struct Own {
    ty: ResourceType,
    interface: Option<String>,
    name: Arc<str>,
}

/// A handle type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// Index of the resource in the component's [`Resources`].
    pub resource: usize,
    /// Name of the resource in its interface.
    pub name: Arc<str>,
    /// `true` if the handle owns the resource.
    pub owned: bool,
}

impl Resources {
    /// Returns an empty collection.
    pub fn none() -> Self {
        Self::default()
    }

    /// Collects the resources that a component exports without importing them: only these live in it.
    pub fn of(component: &Component, engine: &Engine) -> Self {
        let imported: Vec<_> = found(component.imports(engine), engine).map(|own| own.ty).collect();
        let mut own = Self::default();
        for found in found(component.exports(engine), engine) {
            if !imported.contains(&found.ty) && own.handle(&found.ty, true).is_none() {
                own.0.push(found);
            }
        }
        own
    }

    /// Iterates over all resources, each with its interface.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceType, Option<&str>)> {
        self.0.iter().map(|own| (&own.ty, own.interface.as_deref()))
    }

    /// Returns the handle type of a resource, if it is in this collection.
    pub fn handle(&self, ty: &ResourceType, owned: bool) -> Option<Handle> {
        let resource = self.0.iter().position(|own| own.ty == *ty)?;
        Some(Handle { resource, name: Arc::clone(&self.0[resource].name), owned })
    }

    pub(crate) fn of_type(&self, ty: &Type) -> Option<Handle> {
        match ty {
            Type::Own(ty) => self.handle(ty, true),
            Type::Borrow(ty) => self.handle(ty, false),
            _ => None,
        }
    }
}

/// Returns the resources among imports or exports, including those in instances.
fn found<'a>(
    items: impl Iterator<Item = (&'a str, ComponentExtern<'a>)> + 'a,
    engine: &'a Engine,
) -> impl Iterator<Item = Own> + 'a {
    items.flat_map(move |(interface, item)| match item.ty {
        ComponentItem::Resource(ty) => vec![Own { ty, interface: None, name: interface.into() }],
        ComponentItem::ComponentInstance(instance) => {
            let inner = instance.exports(engine).filter_map(|(name, item)| match item.ty {
                ComponentItem::Resource(ty) => {
                    Some(Own { ty, interface: Some(interface.to_owned()), name: name.into() })
                }
                _ => None,
            });
            inner.collect()
        }
        _ => Vec::new(),
    })
}

impl Handle {
    /// Formats a handle of this type.
    pub fn written(&self, number: u64) -> String {
        format!("{}-{number}", self.name)
    }

    /// Parses the number of a handle of this type.
    pub fn number(&self, written: &str) -> Option<u64> {
        let number = written.strip_prefix(&*self.name)?.strip_prefix('-')?.parse().ok()?;
        (self.written(number) == written).then_some(number)
    }

    /// Returns the description of a parameter of this type.
    pub(crate) fn description(&self) -> String {
        let ends = if self.owned { " This call takes it: it is gone afterwards." } else { "" };
        let name = &self.name;
        format!("A handle of type {name} that another tool of this plugin gave, such as {name}-1.{ends}")
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a handle such as \"{}-1\"", self.name)
    }
}

impl Shape {
    /// Returns `true` if values of this shape contain handles.
    pub fn has_handles(&self) -> bool {
        let mut found = false;
        self.visit(&mut |_| found = true);
        found
    }

    /// Calls `visit` for each handle type in this shape.
    pub(crate) fn visit(&self, visit: &mut impl FnMut(&Handle)) {
        match self {
            Self::Handle(handle) => visit(handle),
            Self::List(item, _) | Self::Option(item) => item.visit(visit),
            Self::Map(key, value) => {
                key.visit(visit);
                value.visit(visit);
            }
            Self::Record(fields) => fields.iter().for_each(|field| field.shape.visit(visit)),
            Self::Tuple(items) => items.iter().for_each(|item| item.visit(visit)),
            Self::Variant(cases) => {
                cases.iter().filter_map(|case| case.1.as_ref()).for_each(|shape| shape.visit(visit));
            }
            Self::Result(ok, err) => ok.iter().chain(err).for_each(|shape| shape.visit(visit)),
            _ => {}
        }
    }

    /// Calls `exchange` for each handle in a value of this shape, to replace strings with resources or vice
    /// versa.
    pub(crate) fn exchange<E>(
        &self,
        value: &mut Val,
        exchange: &mut impl FnMut(&Handle, &mut Val) -> Result<(), E>,
    ) -> Result<(), E> {
        match (self, value) {
            (Self::Handle(handle), value) => exchange(handle, value),
            (Self::List(item, _), Val::List(values) | Val::FixedLengthList(values)) => {
                values.iter_mut().try_for_each(|value| item.exchange(value, exchange))
            }
            (Self::Map(key, item), Val::Map(entries)) => entries.iter_mut().try_for_each(|entry| {
                key.exchange(&mut entry.0, exchange)?;
                item.exchange(&mut entry.1, exchange)
            }),
            (Self::Record(fields), Val::Record(values)) => {
                let pairs = fields.iter().zip(values);
                pairs
                    .map(|(field, value)| (&field.shape, &mut value.1))
                    .try_for_each(|(shape, value)| shape.exchange(value, exchange))
            }
            (Self::Tuple(shapes), Val::Tuple(values)) => {
                shapes.iter().zip(values).try_for_each(|(shape, value)| shape.exchange(value, exchange))
            }
            (Self::Variant(cases), Val::Variant(name, Some(value))) => {
                let shape =
                    cases.iter().find(|(known, _)| known == name).and_then(|(_, shape)| shape.as_ref());
                shape.map_or(Ok(()), |shape| shape.exchange(value, exchange))
            }
            (Self::Option(some), Val::Option(Some(value))) => some.exchange(value, exchange),
            (Self::Result(Some(ok), _), Val::Result(Ok(Some(value)))) => ok.exchange(value, exchange),
            (Self::Result(_, Some(err)), Val::Result(Err(Some(value)))) => err.exchange(value, exchange),
            _ => Ok(()),
        }
    }
}

/// Returns `true` if the parameters or the result contain handles.
pub(crate) fn any_has_handles(fields: &[Field], result: Option<&Shape>) -> bool {
    fields.iter().map(|field| &field.shape).chain(result).any(Shape::has_handles)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::tests::component;
    use crate::{Function, Outcome};

    fn handle(name: &str, owned: bool) -> Handle {
        Handle { resource: 0, name: name.into(), owned }
    }

    #[test]
    fn a_handle_is_its_name_and_a_number_and_nothing_like_it() {
        let counter = handle("counter", true);
        assert_eq!(counter.written(7), "counter-7");
        assert_eq!(counter.number("counter-7"), Some(7));
        for other in [
            "counter",
            "counter-",
            "counter-07",
            "counter-+7",
            "counter--7",
            "counter-x-7",
            "Counter-7",
            "counter-7 ",
            "7",
        ] {
            assert_eq!(counter.number(other), None, "{other}");
        }
        assert_eq!(counter.number("counter-18446744073709551616"), None);
    }

    /// A component with its own resource and an imported one, which it also exports.
    const TEXT: &str = r#"(component
        (import "file" (type $file (sub resource)))
        (type $r (resource (rep i32)))
        (core func $new (canon resource.new $r))
        (core module $m
            (import "" "new" (func $new (param i32) (result i32)))
            (memory (export "m") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
            (func (export "make") (result i32) (call $new (i32.const 7)))
            (func (export "take") (param i32)) (func (export "two") (param i32 i32)))
        (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
        (export $counter "counter" (type $r))
        (export $handed-on "handed-on" (type $file))
        (func (export "make") (result (own $counter)) (canon lift (core func $i "make")))
        (func (export "take") (param "self" (own $counter)) (canon lift (core func $i "take")))
        (func (export "look") (param "self" (borrow $counter)) (canon lift (core func $i "take")))
        (func (export "all") (param "of" (list (borrow $counter)))
            (canon lift (core func $i "two") (memory (core memory $i "m")) (realloc (core func $i "realloc"))))
        (func (export "file") (param "self" (own $handed-on)) (canon lift (core func $i "take"))))"#;

    fn functions() -> Vec<(String, Result<Function, String>)> {
        let (engine, component) = component(TEXT);
        let ty = component.component_type();
        let resources = Resources::of(&ty, &engine);
        assert_eq!(resources.iter().count(), 1, "what is imported is not its own");
        let functions = ty.exports(&engine).filter_map(|(name, item)| match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                Some((name.to_owned(), Function::of(&ty, &resources).map_err(|error| error.to_string())))
            }
            _ => None,
        });
        functions.collect()
    }

    fn function(name: &str) -> Function {
        let found = functions().into_iter().find(|(found, _)| found == name);
        found.expect("a function").1.expect("that can be a tool")
    }

    #[test]
    fn resources_of_the_component_are_handles_and_imported_ones_are_not() {
        let (make, take, look) = (function("make"), function("take"), function("look"));
        assert!(make.gives_handles() && make.gives(0) && !make.gives(1));
        assert!(take.has_handles() && !take.gives_handles());
        assert_eq!(
            take.input_schema()["properties"]["self"],
            json!({
                "type": "string", "pattern": "^counter-[0-9]+$",
                "description": "A handle of type counter that another tool of this plugin gave, such as counter-1. \
                                This call takes it: it is gone afterwards.",
            })
        );
        let borrowed = look.input_schema();
        let described = borrowed["properties"]["self"]["description"].as_str().expect("a description");
        assert!(described.ends_with("such as counter-1."), "{described}");
        let refused = functions().into_iter().find_map(|(name, of)| (name == "file").then_some(of));
        assert_eq!(
            refused,
            Some(Err(
                "parameter self is a resource, which lives in the component and cannot be written as JSON"
                    .to_owned()
            ))
        );
    }

    fn arguments(of: &Value) -> Map<String, Value> {
        of.as_object().expect("an object").clone()
    }

    #[test]
    fn handles_are_exchanged_wherever_they_are() {
        let all = function("all");
        let mut values =
            all.arguments(&arguments(&json!({"of": ["counter-1", "counter-20"]}))).expect("values");
        let mut seen = Vec::new();
        let exchanged: Result<(), ()> = all.exchange_arguments(&mut values, |handle, value| {
            let Val::String(written) = value else { panic!("a text") };
            seen.push((handle.number(written), handle.owned));
            *value = Val::Bool(true);
            Ok(())
        });
        assert_eq!(exchanged, Ok(()));
        assert_eq!(seen, [(Some(1), false), (Some(20), false)]);
        assert_eq!(values, [Val::List(vec![Val::Bool(true), Val::Bool(true)])]);
        for wrong in [json!(["counter"]), json!([7]), json!(["parser-1"])] {
            let error = all.arguments(&arguments(&json!({ "of": wrong }))).expect_err("an error").to_string();
            assert!(error.starts_with("of[0]: expected a handle such as \"counter-1\", found "), "{error}");
        }
    }

    #[test]
    fn what_a_call_gave_is_its_handle() {
        let make = function("make");
        let mut results = [Val::Bool(true)];
        let exchanged: Result<(), ()> = make.exchange_results(&mut results, |handle, value| {
            *value = Val::String(handle.written(3));
            Ok(())
        });
        assert_eq!(exchanged, Ok(()));
        let expected =
            Outcome::Given { text: "counter-3".to_owned(), structured: Some(json!({"result": "counter-3"})) };
        assert_eq!(make.outcome(&results), Ok(expected));
    }

    #[test]
    fn handles_are_found_within_every_shape() {
        let inner = || Shape::Handle(handle("counter", true));
        let field = |shape| Field { name: "a".to_owned(), shape };
        let text = |written: &str| Val::String(written.to_owned());
        let boxed = |value: Val| Some(Box::new(value));
        for (shape, value) in [
            (Shape::List(Box::new(inner()), None), Val::List(vec![text("counter-1")])),
            (Shape::Option(Box::new(inner())), Val::Option(boxed(text("counter-1")))),
            (Shape::Record(vec![field(inner())]), Val::Record(vec![("a".to_owned(), text("counter-1"))])),
            (Shape::Tuple(vec![Shape::Bool, inner()]), Val::Tuple(vec![Val::Bool(true), text("counter-1")])),
            (
                Shape::Variant(vec![("a".to_owned(), Some(inner())), ("b".to_owned(), None)]),
                Val::Variant("a".to_owned(), boxed(text("counter-1"))),
            ),
            (
                Shape::Map(Box::new(Shape::Bool), Box::new(inner())),
                Val::Map(vec![(Val::Bool(true), text("counter-1"))]),
            ),
            (Shape::Result(Some(Box::new(inner())), None), Val::Result(Ok(boxed(text("counter-1"))))),
            (Shape::Result(None, Some(Box::new(inner()))), Val::Result(Err(boxed(text("counter-1"))))),
        ] {
            assert!(shape.has_handles(), "{shape:?}");
            let (mut value, mut count) = (value, 0);
            let exchanged: Result<(), ()> = shape.exchange(&mut value, &mut |_, _| {
                count += 1;
                Ok(())
            });
            assert_eq!((exchanged, count), (Ok(()), 1), "{shape:?}");
        }
        assert!(!Shape::List(Box::new(Shape::String), None).has_handles());
    }
}
