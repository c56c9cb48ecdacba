use super::*;
use crate::Questions;

const ALL: [&str; 14] = [
    "tmux",
    "x-terminal-emulator",
    "gnome-terminal",
    "konsole",
    "ghostty",
    "kitty",
    "alacritty",
    "wezterm",
    "foot",
    "xfce4-terminal",
    "xterm",
    "zenity",
    "kdialog",
    "osascript",
];

fn find_all(program: &str) -> Option<PathBuf> {
    ALL.contains(&program).then(|| PathBuf::from(format!("/bin/{program}")))
}

fn around(variables: &[(&str, &str)]) -> Surroundings<'static> {
    let variable = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    };
    Surroundings { is_mac: false, ..Surroundings::new(variable, &find_all) }
}

fn ask() -> Vec<OsString> {
    ["/opt/ask me", "ask", "--request", "/tmp/r;"].map(OsString::from).to_vec()
}

fn names(around: &Surroundings<'_>) -> Vec<&'static str> {
    let name = |way: Way| match way {
        Way::Screen(window) => window.name,
        Way::Dialog(dialog) => match dialog.tool {
            DialogTool::Zenity => "zenity",
            DialogTool::Kdialog => "kdialog",
            DialogTool::Osascript => "osascript",
        },
    };
    ways(around, &ask()).into_iter().map(name).collect()
}

fn argv(around: &Surroundings<'_>, index: usize) -> Vec<String> {
    let Way::Screen(window) = ways(around, &ask()).swap_remove(index) else { panic!("a window") };
    window.call.argv.into_iter().map(|argument| argument.into_string().unwrap()).collect()
}

#[test]
fn tmux_comes_first_and_popups_need_a_version_with_them() {
    let tmux = |version| {
        around(&[
            ("TMUX", "/tmp/tmux-0/default,42,0"),
            ("TMUX_PANE", "%3"),
            ("TERM_PROGRAM", "tmux"),
            ("TERM_PROGRAM_VERSION", version),
        ])
    };
    for version in ["3.2", "3.3a", "next-3.7", "4.0", "master"] {
        assert_eq!(names(&tmux(version)), ["tmux popup", "tmux pane"], "{version}");
    }
    assert_eq!(names(&tmux("3.1c")), ["tmux pane"]);
    assert_eq!(names(&around(&[("TMUX", "/tmp/s")])), ["tmux popup", "tmux pane"]);
    let server = ["/bin/tmux", "-S", "/tmp/tmux-0/default"];
    let ask = ["/opt/ask me", "ask", "--request", "/tmp/r\\;"];
    let popup = [&server[..], &["display-popup", "-E", "-w", "90%", "-h", "90%", "-t", "%3"], &ask].concat();
    assert_eq!(argv(&tmux("3.3a"), 0), popup);
    assert_eq!(argv(&tmux("3.3a"), 1), [&server[..], &["split-window", "-t", "%3"], &ask].concat());
}

#[test]
fn windows_need_a_display_of_the_person() {
    let dialogs = ["zenity", "kdialog"];
    let x11 = [
        "x-terminal-emulator",
        "gnome-terminal",
        "konsole",
        "ghostty",
        "kitty",
        "alacritty",
        "wezterm",
        "xfce4-terminal",
        "xterm",
    ];
    assert_eq!(names(&around(&[])), [""; 0]);
    assert_eq!(names(&around(&[("DISPLAY", "")])), [""; 0]);
    assert_eq!(names(&around(&[("DISPLAY", ":0")])), [&x11[..], &dialogs].concat());
    let wayland = [
        "x-terminal-emulator",
        "gnome-terminal",
        "konsole",
        "ghostty",
        "kitty",
        "alacritty",
        "wezterm",
        "foot",
        "xfce4-terminal",
    ];
    assert_eq!(names(&around(&[("WAYLAND_DISPLAY", "wayland-0")])), [&wayland[..], &dialogs].concat());
    let ssh = ("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
    assert_eq!(names(&around(&[("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0"), ssh])), [""; 0]);
    assert_eq!(names(&around(&[("DISPLAY", "localhost:10.0"), ssh])), [&x11[..], &dialogs].concat());
    let silent = Surroundings { may_open_windows: false, ..around(&[("DISPLAY", ":0")]) };
    assert_eq!(names(&silent), [""; 0]);
}

#[test]
fn what_the_person_uses_comes_first() {
    let ways = names(&around(&[("DISPLAY", ":0"), ("TERM_PROGRAM", "WezTerm")]));
    assert_eq!(ways[..2], ["wezterm", "x-terminal-emulator"]);
    let ways = names(&around(&[("DISPLAY", ":0"), ("XDG_CURRENT_DESKTOP", "KDE")]));
    assert_eq!((ways[0], &ways[ways.len() - 2..]), ("konsole", &["kdialog", "zenity"][..]));
    let mac = Surroundings { is_mac: true, ..around(&[]) };
    assert_eq!(names(&mac).last(), Some(&"osascript"));
    let remote = Surroundings { is_mac: true, ..around(&[("SSH_CONNECTION", "x")]) };
    assert_eq!(names(&remote), [""; 0]);
}

#[test]
fn each_terminal_is_called_in_its_own_way() {
    let around = around(&[("DISPLAY", ":0"), ("WAYLAND_DISPLAY", "wayland-0")]);
    let ask = "/opt/ask me|ask|--request|/tmp/r;";
    for (index, before) in [
        "/bin/x-terminal-emulator|-e",
        "/bin/gnome-terminal|--wait|--",
        "/bin/konsole|-e",
        "/bin/ghostty|-e",
        "/bin/kitty",
        "/bin/alacritty|-e",
        "/bin/wezterm|start|--always-new-process|--",
        "/bin/foot",
        "/bin/xfce4-terminal|--disable-server|-x",
        "/bin/xterm|-e",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(argv(&around, index).join("|"), format!("{before}|{ask}"));
    }
}

fn questions() -> Questions {
    let json = r#"[{"text":"A <b> & \\n_x?","options":[{"label":"-one","description":"d\ne"},"two\\t"]},
        {"text":"Some?","options":["C","D"],"multiSelect":true}]"#;
    Questions::parse(json).unwrap()
}

fn dialog(tool: DialogTool) -> Dialog {
    Dialog { tool, program: PathBuf::from("/bin/it") }
}

fn shown(call: Option<Call>) -> String {
    call.unwrap()
        .argv
        .into_iter()
        .map(|argument| argument.into_string().unwrap())
        .collect::<Vec<_>>()
        .join("|")
}

#[test]
fn zenity_is_given_texts_that_it_shows_as_they_are() {
    let zenity = dialog(DialogTool::Zenity);
    let columns = r"--column=|--column=#|--column=Answer|--column=Meaning|--hide-column=2|--print-column=2|--separator=\n|--width=640|--height=480";
    assert_eq!(
        shown(zenity.choose(&questions(), 0)),
        format!(
            "/bin/it|--list|--title=scorpiox-code|--text=Your AI model asks:\n1 of 2: A &lt;b&gt; &amp; \\\\n_x?|--radiolist|{columns}|FALSE|1| -one|d e|FALSE|2|two\\t||FALSE|3|Other…|"
        )
    );
    assert!(shown(zenity.choose(&questions(), 1)).contains("|--checklist|"));
    assert_eq!(
        shown(zenity.own_words(&questions(), 0)),
        "/bin/it|--entry|--title=scorpiox-code|--text=Your AI model asks:\n1 of 2: A <b> & \\\\n__x?\nOther…"
    );
    assert_eq!(zenity.choose(&questions(), 0).unwrap().env, [("ZENITY_CANCEL", "3"), ("ZENITY_ESC", "3")]);
    assert_eq!(zenity.choose(&questions(), 2), None);
}

#[test]
fn kdialog_is_given_texts_that_it_shows_as_they_are() {
    let kdialog = dialog(DialogTool::Kdialog);
    assert_eq!(
        shown(kdialog.choose(&questions(), 0)),
        r"/bin/it|--title=scorpiox-code|--separate-output|--menu|<qt>Your AI model asks:<br>1 of 2: A &lt;b&gt; &amp; \\n_x?</qt>|--|1|-one – d e|2|two\t|3|Other…"
    );
    assert_eq!(
        shown(kdialog.choose(&questions(), 1)),
        "/bin/it|--title=scorpiox-code|--separate-output|--checklist|<qt>Your AI model asks:<br>2 of 2: Some?</qt>|--|1|C|off|2|D|off|3|Other…|off"
    );
}

#[test]
fn osascript_is_given_texts_as_arguments() {
    let osascript = dialog(DialogTool::Osascript);
    let call = shown(osascript.choose(&questions(), 0));
    assert!(call.starts_with("/bin/it|-e|on run argv|-e|activate|"), "{call}");
    assert!(
        call.ends_with(
            "|-e|end run|one|scorpiox-code|Your AI model asks:\n1 of 2: A <b> & \\n_x?|1. -one – d e|2. two\\t|3. Other…"
        ),
        "{call}"
    );
    let call = shown(osascript.own_words(&questions(), 1));
    assert!(
        call.ends_with("|-e|end run|text|scorpiox-code|Your AI model asks:\n2 of 2: Some?\nOther…"),
        "{call}"
    );
}

#[test]
fn what_a_dialog_prints_becomes_an_answer() {
    let questions = questions();
    let [_, some] = questions.as_slice() else { panic!("two") };
    let options =
        |indices: &[usize], wants_other| Ok(Chosen::Options { indices: indices.to_vec(), wants_other });
    let (zenity, kdialog, osascript) = (DialogTool::Zenity, DialogTool::Kdialog, DialogTool::Osascript);
    for (tool, code, output, expected) in [
        (zenity, Some(0), "1\n2\n", options(&[0, 1], false)),
        (zenity, Some(0), "", options(&[], false)),
        (zenity, Some(3), "", Ok(Chosen::Closed)),
        (zenity, Some(1), "", Err(DialogError::Failed(Some(1)))),
        (kdialog, Some(0), "2\n3\n", options(&[1], true)),
        (kdialog, Some(1), "", Ok(Chosen::Closed)),
        (kdialog, None, "", Err(DialogError::Failed(None))),
        (osascript, Some(0), "answered\n2. D\n3. Other…\n", options(&[1], true)),
        (osascript, Some(0), "closed\n", Ok(Chosen::Closed)),
        (osascript, Some(1), "", Err(DialogError::Failed(Some(1)))),
        (zenity, Some(0), "4\n", Err(DialogError::Unexpected("4".to_owned()))),
        (zenity, Some(0), "C\n", Err(DialogError::Unexpected("C".to_owned()))),
    ] {
        assert_eq!(dialog(tool).read_chosen(some, code, output.as_bytes()), expected, "{output:?}");
    }
    for (tool, code, output, expected) in [
        (zenity, Some(0), "my words\n", Some("my words")),
        (kdialog, Some(1), "", None),
        (osascript, Some(0), "answered\nmy words\n", Some("my words")),
        (osascript, Some(0), "closed\n", None),
    ] {
        let words = dialog(tool).read_own_words(code, output.as_bytes()).unwrap();
        assert_eq!(words.as_deref(), expected);
    }
    let chosen = dialog(zenity).read_chosen(some, Some(0), b"2\n3\n").unwrap();
    let answer = chosen.answer(some, Some("mine")).unwrap().unwrap();
    assert_eq!((answer.selected(), answer.other()), (&["D".to_owned()][..], Some("mine")));
    assert_eq!(Chosen::Closed.answer(some, None), Ok(None));
}
