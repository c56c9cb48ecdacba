//! Tests of component functions as tools: values of all types make the round trip without loss.

use serde_json::{Value, json};

use super::{listed, refused, with_kinds};

#[test]
fn every_function_that_json_can_call_is_a_tool() {
    let (program, mut server) = with_kinds("");
    let names = listed(&mut server);
    for name in ["kinds.divide", "kinds.echo.integers", "kinds.hostile.spin"] {
        assert!(names.iter().any(|known| known == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("deep")), "{names:?}");
    let (_, shown, _) = program.run(&["plugin", "show", "kinds"]);
    assert!(
        shown.contains("vast.deep cannot be a tool: its types are nested deeper than 64 levels"),
        "{shown}"
    );
    let list = server.ask("tools/list", json!({}));
    let tool = list["result"]["tools"]
        .as_array()
        .and_then(|tools| tools.iter().find(|tool| tool["name"] == "kinds.divide"));
    let schema = &tool.expect("the tool")["inputSchema"];
    assert_eq!(schema["required"], json!(["a", "b"]));
    assert_eq!(schema["properties"]["a"]["maximum"], json!(u64::MAX));
}

#[test]
fn arguments_that_take_much_more_memory_than_their_text_are_refused() {
    let (_program, mut server) = with_kinds("");
    let points = json!({ "value": vec![json!({"x": 0, "y": 0}); 195_000] });
    let result = server.call("kinds.echo.points", points);
    let text = refused(&result);
    assert!(text.contains("the arguments take more than 128 MiB of memory"), "{text}");
    let result = server.call("kinds.echo.points", json!({ "value": vec![json!({"x": 0, "y": 0}); 1000] }));
    assert_ne!(result["isError"], true, "{result}");
}

#[test]
fn values_of_every_type_come_back_as_they_were_sent() {
    let (_program, mut server) = with_kinds("");
    let mut echo = |function: &str, arguments: Value| {
        let result = server.call(&format!("kinds.echo.{function}"), arguments);
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"]["result"].clone()
    };
    let most = json!({
        "a": 255, "b": -128, "c": 65535, "d": -32768, "e": u32::MAX, "f": i32::MIN,
        "g": "18446744073709551615", "h": "-9223372036854775808"
    });
    let expected =
        json!([255, -128, 65535, -32768, u32::MAX, i32::MIN, "18446744073709551615", "-9223372036854775808"]);
    assert_eq!(echo("integers", most), expected);
    assert_eq!(
        echo("floats", json!({"a": 0.1, "b": 1.102_329_406_862_357_3e266})),
        json!([0.1, 1.102_329_406_862_357_3e266])
    );
    assert_eq!(echo("floats", json!({"a": "NaN", "b": "-Infinity"})), json!(["NaN", "-Infinity"]));
    for (function, value) in [
        ("text", json!("Grüße, 世界 🦀\u{0}\n")),
        ("letter", json!("🦀")),
        ("truth", json!(true)),
        ("points", json!([{"x": 1, "y": -2}, {"x": 0, "y": 0, "label": "a"}])),
        ("figure", json!("nothing")),
        ("figure", json!({"circle": 2.5})),
        ("figure", json!({"polygon": [{"x": 1, "y": 1}]})),
        ("hue", json!("green")),
        ("granted", json!(["read", "execute"])),
        ("nested", json!({"some": 7})),
        ("nested", json!({"some": null})),
    ] {
        assert_eq!(echo(function, json!({ "value": value })), value, "{function}");
    }
    assert_eq!(echo("nested", json!({})), Value::Null);
    assert_eq!(echo("outcome", json!({"value": {"err": "no"}})), json!([{"err": "no"}]));
}

#[test]
fn what_does_not_fit_is_named_by_its_path() {
    let (_program, mut server) = with_kinds("");
    let mut error = |tool: &str, arguments: Value| refused(&server.call(tool, arguments)).to_owned();
    assert_eq!(
        error("kinds.echo.points", json!({"value": [{"x": 1, "y": 1}, {"x": 1, "y": "2.5"}]})),
        "value[1].y: expected an integer from -2147483648 to 2147483647, found \"2.5\"."
    );
    assert_eq!(
        error("kinds.divide", json!({"a": 1})),
        "b is missing: expected an integer from 0 to 18446744073709551615."
    );
    assert_eq!(error("kinds.divide", json!({"a": 1, "b": 2, "c": 3})), "c is not known; expected a, b.");
    assert_eq!(
        error("kinds.echo.hue", json!({"value": "pink"})),
        "value: expected one of red, green, blue, found \"pink\"."
    );
}

#[test]
fn an_error_of_the_function_is_an_error_of_the_tool() {
    let (_program, mut server) = with_kinds("");
    let result = server.call("kinds.divide", json!({"a": "18446744073709551615", "b": 5}));
    assert_eq!(result["structuredContent"], json!({"result": "3689348814741910323"}));
    assert_eq!(result["content"][0]["text"], "3689348814741910323");
    let result = server.call("kinds.divide", json!({"a": 3, "b": 0}));
    assert_eq!(refused(&result), "3 cannot be divided by 0");
}
