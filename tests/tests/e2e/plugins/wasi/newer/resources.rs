//! Tests of resources of a WASI 0.3 component: they survive between calls, unless a call left a task running.

use scorpiox_tests::Program;
use serde_json::json;

use super::{newer, try_to};

#[test]
fn a_resource_lives_until_a_call_leaves_something_running() {
    let (_program, mut server) = newer(Program::new(), "[capabilities.clock]\nwhy = \"waits\"\n");
    let mut go = |function: &str, arguments| try_to(&mut server, function, arguments);
    let made = |text: &str| json!({ "text": text });
    assert_eq!(go("jars.jar.new", made("honey")), Ok(json!("jar-1")));
    let jar = |number: u32| json!({ "self": format!("jar-{number}") });
    assert_eq!(go("jars.jar.text", jar(1)), Ok(json!("honey")));
    assert_eq!(go("jars.jar.text", jar(1)), Ok(json!("honey")));
    assert_eq!(go("jars.jar.bytes", json!({ "self": "jar-1", "count": 3 })), Ok(json!("YWFh")));
    assert_eq!(go("jars.jar.linger", json!({ "self": "jar-1", "how": "nothing" })), Ok(json!("honey")));
    assert_eq!(go("jars.jar.text", jar(1)), Ok(json!("honey")), "nothing was left");
    for how in ["waits", "traps"] {
        let number = if how == "waits" { 1 } else { 2 };
        let lingers = json!({ "self": format!("jar-{number}"), "how": how });
        assert_eq!(go("jars.jar.linger", lingers), Ok(json!("honey")), "a result that was given stays");
        let gone = go("jars.jar.text", jar(number)).expect_err("gone");
        assert!(
            gone.contains("its instance ended with a call of jars.jar.linger that left something behind"),
            "{gone}"
        );
        assert_eq!(go("jars.jar.new", made("honey")), Ok(json!(format!("jar-{}", number + 1))));
    }
    assert_eq!(go("jars.jar.drop", jar(3)), Ok(json!(null)));
}
