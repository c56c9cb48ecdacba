//! Runs one command in a cell, for manual tests: `cell HELPER TIER WORKSPACE COMMAND`, where HELPER is the
//! program `scorpiox-cell`.

use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

use scorpiox_sandbox::{
    Access, Cell, CellSpec, CommandSpec, Exposed, Granted, Happened, Helper, Limits, Network, Tier,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, helper, tier, workspace, command] = &arguments[..] else {
        eprintln!("usage: cell HELPER TIER WORKSPACE COMMAND");
        return ExitCode::FAILURE;
    };
    let Some(tier) = [Tier::T1, Tier::T1b, Tier::T2].into_iter().find(|known| known.name() == tier) else {
        eprintln!("tier {tier}: not T1, T1b or T2");
        return ExitCode::FAILURE;
    };
    match run(Path::new(helper), tier, Path::new(workspace), command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(helper: &Path, tier: Tier, workspace: &Path, command: &str) -> Result<(), Box<dyn std::error::Error>> {
    let workspace = workspace.canonicalize()?;
    let scratch = std::env::temp_dir().join(format!("cell-{}", std::process::id()));
    std::fs::create_dir(&scratch)?;
    let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64"].map(Path::new);
    let folders = system.into_iter().filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()));
    let mut exposed: Vec<_> = folders.map(|path| Exposed { path: path.into(), write: false }).collect();
    exposed.push(Exposed { path: workspace.as_path().into(), write: true });
    let home = if tier == Tier::T2 { scratch.as_path() } else { Path::new("/home/user") };
    let spec = CellSpec {
        tier,
        workspace: workspace.as_path().into(),
        exposed,
        home: home.into(),
        scratch: scratch.as_path().into(),
        home_links: Vec::new(),
        home_files: Vec::new(),
        stand_ins: Vec::new(),
        tmp_bytes: 1 << 30,
        network: Network::Off,
        ssh_config: None,
        local: Vec::new(),
        landlock_at_most: None,
    };
    let cell = Cell::build(&Helper { image: std::fs::read(helper)?.leak() }, &spec)?;
    let mut running = cell.run(
        CommandSpec {
            command: command.to_owned(),
            environment: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), home.display().to_string()),
            ],
            timeout_ms: Some(30_000),
            limits: Limits { processes: 512, memory: 4 << 30, open_files: 4096, file_size: 16 << 30 },
            covers: Vec::new(),
            absent_names: Vec::new(),
            packages: Vec::new(),
            areas: vec![Exposed { path: workspace.as_path().into(), write: true }],
            granted: vec![Granted { path: workspace.as_path().into(), access: Access::Write }],
            changed: None,
            publishes: false,
            source: None,
        },
        None,
        None,
    )?;
    running.wait_until_started()?;
    loop {
        match running.next(None, None)? {
            Happened::Output(bytes) => stdout().write_all(bytes)?,
            Happened::Nothing => {}
            Happened::Done(outcome) => {
                eprintln!("{outcome:?}");
                return Ok(());
            }
        }
    }
}
