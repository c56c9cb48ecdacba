//! Round trips of arbitrary types and values, through schemas and through real components.

use std::fmt::Write as _;
use std::io::Read as _;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Val};

use crate::{Field, Function, Outcome, Path, Resources, Shape, Unmappable};

/// Panic message: handles are tested in their own module.
const NO_HANDLES: &str = "shapes are made without handles here";

fn names(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<String>> {
    btree_set("[a-z][a-z0-9]{0,6}", count).prop_map(|names| names.into_iter().collect())
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            Shape::Bool,
            Shape::S8,
            Shape::U8,
            Shape::S16,
            Shape::U16,
            Shape::S32,
            Shape::U32,
            Shape::S64,
            Shape::U64,
            Shape::F32,
            Shape::F64,
            Shape::Char,
            Shape::String,
            Shape::Bytes(None),
        ]),
        names(1..5).prop_map(Shape::Enum),
        names(1..5).prop_map(Shape::Flags),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let named = |least: usize| {
            names(least..4).prop_flat_map({
                let inner = inner.clone();
                move |names| {
                    let shapes = vec(inner.clone(), names.len());
                    (Just(names), shapes).prop_map(|(names, shapes)| names.into_iter().zip(shapes).collect())
                }
            })
        };
        prop_oneof![
            boxed().prop_map(|item| match *item {
                Shape::U8 => Shape::Bytes(None),
                _ => Shape::List(item, None),
            }),
            boxed().prop_map(Shape::Option),
            vec(inner.clone(), 1..4).prop_map(Shape::Tuple),
            named(1).prop_map(|fields: Vec<(String, Shape)>| {
                Shape::Record(fields.into_iter().map(|(name, shape)| Field { name, shape }).collect())
            }),
            (named(1), any::<u8>()).prop_map(|(cases, bare): (Vec<(String, Shape)>, _)| {
                let with_payload = |(index, (name, shape))| (name, (bare >> index & 1 == 0).then_some(shape));
                Shape::Variant(cases.into_iter().enumerate().map(with_payload).collect())
            }),
            (prop::option::of(boxed()), prop::option::of(boxed()))
                .prop_map(|(ok, err)| Shape::Result(ok, err)),
        ]
    })
}

fn value(shape: &Shape) -> BoxedStrategy<Val> {
    match shape {
        Shape::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Shape::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        Shape::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        Shape::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        Shape::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        Shape::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        Shape::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        Shape::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        Shape::U64 => any::<u64>().prop_map(Val::U64).boxed(),
        Shape::F32 => prop::num::f32::ANY.prop_map(Val::Float32).boxed(),
        Shape::F64 => prop::num::f64::ANY.prop_map(Val::Float64).boxed(),
        Shape::Char => any::<char>().prop_map(Val::Char).boxed(),
        Shape::String => any::<String>().prop_map(Val::String).boxed(),
        Shape::Bytes(None) => vec(value(&Shape::U8), 0..9).prop_map(Val::List).boxed(),
        Shape::Bytes(Some(length)) => {
            vec(value(&Shape::U8), *length as usize).prop_map(Val::FixedLengthList).boxed()
        }
        Shape::List(item, None) => vec(value(item), 0..4).prop_map(Val::List).boxed(),
        Shape::List(item, Some(length)) => {
            vec(value(item), *length as usize).prop_map(Val::FixedLengthList).boxed()
        }
        Shape::Map(key, item) => vec((value(key), value(item)), 0..4).prop_map(Val::Map).boxed(),
        Shape::Record(fields) => {
            let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
            let values: Vec<_> = fields.iter().map(|field| value(&field.shape)).collect();
            values.prop_map(move |values| Val::Record(names.iter().cloned().zip(values).collect())).boxed()
        }
        Shape::Tuple(items) => items.iter().map(value).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Shape::Variant(cases) => prop::sample::select(cases.clone())
            .prop_flat_map(|(name, payload)| match payload {
                None => Just(Val::Variant(name, None)).boxed(),
                Some(shape) => value(&shape)
                    .prop_map(move |value| Val::Variant(name.clone(), Some(Box::new(value))))
                    .boxed(),
            })
            .boxed(),
        Shape::Enum(names) => prop::sample::select(names.clone()).prop_map(Val::Enum).boxed(),
        Shape::Flags(names) => {
            prop::sample::subsequence(names.clone(), 0..=names.len()).prop_map(Val::Flags).boxed()
        }
        Shape::Option(some) => {
            prop::option::of(value(some)).prop_map(|some| Val::Option(some.map(Box::new))).boxed()
        }
        Shape::Result(ok, err) => {
            let side = |shape: &Option<Box<Shape>>| match shape {
                None => Just(None).boxed(),
                Some(shape) => value(shape).prop_map(|value| Some(Box::new(value))).boxed(),
            };
            prop_oneof![side(ok).prop_map(Ok), side(err).prop_map(Err)].prop_map(Val::Result).boxed()
        }
        Shape::Handle(_) => unreachable!("{NO_HANDLES}"),
    }
}

/// Compares values. All NaN values are equal here, since their bits are unspecified.
fn is_same(one: &Val, other: &Val) -> bool {
    let all = |ones: &[Val], others: &[Val]| {
        ones.len() == others.len() && ones.iter().zip(others).all(|(one, other)| is_same(one, other))
    };
    let payloads = |one: &Option<Box<Val>>, other: &Option<Box<Val>>| match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => is_same(one, other),
        _ => false,
    };
    match (one, other) {
        (Val::Float32(a), Val::Float32(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Val::Float64(a), Val::Float64(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Val::List(a), Val::List(b))
        | (Val::Tuple(a), Val::Tuple(b))
        | (Val::FixedLengthList(a), Val::FixedLengthList(b)) => all(a, b),
        (Val::Record(a), Val::Record(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && is_same(&a.1, &b.1))
        }
        (Val::Map(a), Val::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(&a.0, &b.0) && is_same(&a.1, &b.1))
        }
        (Val::Variant(a, one), Val::Variant(b, other)) => a == b && payloads(one, other),
        (Val::Option(one), Val::Option(other))
        | (Val::Result(Ok(one)), Val::Result(Ok(other)))
        | (Val::Result(Err(one)), Val::Result(Err(other))) => payloads(one, other),
        _ => one == other,
    }
}

fn shaped() -> impl Strategy<Value = (Shape, Val)> {
    shape().prop_flat_map(|shape| {
        let value = value(&shape);
        (Just(shape), value)
    })
}

/// Returns a type in the text format. Named types must be exported first and are appended to `definitions`.
fn wat_type(shape: &Shape, definitions: &mut String, count: &mut usize) -> String {
    let mut sub = |shape: &Shape| wat_type(shape, definitions, count);
    let quoted =
        |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" ");
    let (named, text) = match shape {
        Shape::Bool => (false, "bool".to_owned()),
        Shape::S8 => (false, "s8".to_owned()),
        Shape::U8 => (false, "u8".to_owned()),
        Shape::S16 => (false, "s16".to_owned()),
        Shape::U16 => (false, "u16".to_owned()),
        Shape::S32 => (false, "s32".to_owned()),
        Shape::U32 => (false, "u32".to_owned()),
        Shape::S64 => (false, "s64".to_owned()),
        Shape::U64 => (false, "u64".to_owned()),
        Shape::F32 => (false, "f32".to_owned()),
        Shape::F64 => (false, "f64".to_owned()),
        Shape::Char => (false, "char".to_owned()),
        Shape::String => (false, "string".to_owned()),
        Shape::Bytes(_) => (false, "(list u8)".to_owned()),
        Shape::List(item, _) => (false, format!("(list {})", sub(item))),
        Shape::Map(key, item) => (false, format!("(map {} {})", sub(key), sub(item))),
        Shape::Record(fields) => {
            let fields = fields.iter().map(|field| format!("(field {:?} {})", field.name, sub(&field.shape)));
            (true, format!("(record {})", fields.collect::<String>()))
        }
        Shape::Tuple(items) => {
            (false, format!("(tuple {})", items.iter().map(|i| sub(i) + " ").collect::<String>()))
        }
        Shape::Variant(cases) => {
            let cases = cases.iter().map(|(name, payload)| match payload {
                None => format!("(case {name:?})"),
                Some(shape) => format!("(case {name:?} {})", sub(shape)),
            });
            (true, format!("(variant {})", cases.collect::<String>()))
        }
        Shape::Enum(names) => (true, format!("(enum {})", quoted(names))),
        Shape::Flags(names) => (true, format!("(flags {})", quoted(names))),
        Shape::Option(some) => (false, format!("(option {})", sub(some))),
        Shape::Result(ok, err) => {
            let ok = ok.as_ref().map(|shape| sub(shape)).unwrap_or_default();
            let err = err.as_ref().map(|shape| format!("(error {})", sub(shape))).unwrap_or_default();
            (false, format!("(result {ok} {err})"))
        }
        Shape::Handle(_) => unreachable!("{NO_HANDLES}"),
    };
    if !named {
        return text;
    }
    *count += 1;
    let number = *count;
    let _ = writeln!(
        definitions,
        "(type $t{number} {text}) (import \"type{number}\" (type $e{number} (eq $t{number})))"
    );
    format!("$e{number}")
}

/// Compiles a component.
pub(crate) fn component(text: &str) -> (Engine, Component) {
    let engine = Engine::new(&scorpiox_component_abi::engine::config()).expect("an engine");
    let component = wat::parse_str(text).expect("a component");
    let mut code = scorpiox_runtime::compile::compile(&component, || false).expect("compiles");
    let mut bytes = Vec::new();
    code.read().and_then(|code| code.read_to_end(&mut bytes)).expect("code");
    // SAFETY: `scorpiox_runtime::compile::compile` produced these bytes a moment ago.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize(&engine, bytes) }.expect("loads");
    (engine, component)
}

/// Returns the imports of a component as functions.
fn functions(text: &str) -> Vec<Result<Function, Unmappable>> {
    let (engine, component) = component(text);
    let imports = component.component_type();
    let imports = imports.imports(&engine).filter_map(|(_, found)| match found.ty {
        ComponentItem::ComponentFunc(ty) => Some(Function::of(&ty, &Resources::none())),
        _ => None,
    });
    imports.collect()
}

/// Returns functions of a component whose parameter and result have these shapes.
fn reflected(shapes: &[Shape]) -> Vec<Function> {
    let mut text = String::new();
    let mut count = 0;
    for (number, shape) in shapes.iter().enumerate() {
        let mut definitions = String::new();
        let ty = wat_type(shape, &mut definitions, &mut count);
        let _ = writeln!(
            text,
            "{definitions} (import \"f{number}\" (func (param \"value\" {ty}) (result {ty})))"
        );
    }
    let functions = functions(&format!("(component {text})"));
    functions.into_iter().map(|function| function.expect("a function")).collect()
}

proptest! {
    #[test]
    fn values_survive_json((shape, value) in shaped()) {
        let json = shape.write(&value).expect("a value of the shape");
        // As a client receives and returns it.
        let json: Value = serde_json::from_str(&json.to_string()).expect("JSON");
        let back = shape.read(&json, Path::Root).expect("what was written can be read");
        prop_assert!(is_same(&value, &back), "{shape:?}: {value:?}, {json}, {back:?}");
    }

    #[test]
    fn any_json_is_read_or_refused_with_a_place(shape in shape(), (_, other) in shaped(), text in ".{0,40}") {
        let junk = [Value::Null, json!(1.5), json!([[]]), json!({"some": null}), json!({"ok": 1, "err": 2}), text.into()];
        for value in junk {
            if let Err(error) = shape.read(&value, Path::Member(&Path::Root, "value")) {
                prop_assert!(error.to_string().starts_with("value"), "{}", error);
            }
        }
        let _ = shape.write(&other);
    }

}

proptest! {
    // Each case runs the compiler, which takes as long for one shape as for many.
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn a_components_types_are_read_as_they_are(shapes in vec(shape(), 100)) {
        let expected: Vec<_> = shapes
            .iter()
            .map(|shape| Function::new(vec![field("value", shape.clone())], Some(shape.clone())))
            .collect();
        prop_assert_eq!(reflected(&shapes), expected);
    }
}

fn read(shape: &Shape, value: &Value) -> String {
    match shape.read(value, Path::Member(&Path::Root, "x")) {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn integers_are_exact_in_every_client() {
    let written = |value| Shape::U64.write(&Val::U64(value)).expect("a value");
    assert_eq!(written((1 << 53) - 1), json!(9_007_199_254_740_991_u64));
    assert_eq!(written(1 << 53), json!("9007199254740992"));
    assert_eq!(written(u64::MAX), json!("18446744073709551615"));
    assert_eq!(read(&Shape::U64, &json!(u64::MAX)), "U64(18446744073709551615)");
    assert_eq!(read(&Shape::S64, &json!("-9223372036854775808")), "S64(-9223372036854775808)");
    // Clients without an integer type send such numbers.
    assert_eq!(read(&Shape::U8, &json!(3.0)), "U8(3)");
}

#[test]
fn what_does_not_fit_is_named() {
    let cases = [
        (Shape::U8, json!(256), "x: expected an integer from 0 to 255, found 256"),
        (Shape::U8, json!(-1), "x: expected an integer from 0 to 255, found -1"),
        (Shape::S32, json!(1.5), "x: expected an integer from -2147483648 to 2147483647, found 1.5"),
        (Shape::U64, json!("12e3"), r#"x: expected an integer from 0 to 18446744073709551615, found "12e3""#),
        (
            Shape::F32,
            json!(1e300),
            r#"x: expected a number of single precision, "NaN", "Infinity" or "-Infinity", found 1e+300"#,
        ),
        (Shape::Char, json!("ab"), r#"x: expected a text of one character, found "ab""#),
        (
            Shape::List(Box::new(Shape::Tuple(vec![Shape::Bool, Shape::String])), None),
            json!([[true, "a"], [true, 7]]),
            "x[1][1]: expected a text, found 7",
        ),
        (Shape::Bytes(None), json!([1, 256]), "x: expected bytes in base64, found [1,256]"),
        (Shape::Bytes(None), json!([1, "a"]), r#"x: expected bytes in base64, found [1,"a"]"#),
        (Shape::Bytes(Some(3)), json!([1, 2]), "x: expected 3 bytes in base64, found [1,2]"),
        (Shape::Bytes(None), json!("a!"), r#"x: expected bytes in base64, found "a!""#),
        (Shape::Bytes(Some(3)), json!("aGk="), r#"x: expected 3 bytes in base64, found "aGk=""#),
        (
            Shape::Enum(vec!["red".into(), "blue".into()]),
            json!("green"),
            r#"x: expected one of red, blue, found "green""#,
        ),
        (
            Shape::Variant(vec![("all".into(), None), ("some".into(), Some(Shape::U8))]),
            json!({ "all": 1 }),
            r#"x: expected one of "all", {"some": …}, found {"all":1}"#,
        ),
        (
            Shape::Option(Box::new(Shape::Option(Box::new(Shape::U8)))),
            json!(3),
            r#"x: expected null or {"some": null or an integer from 0 to 255}, found 3"#,
        ),
    ];
    for (shape, value, expected) in cases {
        assert_eq!(read(&shape, &value), expected);
    }
}

#[test]
fn bytes_are_base64_with_padding_or_without() {
    let bytes = Val::List(b"hi".iter().copied().map(Val::U8).collect());
    assert_eq!(Shape::Bytes(None).write(&bytes).expect("a value"), json!("aGk="));
    assert_eq!(
        Shape::Bytes(None).read(&json!([104, 105]), Path::Root),
        Ok(bytes.clone()),
        "an array as well"
    );
    for text in ["aGk=", "aGk"] {
        assert_eq!(Shape::Bytes(None).read(&json!(text), Path::Root), Ok(bytes.clone()));
    }
    assert_eq!(
        Shape::Bytes(Some(32)).schema(),
        json!({"type": "string", "contentEncoding": "base64", "maxLength": 44})
    );
}

#[test]
fn a_text_of_an_object_or_array_is_that_value_at_each_depth() {
    let tags = Shape::List(Box::new(Shape::String), None);
    let inner =
        Shape::Record(vec![field("tags", tags), field("note", Shape::Option(Box::new(Shape::String)))]);
    let cases = vec![("all".to_owned(), None), ("some".to_owned(), Some(inner.clone()))];
    let outer = Shape::Record(vec![
        field("filter", Shape::Option(Box::new(inner))),
        field("choice", Shape::Variant(cases)),
        field("bytes", Shape::Bytes(None)),
        field("text", Shape::String),
    ]);
    let plain = json!({
        "filter": {"tags": ["a", "{"], "note": "[1]"},
        "choice": {"some": {"tags": []}},
        "bytes": [104, 105],
        "text": "{}",
    });
    let as_texts = json!({
        "filter": json!({"tags": json!(["a", "{"]).to_string(), "note": "[1]"}).to_string(),
        "choice": format!("\n {}", json!({"some": json!({"tags": "[]"}).to_string()})),
        "bytes": "[104, 105]",
        "text": "{}",
    });
    assert_eq!(read(&outer, &as_texts), read(&outer, &plain));
    assert_eq!(read(&outer, &json!(as_texts.to_string())), read(&outer, &plain));
    let wrong = json!({"filter": "{\"tags\": [7]}", "choice": "all", "bytes": "", "text": ""});
    assert_eq!(read(&outer, &wrong), "x.filter.tags[0]: expected a text, found 7");
    for text in ["{", "{} x", "[]", "7", "null", "\"{}\""] {
        let wrong = json!({"filter": text, "choice": "all", "bytes": "", "text": ""});
        let told = read(&outer, &wrong);
        assert!(
            told.starts_with("x.filter: expected an object with the members tags, note, found"),
            "{told}"
        );
    }
}

fn field(name: &str, shape: Shape) -> Field {
    Field { name: name.to_owned(), shape }
}

fn arguments(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn parameters_are_members_and_options_may_be_left_out() {
    let point =
        Shape::Record(vec![field("x", Shape::S32), field("label", Shape::Option(Box::new(Shape::String)))]);
    let function =
        Function::new(vec![field("at", point), field("deep", Shape::Option(Box::new(Shape::Bool)))], None);
    assert_eq!(function.input_schema()["required"], json!(["at"]));
    let values = function.arguments(&arguments(&json!({"at": {"x": 4}}))).expect("arguments");
    assert_eq!(values[1], Val::Option(None));
    let error = |value: Value| function.arguments(&arguments(&value)).expect_err("an error").to_string();
    assert_eq!(error(json!({})), "at is missing: expected an object with the members x, label");
    assert_eq!(error(json!({"at": {"x": 1, "y": 2}})), "at.y is not known; expected x, label");
    assert_eq!(error(json!({"at": {"x": 1}, "att": 2})), "att is not known; expected at, deep");
    assert_eq!(error(json!({"at": {"x": 1, "label": 3}})), "at.label: expected a text, found 3");
}

#[test]
fn a_result_is_the_tools_own() {
    let result = Shape::Result(Some(Box::new(Shape::U32)), Some(Box::new(Shape::String)));
    let function = Function::new(Vec::new(), Some(result));
    let ok = Val::Result(Ok(Some(Box::new(Val::U32(7)))));
    let given = Outcome::Given { text: "7".to_owned(), structured: Some(json!({"result": 7})) };
    assert_eq!(function.outcome(&[ok]), Ok(given));
    let err = Val::Result(Err(Some(Box::new(Val::String("no such file".to_owned())))));
    assert_eq!(function.outcome(&[err]), Ok(Outcome::Refused(Some("no such file".to_owned()))));
    let silent = Function::new(Vec::new(), Some(Shape::Result(None, None)));
    assert_eq!(silent.outcome(&[Val::Result(Err(None))]), Ok(Outcome::Refused(None)));
    assert_eq!(function.output_schema().expect("a schema")["required"], json!(["result"]));
    let nothing = Function::new(Vec::new(), None);
    assert_eq!(nothing.outcome(&[]), Ok(Outcome::Given { text: "Done.".to_owned(), structured: None }));
    let record = Function::new(Vec::new(), Some(Shape::Record(vec![field("name", Shape::String)])));
    let value = Val::Record(vec![("name".to_owned(), Val::String("a".to_owned()))]);
    let Ok(Outcome::Given { structured, .. }) = record.outcome(&[value]) else { panic!("a result") };
    assert_eq!(structured, Some(json!({"name": "a"})));
}

#[test]
fn a_resource_makes_no_tool_and_says_where_it_is() {
    let text = r#"(component (import "r" (type $r (sub resource)))
        (import "f" (func (param "a" u8) (param "b" (list (own $r))))))"#;
    let errors: Vec<_> =
        functions(text).into_iter().map(|function| function.expect_err("an error").to_string()).collect();
    assert_eq!(
        errors,
        ["parameter b[] is a resource, which lives in the component and cannot be written as JSON"]
    );
}

/// Returns type definitions that are numbered from 1.
fn types(times: usize, of: impl Fn(usize) -> String) -> String {
    let types: Vec<_> = (1..=times).map(|n| format!("(type $t{n} {})", of(n))).collect();
    types.concat()
}

#[test]
fn types_that_grow_from_few_bytes_make_no_tool() {
    // Each type is twice as large as the preceding one.
    let doubled = |times: usize| {
        let types = types(times, |n| format!("(tuple $t{} $t{})", n - 1, n - 1));
        format!("(component (type $t0 (tuple u8 u8)) {types} (import \"f\" (func (param \"a\" $t{times}))))")
    };
    assert!(functions(&doubled(9))[0].is_ok());
    let large = functions(&doubled(14)).remove(0).expect_err("an error");
    assert_eq!(large.to_string(), "its types have more than 4096 parts in all");

    let nested = |times: usize| {
        let types = types(times, |n| format!("(list $t{})", n - 1));
        format!("(component (type $t0 (list u8)) {types} (import \"f\" (func (param \"a\" $t{times}))))")
    };
    assert!(functions(&nested(60))[0].is_ok());
    let deep = functions(&nested(80)).remove(0).expect_err("an error");
    assert_eq!(deep.to_string(), "its types are nested deeper than 64 levels");
}

#[test]
fn bytes_are_taken_from_a_result_that_succeeded_and_from_no_other() {
    let bytes = Val::List(vec![Val::U8(1), Val::U8(255)]);
    let plain = Function::new(Vec::new(), Some(Shape::Bytes(None)));
    assert!(plain.gives_bytes());
    assert_eq!(plain.bytes(std::slice::from_ref(&bytes)), Some(vec![1, 255]));
    let fallible = Shape::Result(Some(Box::new(Shape::Bytes(None))), Some(Box::new(Shape::Bytes(None))));
    let fallible = Function::new(Vec::new(), Some(fallible));
    assert!(fallible.gives_bytes());
    let ok = Val::Result(Ok(Some(Box::new(bytes.clone()))));
    assert_eq!(fallible.bytes(&[ok]), Some(vec![1, 255]));
    let err = Val::Result(Err(Some(Box::new(bytes))));
    assert_eq!(fallible.bytes(&[err]), None);
    assert!(!Function::new(Vec::new(), Some(Shape::String)).gives_bytes());
    assert!(!Function::new(Vec::new(), None).gives_bytes());
}
