//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

use crate::{Timers, Waiting};

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:set-callback;
        world set-callback {
            import scorpiox:tool/store@0.1.0;
            import scorpiox:tool/clock@0.1.0;
            import scorpiox:tool/timer@0.1.0;
            export scorpiox:tool/tool@0.1.0;
            export scorpiox:tool/timer-handler@0.1.0;
        }
    ",
});

kit::bridge_tool!();
kit::bridge_store!();

use exports::scorpiox::tool::timer_handler::Delivery;
use scorpiox::tool::timer;

struct SetCallback;

impl From<timer::Error> for kit::Failure {
    fn from(error: timer::Error) -> Self {
        let timer::Error::Unavailable(why) = error;
        kit::StoreError::Unavailable(why).into()
    }
}

impl Timers for HostStore {
    fn arm(&mut self, id: u32, due: u64) -> Result<(), kit::Failure> {
        Ok(timer::arm(id, due)?)
    }

    fn disarm(&mut self, id: u32) -> Result<(), kit::Failure> {
        Ok(timer::disarm(id)?)
    }

    fn undelivered(&mut self, limit: u32) -> Result<Vec<Waiting>, kit::Failure> {
        let waiting = |m: timer::Message| Waiting { timer: m.timer, fired_at: m.fired_at, text: m.text };
        Ok(timer::undelivered(limit)?.into_iter().map(waiting).collect())
    }
}

impl exports::scorpiox::tool::tool::Guest for SetCallback {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostStore, clock::now(), &arguments))
    }
}

impl exports::scorpiox::tool::timer_handler::Guest for SetCallback {
    fn fire(id: u32, due: u64, now: u64) -> Result<Option<Delivery>, ToolError> {
        match crate::fire(&mut HostStore, id, due, now) {
            Ok(text) => Ok(text.map(|text| Delivery { text })),
            Err(failure) => Err(tool_error(failure)),
        }
    }
}

export!(SetCallback);
