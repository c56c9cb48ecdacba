//! Runs one command in a cell: `cell TIER WORKSPACE COMMAND`. Tests use it as their helper.

use std::path::Path;
use std::process::ExitCode;

use scorpiox_cell::{
    Access, Cell, CellSpec, CommandSpec, Exposed, Granted, Happened, Helper, Limits, Network, Tier,
    helper_main,
};

fn main() -> ExitCode {
    if let Some(code) = helper_main() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().collect();
    let [_, tier, workspace, command, rest @ ..] = &arguments[..] else { return ExitCode::FAILURE };
    let tier = match tier.as_str() {
        "T1" => Tier::T1,
        "T1b" => Tier::T1b,
        "T2" => Tier::T2,
        _ => Tier::None,
    };
    let workspace = Path::new(workspace).canonicalize().expect("a workspace");
    let scratch = std::path::PathBuf::from("/tmp/scratch1");
    let _ = std::fs::create_dir_all(&scratch);
    let spec = CellSpec {
        tier,
        workspace: workspace.as_path().into(),
        exposed: vec![Exposed { path: workspace.as_path().into(), write: true }],
        home: Path::new("/home/user").into(),
        scratch: scratch.as_path().into(),
        tmp_bytes: 1 << 30,
        network: Network::Off,
        landlock_at_most: None,
    };
    let helper = Helper { program: std::env::current_exe().expect("a path") };
    let t = std::time::Instant::now();
    let cell = match Cell::build(&helper, &spec, None) {
        Ok(cell) => cell,
        Err(e) => {
            eprintln!("no cell: {e}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("built in {:?}", t.elapsed());
    let call = CommandSpec {
        command: command.clone(),
        environment: vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("HOME".into(), "/home/user".into()),
        ],
        timeout_ms: Some(30000),
        limits: Limits { processes: 512, memory: 4 << 30, open_files: 4096, file_size: 1 << 34 },
        covers: vec![],
        granted: vec![
            Granted { path: workspace.as_path().into(), access: Access::Write },
            Granted { path: Path::new("/usr").into(), access: Access::Read },
        ],
    };
    let n: u32 = rest.first().map_or(1, |n| n.parse().expect("number"));
    let mut times = vec![];
    let mut starts = vec![];
    for _ in 0..n {
        let t = std::time::Instant::now();
        let mut running = match cell.run(call.clone()) {
            Ok(r) => r,
            Err(e) => {
                eprintln!("{e}");
                return ExitCode::FAILURE;
            }
        };
        if let Err(error) = running.wait_until_started() {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        starts.push(t.elapsed());
        loop {
            match running.next(None, None) {
                Ok(Happened::Output(bytes)) => {
                    if n == 1 {
                        print!("{}", String::from_utf8_lossy(bytes))
                    }
                }
                Ok(Happened::Nothing) => {}
                Ok(Happened::Done(outcome)) => {
                    if n == 1 {
                        eprintln!("{outcome:?} {:?}", t.elapsed())
                    }
                    break;
                }
                Err(error) => {
                    eprintln!("{error}");
                    return ExitCode::FAILURE;
                }
            }
        }
        times.push(t.elapsed());
    }
    times.sort();
    starts.sort();
    eprintln!("start p50 {:?}", starts[starts.len() / 2]);
    eprintln!("p50 {:?} min {:?} p99 {:?}", times[times.len() / 2], times[0], times[times.len() * 99 / 100]);
    ExitCode::SUCCESS
}
