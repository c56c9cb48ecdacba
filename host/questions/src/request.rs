//! The files exchanged between the process that asks and the process with the screen.
//!
//! Invariants:
//! - A file exists completely or not at all, and only its owner can read it.
//! - The process with the screen holds a lock on the request file for as long as it lives. Some programs that
//!   open a window return immediately, so their exit is not a reliable signal, but the lock is.
//! - Once that process has its terminal, there is an answer file, which says "declined" until the user answers.
//!   A window that is closed or killed is therefore an answer, and a window that never opened is none.
//!
//! The caller creates and removes the directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::answers::{Answer, AnswerError, Answers};
use crate::questions::{Asker, MAX_JSON_BYTES, Question, Questions, QuestionsError};

/// Version of both files. Both processes run the same program, unless it is replaced in between.
pub const VERSION: u32 = 1;

/// Maximum file size: all questions within their limits, and the version.
const MAX_FILE_BYTES: u64 = MAX_JSON_BYTES as u64 + 1024;

/// Error of writing or reading a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A system error.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is larger than any valid file.
    #[error("{0} is larger than {MAX_FILE_BYTES} bytes, so the server did not write it")]
    TooLarge(PathBuf),
    /// The file has an unexpected format.
    #[error("{path} cannot be parsed: {source}")]
    Shape {
        /// Path of the file.
        path: PathBuf,
        /// Error of the parser.
        source: serde_json::Error,
    },
    /// The file belongs to another version of the program.
    #[error("{path} is of version {found}, but this program knows {VERSION}; ask again")]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// Version of the file.
        found: u32,
    },
    /// The questions exceed their limits.
    #[error("{path}: {source}")]
    Questions {
        /// Path of the file.
        path: PathBuf,
        /// The violated limit.
        source: QuestionsError,
    },
    /// The answers do not fit the questions.
    #[error("{path}: {source}")]
    Answer {
        /// Path of the file.
        path: PathBuf,
        /// The mismatch.
        source: AnswerError,
    },
}

#[derive(Deserialize)]
struct Header {
    version: u32,
}

#[derive(Serialize)]
struct RequestOut<'a> {
    version: u32,
    asker: &'a Asker,
    questions: &'a Questions,
}

#[derive(Deserialize)]
struct RequestIn<'a> {
    #[serde(default)]
    asker: Asker,
    #[serde(borrow)]
    questions: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct AnswerFile {
    version: u32,
    declined: bool,
    answers: Vec<AnswerEntry>,
}

#[derive(Serialize, Deserialize)]
struct AnswerEntry {
    selected: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<String>,
}

impl AnswerEntry {
    fn answer(&self, question: &Question) -> Result<Answer, AnswerError> {
        Answer::new(question, self.selected.iter().map(String::as_str), self.other.as_deref())
    }
}

/// Writes the questions for the process with the screen.
pub fn write_request(path: &Path, questions: &Questions) -> Result<(), FileError> {
    write(path, &RequestOut { version: VERSION, asker: questions.asker(), questions })
}

/// Reads the questions and locks the file to signal that this process is asking them. Keep [`Asking`] until
/// the answer is written.
pub fn read_request(path: &Path) -> Result<(Questions, Asking), FileError> {
    let failed = |source| FileError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // The lock is shared, so that a second window for the same questions does not wait for the first.
    file.lock_shared().map_err(failed)?;
    let text = read_text(path, &file)?;
    let request: RequestIn<'_> = parsed(path, &text)?;
    let questions = Questions::parse(request.questions.get())
        .map_err(|source| FileError::Questions { path: path.to_owned(), source })?;
    Ok((questions.asked_by(request.asker), Asking { _locked: file }))
}

/// Signals that the questions are being asked, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Asking {
    _locked: File,
}

/// Returns `true` if a process is asking these questions.
pub fn is_asking(request: &Path) -> Result<bool, FileError> {
    let failed = |source| FileError::Io { path: request.to_owned(), source };
    let file = File::open(request).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Writes the answers for the process that asked.
pub fn write_answer(path: &Path, answers: &Answers) -> Result<(), FileError> {
    let entry = |answer: &Answer| AnswerEntry {
        selected: answer.selected().to_vec(),
        other: answer.other().map(str::to_owned),
    };
    let (declined, answers) = match answers {
        Answers::Answered(answers) => (false, answers.iter().map(entry).collect()),
        Answers::Declined => (true, Vec::new()),
    };
    write(path, &AnswerFile { version: VERSION, declined, answers })
}

/// Reads the answers to these questions. Returns `None` if there is no file, which means that no screen
/// opened. Wait until the process with the screen has ended: before, the answers are not final.
pub fn read_answer(path: &Path, questions: &Questions) -> Result<Option<Answers>, FileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(FileError::Io { path: path.to_owned(), source }),
    };
    let text = read_text(path, &file)?;
    let found: AnswerFile = parsed(path, &text)?;
    if found.declined {
        return Ok(Some(Answers::Declined));
    }
    let answers = found.answers.iter().zip(questions.as_slice());
    let answers: Result<Vec<_>, _> = answers.map(|(entry, question)| entry.answer(question)).collect();
    // `zip` above ignores surplus answers or questions.
    let count = AnswerError::Count { answers: found.answers.len(), questions: questions.as_slice().len() };
    let fits = found.answers.len() == questions.as_slice().len();
    match answers {
        Ok(answers) if fits => Ok(Some(Answers::Answered(answers))),
        Ok(_) => Err(FileError::Answer { path: path.to_owned(), source: count }),
        Err(source) => Err(FileError::Answer { path: path.to_owned(), source }),
    }
}

fn read_text(path: &Path, file: &File) -> Result<String, FileError> {
    let mut text = String::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|source| FileError::Io { path: path.to_owned(), source })?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    Ok(text)
}

/// Parses a file. Checks the version first, because the rest of another version's format is unknown.
fn parsed<'a, T: Deserialize<'a>>(path: &Path, text: &'a str) -> Result<T, FileError> {
    let misshapen = |source| FileError::Shape { path: path.to_owned(), source };
    let Header { version } = serde_json::from_str(text).map_err(misshapen)?;
    if version != VERSION {
        return Err(FileError::Version { path: path.to_owned(), found: version });
    }
    serde_json::from_str(text).map_err(misshapen)
}

/// Writes a temporary file next to the final one and renames it when it is complete.
fn write(path: &Path, content: &impl Serialize) -> Result<(), FileError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = write_draft(&draft, content).and_then(|()| std::fs::rename(&draft, path));
    written.map_err(|source| {
        // A leftover temporary file is harmless.
        let _ = std::fs::remove_file(&draft);
        FileError::Io { path: path.to_owned(), source }
    })
}

fn write_draft(draft: &Path, content: &impl Serialize) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(&serde_json::to_vec(content)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn questions() -> Questions {
        let json = r#"[{"text":"One?","options":["A","B"]},{"text":"Some?","options":["C","D"],"multiSelect":true}]"#;
        Questions::parse(json).unwrap()
    }

    #[test]
    fn questions_and_answers_go_there_and_back() {
        let folder = tempfile::tempdir().unwrap();
        let (request, answer) = (folder.path().join("request"), folder.path().join("answer"));
        let questions = questions().asked_by(Asker::Plugin("p".to_owned()));
        write_request(&request, &questions).unwrap();
        let (read, _asking) = read_request(&request).unwrap();
        assert_eq!(read, questions);
        assert_eq!(read_answer(&answer, &read).unwrap(), None);
        let [one, some] = read.as_slice() else { panic!("two") };
        let given =
            vec![Answer::new(one, [], Some("x\ny")).unwrap(), Answer::new(some, ["C", "D"], None).unwrap()];
        for answers in [Answers::Answered(given), Answers::Declined] {
            write_answer(&answer, &answers).unwrap();
            assert_eq!(read_answer(&answer, &read).unwrap(), Some(answers));
        }
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["answer", "request"]);
        for path in [request, answer] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn the_lock_says_whether_someone_asks() {
        let folder = tempfile::tempdir().unwrap();
        let request = folder.path().join("request");
        write_request(&request, &questions()).unwrap();
        assert!(!is_asking(&request).unwrap());
        let (_, asking) = read_request(&request).unwrap();
        assert!(is_asking(&request).unwrap());
        drop(asking);
        assert!(!is_asking(&request).unwrap());
    }

    #[test]
    fn files_of_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let error = read_answer(&path, &questions()).unwrap_err().to_string();
            error.replace(&path.display().to_string(), "FILE")
        };
        assert_eq!(
            read(r#"{"version":2,"new":1}"#),
            "FILE is of version 2, but this program knows 1; ask again"
        );
        assert_eq!(read("{}"), "FILE cannot be parsed: missing field `version` at line 1 column 2");
        assert_eq!(
            read(r#"{"version":1,"declined":false,"answers":[]}"#),
            "FILE: there are 0 answers to 2 questions"
        );
        let unknown = r#"{"version":1,"declined":false,"answers":[{"selected":["Z"]},{"selected":[]}]}"#;
        assert_eq!(read(unknown), "FILE: \"Z\" is none of the question's options");
        let large = " ".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
        assert_eq!(read(&large), "FILE is larger than 1049600 bytes, so the server did not write it");
        std::fs::write(&path, r#"{"version":1,"questions":[]}"#).unwrap();
        let error = read_request(&path).unwrap_err().to_string();
        assert!(error.ends_with("questions_json has no questions; it takes 1 to 4"), "{error}");
    }
}
