//! Measures third-party components: calls by reflection, and the cost of loading.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::measure::{Lane, median, rates, times};
use crate::requests::{Requests, call};
use crate::server::Program;
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

const RING: usize = 1024;
/// Returns the path of a component that `make test-components` built.
fn component(name: &str) -> Result<PathBuf> {
    let folder = std::env::var_os("BENCH_COMPONENTS").context("BENCH_COMPONENTS is not set")?;
    let path = Path::new(&folder).join(format!("{name}.component.wasm"));
    path.canonicalize().with_context(|| format!("{} is missing; run `make test-components`", path.display()))
}

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let plugins = &programs.plugins;
    let compiled = plugins.install(&component("kinds")?)?;
    plugins.install(&component("outsider")?)?;
    let mut rows = calls(programs, effort)?;
    rows.push(load(plugins, effort)?);
    let bytes = fs::metadata(component("kinds")?)?.len() / 1024;
    let figure = format!("plugin add: compiling a component of {bytes} KiB");
    rows.push(Row::ours(figure, Unit::Seconds, compiled, Target::None));
    Ok(rows)
}

fn calls(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for program in [&programs.floor, &programs.rmcp, &programs.plugins] {
        servers.push(program.start()?.0);
    }
    let [floor, rmcp, ours] = [0, 1, 2];
    let lane = |server, tool: &str, arguments: &str, expected, amount| {
        let requests = Requests::repeat(RING, &call(tool, arguments), expected);
        Lane { server, requests, amount }
    };
    let hello = r#"{"text":"hello"}"#;
    let echo = || lane(ours, "kinds.echo.text", r#"{"value":"hello"}"#, "\"text\":\"hello\"", 500);
    let mut lanes = [
        lane(floor, "echo", hello, "\"text\":\"hello\"", 500),
        lane(rmcp, "echo", hello, "\"text\":\"hello\"", 500),
        echo(),
        lane(ours, "outsider.folders", "{}", "\"isError\":false", 250),
    ];
    let [at_floor, at_rmcp, reflected, wasi] = times(&mut servers, &mut lanes, effort.rounds)?;
    let mut lanes = [
        lane(floor, "echo", hello, "\"text\":\"hello\"", 2000),
        lane(rmcp, "echo", hello, "\"text\":\"hello\"", 2000),
        echo(),
    ];
    let many = rates(&mut servers, &mut lanes, effort.rounds.div_ceil(2))?;
    for server in servers {
        server.close()?;
    }
    let row =
        |figure, time, target| Row::side_by_side(figure, Unit::Seconds, [at_floor, at_rmcp, time], target);
    Ok(vec![
        row("plugin: echo of a component, by reflection", reflected, Target::TimesRmcp(0.6)),
        row("plugin with WASI, on a fiber", wasi, Target::None),
        Row::side_by_side("64 in flight, plugin: echo of a component", Unit::PerSecond, many, Target::None),
    ])
}

/// Measures the first call of a plugin in a server that has already called another component, minus the time
/// of the second call.
fn load(plugins: &Program, effort: Effort) -> Result<Row> {
    let mut loads = Vec::new();
    for _ in 0..effort.sessions {
        let (mut server, _) = plugins.start()?;
        let mut warm = Requests::repeat(1, &call("PlanMode", r#"{"action":"status"}"#), "not active");
        server.exchange(warm.take(1))?;
        let mut echo =
            Requests::repeat(2, &call("kinds.echo.text", r#"{"value":"hello"}"#), "\"text\":\"hello\"");
        let mut timed = || -> Result<f64> {
            let begin = Instant::now();
            let answer = server.exchange(echo.take(1))?;
            let time = begin.elapsed();
            let text = String::from_utf8_lossy(answer);
            ensure!(text.contains("hello"), "no echo: {text}");
            Ok(time.as_secs_f64())
        };
        let (first, second) = (timed()?, timed()?);
        loads.push(first - second);
        server.close()?;
    }
    Ok(Row::ours(
        "plugin: load of compiled code, at its first call",
        Unit::Seconds,
        median(loads),
        Target::AtMost(2e-3),
    ))
}
