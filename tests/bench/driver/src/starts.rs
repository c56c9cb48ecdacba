//! Measures starts, memory and exits.

use anyhow::Result;

use crate::measure::median;
use crate::requests::{Requests, call};
use crate::server::{Program, Server};
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

const MB: f64 = 1024.0 * 1024.0;

/// Medians of the floor, rmcp and our server.
type Three = [f64; 3];

pub struct Starts {
    initialized: Three,
    listed: Three,
    /// Our server's list after the skill has changed.
    listed_anew: f64,
    ended: Three,
    first_memory: Three,
    memory: Three,
    /// Our server's memory after one call of each sandboxed tool.
    memory_after_tools: f64,
    ended_after_tools: f64,
}

/// Samples of one program over several runs.
#[derive(Default)]
struct Samples {
    initialized: Vec<f64>,
    listed: Vec<f64>,
    ended: Vec<f64>,
    first_memory: Vec<f64>,
    memory: Vec<f64>,
}

impl Samples {
    /// Starts a server, runs `work` with it, and stops it.
    fn run(&mut self, program: &Program, work: impl FnOnce(&mut Server) -> Result<()>) -> Result<()> {
        let (mut server, times) = program.start()?;
        work(&mut server)?;
        self.initialized.push(times.initialized.as_secs_f64());
        self.listed.push(times.listed.as_secs_f64());
        self.first_memory.push(times.memory);
        self.memory.push(server.peak_memory()?);
        self.ended.push(server.close()?.as_secs_f64());
        Ok(())
    }
}

pub fn measure(programs: &Programs, effort: Effort) -> Result<Starts> {
    let all = [&programs.floor, &programs.rmcp, &programs.ours];
    let mut samples: [Samples; 3] = std::array::from_fn(|_| Samples::default());
    for program in all {
        Samples::default().run(program, |_| Ok(()))?;
    }
    for _ in 0..effort.starts {
        for (program, samples) in all.into_iter().zip(&mut samples) {
            samples.run(program, |_| Ok(()))?;
        }
    }
    let mut anew = Samples::default();
    for _ in 0..effort.sessions {
        programs.ours.write_skill()?;
        anew.run(&programs.ours, |_| Ok(()))?;
    }
    let mut sessions = Samples::default();
    for _ in 0..effort.sessions {
        sessions.run(&programs.ours, call_each_tool)?;
    }
    Ok(Starts {
        initialized: samples.each_ref().map(|samples| median(samples.initialized.clone())),
        listed: samples.each_ref().map(|samples| median(samples.listed.clone())),
        listed_anew: median(anew.listed),
        ended: samples.each_ref().map(|samples| median(samples.ended.clone())),
        first_memory: samples.each_ref().map(|samples| median(samples.first_memory.clone())),
        memory: samples.each_ref().map(|samples| median(samples.memory.clone())),
        memory_after_tools: median(sessions.memory),
        ended_after_tools: median(sessions.ended),
    })
}

fn call_each_tool(server: &mut Server) -> Result<()> {
    let calls = [
        ("PlanMode", r#"{"action":"status"}"#, "not active"),
        (
            "TaskManager",
            r#"{"action":"create","query":"","text":"Measure the memory"}"#,
            "Measure the memory",
        ),
        ("SetCallback", r#"{"action":"list"}"#, "\"isError\":false"),
        ("InvokeSkill", r#"{"skill_name":"greet","arguments":"to all"}"#, "Say hello to to all"),
    ];
    for (tool, arguments, expected) in calls {
        let mut requests = Requests::repeat(1, &call(tool, arguments), expected);
        let answer = server.exchange(requests.take(1))?;
        requests.check_last(answer)?;
    }
    Ok(())
}

impl Starts {
    pub fn start_rows(&self) -> Vec<Row> {
        vec![
            Row::side_by_side(
                "spawn -> initialize answered",
                Unit::Seconds,
                self.initialized,
                Target::TimesRmcp(1.2),
            ),
            Row::side_by_side(
                "spawn -> initialize and tools/list answered",
                Unit::Seconds,
                self.listed,
                Target::TimesRmcp(1.5),
            ),
            Row::ours(
                "the same, where the skill has just changed",
                Unit::Seconds,
                self.listed_anew,
                Target::None,
            ),
        ]
    }

    pub fn memory_and_end_rows(&self) -> Vec<Row> {
        let gone = Target::AtMost(3e-3);
        let small = Target::AtMost(12.0 * MB);
        vec![
            Row::side_by_side("peak RSS, handshake", Unit::Bytes, self.first_memory, small),
            Row::side_by_side("peak RSS, tools listed with a skill", Unit::Bytes, self.memory, small),
            Row::ours(
                "peak RSS, each sandboxed tool ran once",
                Unit::Bytes,
                self.memory_after_tools,
                Target::AtMost(24.0 * MB),
            ),
            Row::side_by_side("stdin end -> process gone, handshake", Unit::Seconds, self.ended, gone),
            Row::ours(
                "stdin end -> process gone, each sandboxed tool ran once",
                Unit::Seconds,
                self.ended_after_tools,
                gone,
            ),
        ]
    }
}
