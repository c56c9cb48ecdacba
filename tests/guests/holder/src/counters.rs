//! Resources that count.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Holder;
use super::exports::test::holder::counters::{
    Counter, CounterBorrow, Guest, GuestCounter, GuestLabel, Label,
};

static ALIVE: AtomicU32 = AtomicU32::new(0);

pub struct Count(Cell<u32>);

impl Count {
    fn of(start: u32) -> Counter {
        Counter::new(Self::new(start))
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl GuestCounter for Count {
    fn new(start: u32) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self(Cell::new(start))
    }

    fn add(&self, n: u32) -> u32 {
        self.0.set(self.0.get() + n);
        self.0.get()
    }

    fn merge(a: CounterBorrow<'_>, b: CounterBorrow<'_>) -> Counter {
        Self::of(a.get::<Self>().0.get() + b.get::<Self>().0.get())
    }

    fn alive() -> u32 {
        ALIVE.load(Ordering::Relaxed)
    }
}

pub struct Text(String);

impl GuestLabel for Text {
    fn new(text: String) -> Self {
        Self(text)
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

impl Guest for Holder {
    type Counter = Count;
    type Label = Text;

    fn consume(value: Counter) -> u32 {
        value.get::<Count>().0.get()
    }

    fn both(taken: Counter, seen: CounterBorrow<'_>) -> u32 {
        taken.get::<Count>().0.get() + seen.get::<Count>().0.get()
    }

    fn many(count: u32) -> Vec<Counter> {
        (0..count).map(Count::of).collect()
    }

    fn refuse(_: CounterBorrow<'_>) -> Result<u32, String> {
        Err("not today".to_owned())
    }

    fn turn_into_label(value: Counter) -> Result<Label, String> {
        match value.get::<Count>().0.get() {
            0 => Err("0 is no label".to_owned()),
            count => Ok(Label::new(Text(count.to_string()))),
        }
    }

    fn perhaps(value: Option<CounterBorrow<'_>>) -> Option<Counter> {
        value.map(|value| Count::of(value.get::<Count>().0.get()))
    }

    fn long(_: CounterBorrow<'_>, bytes: u32) -> String {
        "x".repeat(bytes as usize)
    }
}
