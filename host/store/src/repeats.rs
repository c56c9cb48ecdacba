//! Repeated messages of a timer that fired several times before delivery.

use crate::Message;

/// Messages for delivery: of equal messages only the last, with their number.
#[derive(Debug, Default)]
pub struct Repeats(Vec<(Message, u32)>);

impl Repeats {
    /// Adds a message. Returns the earlier equal message that it replaces, if any.
    pub fn add(&mut self, message: Message) -> Option<Message> {
        let at = self.0.iter().position(|(earlier, _)| is_repeated(earlier, &message));
        let (earlier, times) = at.map(|at| self.0.remove(at)).unzip();
        self.0.push((message, times.unwrap_or(0) + 1));
        earlier
    }

    /// Returns the messages, ordered by their last occurrence.
    pub fn into_messages(self) -> Vec<Message> {
        self.0.into_iter().map(|(message, times)| counted(message, times)).collect()
    }
}

/// Returns `true` if two messages belong to the same timer and differ only in the bracketed note at the
/// beginning, which describes the individual firing.
fn is_repeated(earlier: &Message, later: &Message) -> bool {
    let subject = |note: Option<&str>| note.map(|note| note.split(' ').next().unwrap_or_default().to_owned());
    let ((note, said), (later_note, later_said)) = (parts(&earlier.text), parts(&later.text));
    earlier.timer == later.timer && said == later_said && subject(note) == subject(later_note)
}

/// Splits a text into its note and the rest: `[Callback 0 fired at …, 3 left] Look at the build`.
fn parts(text: &str) -> (Option<&str>, &str) {
    let note = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    note.filter(|(note, _)| !note.contains('\n')).map_or((None, text), |(note, said)| (Some(note), said))
}

fn counted(message: Message, times: u32) -> Message {
    if times < 2 {
        return message;
    }
    let text = match parts(&message.text) {
        (Some(note), said) => format!("[{note}, the last of {times} times] {said}"),
        (None, said) => format!("{said} ({times} times)"),
    };
    Message { text, ..message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(messages: &[(u32, &str)]) -> Vec<String> {
        let mut repeats = Repeats::default();
        for (sequence, (timer, text)) in (1..).zip(messages) {
            repeats.add(Message { sequence, timer: *timer, fired_at: 0, text: (*text).to_owned() });
        }
        repeats.into_messages().into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn fires_of_one_timer_are_told_as_one_with_their_number() {
        let fires: Vec<_> =
            (0..17).map(|left| (0, format!("[Callback 0 fired at {left}, {left} left] Look"))).collect();
        let mut fires: Vec<_> = fires.iter().map(|(timer, text)| (*timer, text.as_str())).collect();
        fires.insert(3, (1, "[Callback 1 fired, last time] Look"));
        assert_eq!(
            told(&fires),
            [
                "[Callback 1 fired, last time] Look",
                "[Callback 0 fired at 16, 16 left, the last of 17 times] Look"
            ]
        );
    }

    #[test]
    fn messages_that_say_something_else_stay_apart() {
        let apart = [
            (0, "[Callback 0 fired, 2 left] Look"),
            (0, "[Callback 0 fired, 1 left] Look again"),
            (1, "[Callback 1 fired, 1 left] Look"),
            (0, "[Watch 0] Look"),
            (0, "Look"),
            (0, "[a\nb] Look"),
        ];
        assert_eq!(told(&apart), apart.map(|(_, text)| text));
        assert_eq!(told(&[(0, "Look"), (0, "Look"), (0, "")]), ["Look (2 times)", ""]);
    }
}
