//! Equations of Word documents (Office Math, ECMA-376 part 1, 22.1) as TeX.

/// Maximum number of elements of an equation. The rest is left out.
const MAX_ELEMENTS: usize = 20_000;

/// Operators over a range, with their commands.
const OPERATORS: [(char, &str); 17] = [
    ('∑', "\\sum"),
    ('∏', "\\prod"),
    ('∐', "\\coprod"),
    ('∫', "\\int"),
    ('∬', "\\iint"),
    ('∭', "\\iiint"),
    ('∮', "\\oint"),
    ('⋃', "\\bigcup"),
    ('⋂', "\\bigcap"),
    ('⨆', "\\bigsqcup"),
    ('⋁', "\\bigvee"),
    ('⋀', "\\bigwedge"),
    ('⨁', "\\bigoplus"),
    ('⨂', "\\bigotimes"),
    ('⨀', "\\bigodot"),
    ('⨄', "\\biguplus"),
    ('∯', "\\oiint"),
];
/// Marks above a letter, with their commands.
const ACCENTS: [(char, &str); 14] = [
    ('\u{300}', "\\grave"),
    ('\u{301}', "\\acute"),
    ('\u{302}', "\\hat"),
    ('\u{303}', "\\tilde"),
    ('\u{304}', "\\bar"),
    ('\u{305}', "\\overline"),
    ('\u{306}', "\\breve"),
    ('\u{307}', "\\dot"),
    ('\u{308}', "\\ddot"),
    ('\u{30c}', "\\check"),
    ('\u{20d6}', "\\overleftarrow"),
    ('\u{20d7}', "\\vec"),
    ('\u{20db}', "\\dddot"),
    ('\u{20e1}', "\\overleftrightarrow"),
];
/// Functions that have a command of their own.
const FUNCTIONS: [&str; 32] = [
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp",
    "gcd", "hom", "inf", "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "Pr", "sec",
    "sin", "sinh", "sup", "tan", "tanh",
];

/// Element of an equation.
#[derive(Debug, Default)]
struct Element {
    name: String,
    /// The attribute `val`.
    value: Option<String>,
    /// Text of an element `t`.
    text: String,
    children: Vec<Element>,
}

/// An equation that is being read.
#[derive(Debug)]
pub(super) struct Equation {
    open: Vec<Element>,
    left: usize,
    /// Depth below an element that exceeds the limit.
    skipped: usize,
}

impl Equation {
    pub(super) fn new() -> Self {
        Self { open: vec![Element::default()], left: MAX_ELEMENTS, skipped: 0 }
    }

    pub(super) fn start(&mut self, name: &str, value: Option<String>) {
        if self.skipped > 0 || self.left == 0 {
            self.skipped += 1;
            return;
        }
        self.left -= 1;
        self.open.push(Element { name: name.to_owned(), value, ..Element::default() });
    }

    pub(super) fn text(&mut self, content: &str) {
        let last = self.open.last_mut().filter(|last| self.skipped == 0 && last.name == "t");
        if let Some(last) = last {
            last.text.push_str(content);
        }
    }

    pub(super) fn end(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
        } else if self.open.len() > 1
            && let (Some(done), Some(around)) = (self.open.pop(), self.open.last_mut())
        {
            around.children.push(done);
        }
    }

    /// Returns the equation as TeX; empty if there is no text in it.
    pub(super) fn tex(mut self) -> String {
        while self.open.len() > 1 {
            self.skipped = 0;
            self.end();
        }
        self.open.first().map(Element::inner).unwrap_or_default().trim().to_owned()
    }
}

impl Element {
    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns a property, which an element of properties (`fPr`) contains.
    fn property(&self, name: &str) -> Option<&Self> {
        self.children.iter().filter(|child| child.name.ends_with("Pr")).find_map(|all| all.child(name))
    }

    /// Returns `true` if a switch is on; without a value it is.
    fn is_on(&self, name: &str) -> bool {
        let value = self.property(name).map(|found| found.value.as_deref().unwrap_or("1"));
        value.is_some_and(|value| matches!(value, "1" | "true" | "on"))
    }

    /// Returns the value of a property, or `default` without the property. An empty value counts.
    fn set<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.property(name).map_or(default, |found| found.value.as_deref().unwrap_or_default())
    }

    /// Returns the TeX of a part; empty if there is none.
    fn part(&self, name: &str) -> String {
        self.child(name).map(Self::inner).unwrap_or_default()
    }

    fn parts(&self, name: &str) -> Vec<String> {
        self.children.iter().filter(|child| child.name == name).map(Self::inner).collect()
    }

    /// Returns the TeX of all children.
    fn inner(&self) -> String {
        joined(self.children.iter().map(Self::tex))
    }

    fn tex(&self) -> String {
        let part = |name: &str| self.part(name);
        match &*self.name {
            "t" => escaped(&self.text),
            "r" => self.run(),
            "f" => self.fraction(),
            "sSup" => format!("{}^{}", base(&part("e")), braced(&part("sup"))),
            "sSub" => format!("{}_{}", base(&part("e")), braced(&part("sub"))),
            "sSubSup" => {
                format!("{}_{}^{}", base(&part("e")), braced(&part("sub")), braced(&part("sup")))
            }
            "sPre" => format!("{{}}_{}^{}{}", braced(&part("sub")), braced(&part("sup")), part("e")),
            "rad" => match part("deg") {
                degree if degree.is_empty() || self.is_on("degHide") => format!("\\sqrt{{{}}}", part("e")),
                degree => format!("\\sqrt[{degree}]{{{}}}", part("e")),
            },
            "nary" => self.over_range(),
            "d" => self.delimited(),
            "m" => matrix("matrix", &self.rows()),
            "eqArr" => format!("\\begin{{aligned}}{}\\end{{aligned}}", self.parts("e").join(" \\\\ ")),
            "acc" => self.accented(),
            "bar" => {
                let command = if self.set("pos", "bot") == "top" { "\\overline" } else { "\\underline" };
                format!("{command}{{{}}}", part("e"))
            }
            "groupChr" => self.grouped(),
            "borderBox" => format!("\\boxed{{{}}}", part("e")),
            "phant" => format!("\\phantom{{{}}}", part("e")),
            "limLow" => limit(&part("e"), '_', "\\underset", &part("lim")),
            "limUpp" => limit(&part("e"), '^', "\\overset", &part("lim")),
            "func" => joined([function(&part("fName")), part("e")].into_iter()),
            name if name.ends_with("Pr") => String::new(),
            _ => self.inner(),
        }
    }

    fn run(&self) -> String {
        let text: String =
            self.children.iter().filter(|child| child.name == "t").map(|child| &*child.text).collect();
        if text.is_empty() {
            return String::new();
        }
        if self.is_on("nor") {
            return format!("\\text{{{}}}", escaped_words(&text));
        }
        let style = match (self.set("scr", "roman"), self.set("sty", "i")) {
            ("double-struck", _) => "\\mathbb",
            ("script", _) => "\\mathcal",
            ("fraktur", _) => "\\mathfrak",
            ("sans-serif", _) => "\\mathsf",
            ("monospace", _) => "\\mathtt",
            (_, "b" | "bi") => "\\mathbf",
            _ => return escaped(&text),
        };
        if text.trim().is_empty() { escaped(&text) } else { format!("{style}{{{}}}", escaped(&text)) }
    }

    fn fraction(&self) -> String {
        let (above, below) = (self.part("num"), self.part("den"));
        match self.set("type", "bar") {
            "lin" => format!("{}/{}", base(&above), base(&below)),
            "noBar" => format!("{{{above} \\atop {below}}}"),
            _ => format!("\\frac{{{above}}}{{{below}}}"),
        }
    }

    fn over_range(&self) -> String {
        let sign = self.set("chr", "∫");
        let known = OPERATORS.iter().find(|(known, _)| sign.starts_with(*known)).map(|(_, command)| *command);
        let mut tex = known.map_or_else(|| escaped(sign), str::to_owned);
        for (name, mark, hidden) in [("sub", '_', "subHide"), ("sup", '^', "supHide")] {
            let part = self.part(name);
            if !part.is_empty() && !self.is_on(hidden) {
                tex.push(mark);
                tex.push_str(&braced(&part));
            }
        }
        joined([tex, " ".to_owned(), self.part("e")].into_iter())
    }

    fn delimited(&self) -> String {
        let (before, after) = (self.set("begChr", "("), self.set("endChr", ")"));
        let only = self.children.iter().filter(|child| child.name == "e").collect::<Vec<_>>();
        let only = match only.as_slice() {
            [part] => part.children.iter().filter(|child| !child.name.ends_with("Pr")).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        if let [only] = only.as_slice() {
            match (&*only.name, before, after) {
                ("m", "(", ")") => return matrix("pmatrix", &only.rows()),
                ("m", "[", "]") => return matrix("bmatrix", &only.rows()),
                ("m", "{", "}") => return matrix("Bmatrix", &only.rows()),
                ("m", "|", "|") => return matrix("vmatrix", &only.rows()),
                ("m", "‖", "‖") => return matrix("Vmatrix", &only.rows()),
                ("m", "{", "") => return matrix("cases", &only.rows()),
                ("eqArr", "{", "") => return matrix("cases", &only.parts("e")),
                ("f", "(", ")") if only.set("type", "bar") == "noBar" => {
                    return format!("\\binom{{{}}}{{{}}}", only.part("num"), only.part("den"));
                }
                _ => {}
            }
        }
        let between = format!(" {} ", delimiter(self.set("sepChr", "|")).replace('.', ""));
        let inside = self.parts("e").join(&between);
        joined(
            ["\\left".to_owned() + &delimiter(before), inside, "\\right".to_owned() + &delimiter(after)]
                .into_iter(),
        )
    }

    fn rows(&self) -> Vec<String> {
        let rows = self.children.iter().filter(|child| child.name == "mr");
        rows.map(|row| row.parts("e").join(" & ")).collect()
    }

    fn accented(&self) -> String {
        let (mark, of) = (self.set("chr", "\u{302}"), self.part("e"));
        match ACCENTS.iter().find(|(known, _)| mark.starts_with(*known)) {
            Some((_, command)) => format!("{command}{{{of}}}"),
            None => format!("\\overset{{{}}}{{{of}}}", escaped(mark)),
        }
    }

    fn grouped(&self) -> String {
        let (sign, of) = (self.set("chr", "⏟"), self.part("e"));
        match (sign, self.set("pos", "bot")) {
            ("⏟", _) => format!("\\underbrace{{{of}}}"),
            ("⏞", _) => format!("\\overbrace{{{of}}}"),
            (sign, "top") => format!("\\overset{{{}}}{{{of}}}", escaped(sign)),
            (sign, _) => format!("\\underset{{{}}}{{{of}}}", escaped(sign)),
        }
    }
}

/// Joins parts, with a space between a command and a letter.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut tex = String::new();
    let mut ends_in_command = false;
    for part in parts.filter(|part| !part.is_empty()) {
        if ends_in_command && part.starts_with(|c: char| c.is_ascii_alphabetic()) {
            tex.push(' ');
        }
        let name = part.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        ends_in_command = name.len() < part.len() && name.ends_with('\\');
        tex.push_str(&part);
    }
    tex
}

fn matrix(environment: &str, rows: &[String]) -> String {
    format!("\\begin{{{environment}}}{}\\end{{{environment}}}", rows.join(" \\\\ "))
}

/// Returns a delimiter for `\left` or `\right`; an absent delimiter is a dot.
fn delimiter(sign: &str) -> String {
    match sign {
        "" => ".".to_owned(),
        "{" | "}" => format!("\\{sign}"),
        "‖" => "\\|".to_owned(),
        "⟨" | "〈" => "\\langle".to_owned(),
        "⟩" | "〉" => "\\rangle".to_owned(),
        "⌈" => "\\lceil".to_owned(),
        "⌉" => "\\rceil".to_owned(),
        "⌊" => "\\lfloor".to_owned(),
        "⌋" => "\\rfloor".to_owned(),
        sign => escaped(sign),
    }
}

/// Writes a limit below or above an operator.
fn limit(of: &str, mark: char, otherwise: &str, limit: &str) -> String {
    let of = function(of);
    let is_operator = of.starts_with('\\') && !of.contains(['{', ' ']);
    if is_operator || of.starts_with("\\underbrace") || of.starts_with("\\overbrace") {
        format!("{of}{mark}{}", braced(limit))
    } else {
        format!("{otherwise}{{{limit}}}{{{of}}}")
    }
}

/// Returns the command of a function. Its name may carry a limit or a power.
fn function(name: &str) -> String {
    let word: String = name.chars().take_while(char::is_ascii_alphabetic).collect();
    if FUNCTIONS.contains(&&*word) {
        return format!("\\{name}");
    }
    if word.len() > 1 && word == name { format!("\\operatorname{{{name}}}") } else { name.to_owned() }
}

/// Returns a part as the argument of a mark: in braces, unless it is a single character.
fn braced(part: &str) -> String {
    if part.chars().nth(1).is_some() || part.is_empty() { format!("{{{part}}}") } else { part.to_owned() }
}

/// Returns the base of a mark, in braces unless TeX reads it as a unit.
fn base(part: &str) -> String {
    let is_command =
        part.strip_prefix('\\').is_some_and(|name| name.chars().all(|c| c.is_ascii_alphabetic()));
    // A single pair of delimiters, the second of which is the end.
    let is_delimited = part.strip_prefix("\\left").is_some_and(|rest| {
        let end = rest.rsplit_once("\\right").map(|(inside, end)| (inside, end.trim_start_matches('\\')));
        end.is_some_and(|(inside, end)| {
            !inside.contains("\\left")
                && (end.chars().count() == 1
                    || end.ends_with("ceil")
                    || end.ends_with("floor")
                    || end.ends_with("angle"))
        })
    });
    if is_command || is_delimited { part.to_owned() } else { braced(part) }
}

/// Escapes the characters that have a meaning in TeX, for a formula. `&` stays, which aligns equations.
fn escaped(text: &str) -> String {
    with_signs(text, ["\\backslash ", "\\wedge ", "\\sim "])
}

/// Escapes the characters that have a meaning in TeX, for words within a formula.
fn escaped_words(text: &str) -> String {
    with_signs(text, ["\\textbackslash{}", "\\textasciicircum{}", "\\textasciitilde{}"])
}

fn with_signs(text: &str, [backslash, caret, tilde]: [&str; 3]) -> String {
    let mut tex = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => tex.push_str(backslash),
            '{' | '}' | '#' | '$' | '%' | '_' => tex.extend(['\\', c]),
            '^' => tex.push_str(caret),
            '~' => tex.push_str(tilde),
            // Word marks the places of operators with these.
            '\u{2061}'..='\u{2064}' | '\u{200b}' => {}
            '\u{a0}' | '\n' | '\r' | '\t' => tex.push(' '),
            c => tex.push(c),
        }
    }
    tex
}

#[cfg(test)]
mod tests {
    use quick_xml::events::Event;
    use quick_xml::reader::Reader;

    use super::*;

    /// Reads an equation in which `x` is a run.
    fn tex(source: &str) -> String {
        let mut reader = Reader::from_str(source);
        crate::xml::configure(reader.config_mut());
        let mut equation = Equation::new();
        loop {
            match reader.read_event().expect("XML") {
                Event::Start(start) => {
                    equation.start(start.local_name().into_inner(), crate::xml::attribute(&start, "val"));
                }
                Event::End(_) => equation.end(),
                Event::Text(text) => equation.text(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    equation.text(&crate::xml::character(&reference).unwrap_or_default());
                }
                Event::Eof => return equation.tex(),
                _ => {}
            }
        }
    }

    fn r(text: &str) -> String {
        format!("<m:r><m:t>{text}</m:t></m:r>")
    }

    #[test]
    fn each_structure_has_its_notation() {
        let (a, b, n) = (r("a"), r("b+1"), r("n"));
        let cases = [
            (format!("<m:f><m:num>{a}</m:num><m:den>{b}</m:den></m:f>"), r"\frac{a}{b+1}"),
            (
                format!(
                    "<m:f><m:fPr><m:type m:val='lin'/></m:fPr><m:num>{a}</m:num><m:den>{b}</m:den></m:f>"
                ),
                "a/{b+1}",
            ),
            (format!("<m:sSup><m:e>{a}</m:e><m:sup>{}</m:sup></m:sSup>", r("2")), "a^2"),
            (format!("<m:sSup><m:e>{b}</m:e><m:sup>{b}</m:sup></m:sSup>"), "{b+1}^{b+1}"),
            (
                format!("<m:sSubSup><m:e>{a}</m:e><m:sub>{n}</m:sub><m:sup>{b}</m:sup></m:sSubSup>"),
                "a_n^{b+1}",
            ),
            (format!("<m:sPre><m:sub>{n}</m:sub><m:sup>{a}</m:sup><m:e>{b}</m:e></m:sPre>"), "{}_n^ab+1"),
            (
                format!("<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{a}</m:e></m:rad>"),
                r"\sqrt{a}",
            ),
            (format!("<m:rad><m:deg>{n}</m:deg><m:e>{a}</m:e></m:rad>"), r"\sqrt[n]{a}"),
            (
                format!(
                    "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{}</m:sub><m:sup>{n}</m:sup><m:e>{a}</m:e></m:nary>",
                    r("i=1")
                ),
                r"\sum_{i=1}^n a",
            ),
            (
                format!(
                    "<m:nary><m:naryPr><m:supHide/></m:naryPr><m:sub>{n}</m:sub><m:sup/><m:e>{a}</m:e></m:nary>"
                ),
                r"\int_n a",
            ),
            (format!("<m:d><m:e>{b}</m:e></m:d>"), r"\left(b+1\right)"),
            (format!("<m:d><m:e>{a}</m:e><m:e>{n}</m:e></m:d>"), r"\left(a | n\right)"),
            (
                format!("<m:d><m:dPr><m:begChr m:val='⌊'/><m:endChr m:val=''/></m:dPr><m:e>{a}</m:e></m:d>"),
                r"\left\lfloor a\right.",
            ),
            (format!("<m:acc><m:e>{a}</m:e></m:acc>"), r"\hat{a}"),
            (
                format!("<m:acc><m:accPr><m:chr m:val='\u{20d7}'/></m:accPr><m:e>{a}</m:e></m:acc>"),
                r"\vec{a}",
            ),
            (
                format!("<m:bar><m:barPr><m:pos m:val='top'/></m:barPr><m:e>{a}</m:e></m:bar>"),
                r"\overline{a}",
            ),
            (format!("<m:groupChr><m:e>{b}</m:e></m:groupChr>"), r"\underbrace{b+1}"),
            (format!("<m:func><m:fName>{}</m:fName><m:e>{a}</m:e></m:func>", r("sin")), r"\sin a"),
            (
                format!("<m:func><m:fName>{}</m:fName><m:e>{a}</m:e></m:func>", r("rank")),
                r"\operatorname{rank}a",
            ),
            (
                format!(
                    "<m:func><m:fName><m:limLow><m:e>{}</m:e><m:lim>{}</m:lim></m:limLow></m:fName><m:e>{a}</m:e></m:func>",
                    r("lim"),
                    r("x→0")
                ),
                r"\lim_{x→0}a",
            ),
            (
                "<m:r><m:rPr><m:scr m:val='double-struck'/></m:rPr><m:t>R</m:t></m:r>".to_owned(),
                r"\mathbb{R}",
            ),
            ("<m:r><m:rPr><m:nor/></m:rPr><m:t>if 5 %</m:t></m:r>".to_owned(), r"\text{if 5 \%}"),
            (r("a_1 &lt; {b}"), r"a\_1 < \{b\}"),
            (
                format!("<m:sSup><m:e><m:d><m:e>{b}</m:e></m:d></m:e><m:sup>{n}</m:sup></m:sSup>"),
                r"\left(b+1\right)^n",
            ),
            (
                format!("<m:sSup><m:e><m:d><m:e>{b}</m:e></m:d>{b}</m:e><m:sup>{n}</m:sup></m:sSup>"),
                r"{\left(b+1\right)b+1}^n",
            ),
            (
                "<m:r><m:rPr><m:nor/></m:rPr><m:t>a^b~c</m:t></m:r>".to_owned(),
                r"\text{a\textasciicircum{}b\textasciitilde{}c}",
            ),
        ];
        for (source, expected) in cases {
            assert_eq!(tex(&source), expected, "{source}");
        }
    }

    #[test]
    fn matrices_have_the_environment_of_their_delimiters() {
        let row = |a: &str, b: &str| format!("<m:mr><m:e>{}</m:e><m:e>{}</m:e></m:mr>", r(a), r(b));
        let rows = format!("<m:m><m:mPr/>{}{}</m:m>", row("1", "2"), row("3", "4"));
        let within = |begin: &str, end: &str, inside: &str| {
            tex(&format!(
                "<m:d><m:dPr><m:begChr m:val='{begin}'/><m:endChr m:val='{end}'/></m:dPr><m:e>{inside}</m:e></m:d>"
            ))
        };
        assert_eq!(tex(&rows), r"\begin{matrix}1 & 2 \\ 3 & 4\end{matrix}");
        assert_eq!(within("[", "]", &rows), r"\begin{bmatrix}1 & 2 \\ 3 & 4\end{bmatrix}");
        let cases = format!("<m:eqArr><m:e>{}</m:e><m:e>{}</m:e></m:eqArr>", r("1,&amp;x"), r("0"));
        assert_eq!(within("{", "", &cases), r"\begin{cases}1,&x \\ 0\end{cases}");
        let choose = format!(
            "<m:f><m:fPr><m:type m:val='noBar'/></m:fPr><m:num>{}</m:num><m:den>{}</m:den></m:f>",
            r("n"),
            r("k")
        );
        assert_eq!(within("(", ")", &choose), r"\binom{n}{k}");
    }

    #[test]
    fn equations_have_limits_and_may_end_anywhere() {
        assert_eq!(tex("<m:f><m:num><m:r><m:t>a"), r"\frac{a}{}");
        let long = r("x").repeat(MAX_ELEMENTS);
        assert_eq!(tex(&long).len(), MAX_ELEMENTS / 2);
        assert_eq!(tex("<m:r/>"), "");
    }
}
