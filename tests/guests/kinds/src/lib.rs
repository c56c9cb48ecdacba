//! Component without any knowledge of this project, with functions for every kind of type.

// Required by a deeply nested type.
#![recursion_limit = "512"]

wit_bindgen::generate!({ path: "wit", world: "kinds" });

use exports::test::kinds::echo::{Colour, Guest as Echo, Point, Rights, Shape};
use exports::test::kinds::handles::{Guest as Handles, GuestThing, Thing};
use exports::test::kinds::hostile::Guest as Hostile;
use exports::test::kinds::vast::{Guest as Vast, Level65};

struct Kinds;

impl Guest for Kinds {
    fn divide(a: u64, b: u64) -> Result<u64, String> {
        a.checked_div(b).ok_or_else(|| format!("{a} cannot be divided by 0"))
    }
}

type Integers = (u8, i8, u16, i16, u32, i32, u64, i64);

impl Echo for Kinds {
    fn integers(a: u8, b: i8, c: u16, d: i16, e: u32, f: i32, g: u64, h: i64) -> Integers {
        (a, b, c, d, e, f, g, h)
    }

    fn floats(a: f32, b: f64) -> (f32, f64) {
        (a, b)
    }

    fn text(value: String) -> String {
        value
    }

    fn letter(value: char) -> char {
        value
    }

    fn truth(value: bool) -> bool {
        value
    }

    fn points(value: Vec<Point>) -> Vec<Point> {
        value
    }

    fn figure(value: Shape) -> Shape {
        value
    }

    fn hue(value: Colour) -> Colour {
        value
    }

    fn granted(value: Rights) -> Rights {
        value
    }

    fn nested(value: Option<Option<u32>>) -> Option<Option<u32>> {
        value
    }

    fn outcome(value: Result<u32, String>) -> Vec<Result<u32, String>> {
        vec![value]
    }
}

impl Hostile for Kinds {
    fn spin() {
        loop {
            std::hint::black_box(());
        }
    }

    fn grow() -> u32 {
        let mut all = Vec::new();
        loop {
            all.push(vec![1_u8; 1 << 20]);
            std::hint::black_box(&all);
        }
    }

    fn recurse(depth: u64) -> u64 {
        if depth == 0 { 0 } else { std::hint::black_box(Self::recurse(std::hint::black_box(depth - 1))) + 1 }
    }

    fn flood(bytes: u32) -> String {
        "x".repeat(bytes as usize)
    }

    fn numbers(count: u32) -> Vec<u8> {
        vec![7; count as usize]
    }

    fn abort() {
        panic!("on purpose");
    }
}

struct OneThing;

impl GuestThing for OneThing {
    fn new() -> Self {
        Self
    }
}

impl Handles for Kinds {
    type Thing = OneThing;

    fn take(_: Thing) {}
}

impl Vast for Kinds {
    fn deep(_: Level65) {}
}

export!(Kinds);
