//! Resources that misbehave.

use std::cell::RefCell;
use std::hint::black_box;

use super::Holder;
use super::exports::test::holder::trouble::{Guest, GuestThing, Thing};

pub struct Bad {
    dropped: String,
    hoarded: RefCell<Vec<Thing>>,
    swollen: RefCell<Vec<Vec<u8>>>,
}

fn behave(how: &str) {
    match how {
        "trap" => panic!("on purpose"),
        "spin" => loop {
            black_box(());
        },
        "grow" => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 1 << 20]);
                black_box(&all);
            }
        }
        "print" => {
            let _ = wasip2::cli::stdout::get_stdout().blocking_write_and_flush(b"printed by a method\n");
        }
        _ => {}
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        behave(&self.dropped);
    }
}

impl Guest for Holder {
    type Thing = Bad;
}

impl GuestThing for Bad {
    fn new(made: String, dropped: String) -> Self {
        behave(&made);
        Self { dropped, hoarded: RefCell::default(), swollen: RefCell::default() }
    }

    fn act(&self, how: String) {
        behave(&how);
    }

    fn hoard(&self, count: u32) -> u32 {
        let well = || Bad::new(String::new(), String::new());
        self.hoarded.borrow_mut().extend((0..count).map(|_| Thing::new(well())));
        self.hoarded.borrow().len() as u32
    }

    fn swell(&self, mib: u32) -> u32 {
        self.swollen.borrow_mut().extend((0..mib).map(|_| vec![1_u8; 1 << 20]));
        self.swollen.borrow().len() as u32
    }
}
