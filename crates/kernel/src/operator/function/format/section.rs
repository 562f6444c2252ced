//! Custom patterns of numbers: sections by the sign, digits, points and texts.

use super::number::Number;

/// The parts of a custom pattern between semicolons that are not quoted.
pub(super) fn sections(pattern: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quote = None;
    let mut characters = pattern.chars();
    while let Some(it) = characters.next() {
        if it == ';' && quote.is_none() {
            sections.push(String::new());
            continue;
        }
        match quote {
            Some(open) if open == it => quote = None,
            None if matches!(it, '\'' | '"') => quote = Some(it),
            _ => {}
        }
        if let Some(section) = sections.last_mut() {
            section.push(it);
            if it == '\\' {
                section.extend(characters.next());
            }
        }
    }
    sections
}

/// An element of a section.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// `0` (true) or `#`.
    Digit(bool),
    Point,
    Text(String),
    /// `E+0`: the letter, whether a plus is shown, digits at least.
    Exponent(char, bool, usize),
}

#[derive(Debug, Default)]
pub(super) struct Section {
    pieces: Vec<Piece>,
    has_groups: bool,
    /// Divisions by 1,000: commas before the point.
    thousands: usize,
    /// Multiplications by ten: 2 for each `%`, 3 for each `‰`.
    up: usize,
}

impl Section {
    pub(super) fn parse(pattern: &str) -> Section {
        let mut section = Section::default();
        let characters: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        let mut commas = 0;
        let mut has_point = false;
        while let Some(it) = characters.get(at).copied() {
            at += 1;
            match it {
                '0' | '#' => {
                    let has_digit =
                        section.pieces.iter().any(|piece| matches!(piece, Piece::Digit(_)));
                    section.has_groups |= commas > 0 && has_digit && !has_point;
                    commas = 0;
                    section.pieces.push(Piece::Digit(it == '0'));
                }
                ',' => commas += 1,
                '.' if !has_point => {
                    has_point = true;
                    section.thousands += commas;
                    commas = 0;
                    section.pieces.push(Piece::Point);
                }
                '.' => {}
                '%' | '‰' => {
                    section.up += if it == '%' { 2 } else { 3 };
                    section.text(it.to_string());
                }
                '\\' => {
                    section.text(characters.get(at).map(char::to_string).unwrap_or_default());
                    at += 1;
                }
                '\'' | '"' => {
                    let rest = characters.get(at..).unwrap_or_default();
                    let len = rest.iter().position(|end| *end == it).unwrap_or(rest.len());
                    section.text(rest.iter().take(len).collect());
                    at += len + 1;
                }
                'E' | 'e' => at = section.exponent(it, &characters, at),
                other => section.text(other.to_string()),
            }
        }
        if !has_point {
            section.thousands += commas;
        }
        section
    }

    fn text(&mut self, text: String) {
        self.pieces.push(Piece::Text(text));
    }

    /// `E0`, `E+0`, `E-0`; else a letter. Gives the place after it.
    fn exponent(&mut self, letter: char, characters: &[char], at: usize) -> usize {
        let sign = characters.get(at).copied();
        let from = at + usize::from(matches!(sign, Some('+' | '-')));
        let zeros = characters.iter().skip(from).take_while(|it| **it == '0').count();
        if zeros == 0 {
            self.text(letter.to_string());
            return at;
        }
        self.pieces.push(Piece::Exponent(letter, sign == Some('+'), zeros));
        from + zeros
    }

    pub(super) fn write(&self, number: &Number) -> String {
        let point = self.pieces.iter().position(|piece| *piece == Piece::Point);
        let (before, after) = match point {
            Some(point) => self.pieces.split_at_checked(point).unwrap_or((&self.pieces, &[])),
            None => (self.pieces.as_slice(), &[][..]),
        };
        let digits = |pieces: &[Piece]| -> Vec<bool> {
            let digit = |piece: &Piece| match piece {
                Piece::Digit(is_zero) => Some(*is_zero),
                _ => None,
            };
            pieces.iter().filter_map(digit).collect()
        };
        let whole_digits = digits(before);
        let decimals = digits(after);
        let has_exponent = self.pieces.iter().any(|piece| matches!(piece, Piece::Exponent(..)));
        let mut exponent = 0;
        let mut scaled = number.shifted(self.up);
        if self.thousands > 0 {
            scaled = divided(&scaled, self.thousands * 3);
        }
        if has_exponent {
            let (digits, own) = scaled.significant();
            let places = whole_digits.len().max(1);
            exponent = own + 1 - places as i64;
            let padded = format!("{digits:0<places$}");
            let (whole, fraction) = padded.split_at_checked(places).unwrap_or((&padded, ""));
            scaled = Number {
                whole: whole.trim_start_matches('0').to_owned(),
                fraction: fraction.to_owned(),
                ..scaled
            };
        }
        let rounded = scaled.rounded(decimals.len());
        let mut text = String::new();
        self.write_whole(before, &whole_digits, &rounded.whole, &mut text, exponent);
        write_fraction(after, &decimals, &rounded.fraction, &mut text, exponent);
        text
    }

    /// Digits that no piece stands for go before the first one.
    fn write_whole(
        &self,
        pieces: &[Piece],
        digits: &[bool],
        whole: &str,
        text: &mut String,
        exponent: i64,
    ) {
        let first_zero = digits.iter().position(|is_zero| *is_zero).unwrap_or(digits.len());
        let least = digits.len() - first_zero;
        let shown = format!("{whole:0>least$}");
        let extra = shown.len().saturating_sub(digits.len());
        let mut rest = shown.chars();
        let mut left = shown.len();
        let mut put = |text: &mut String, count: usize| {
            for digit in rest.by_ref().take(count) {
                text.push(digit);
                left -= 1;
                if self.has_groups && left > 0 && left % 3 == 0 {
                    text.push(',');
                }
            }
        };
        let mut place = digits.len();
        for piece in pieces {
            match piece {
                Piece::Digit(_) => {
                    if place == digits.len() {
                        put(text, extra);
                    }
                    if place <= shown.len() {
                        put(text, 1);
                    }
                    place -= 1;
                }
                other => write_piece(other, exponent, text),
            }
        }
    }
}

fn write_piece(piece: &Piece, exponent: i64, text: &mut String) {
    match piece {
        Piece::Text(own) => text.push_str(own),
        Piece::Exponent(letter, has_plus, least) => {
            let sign = match exponent < 0 {
                true => "-",
                false if *has_plus => "+",
                false => "",
            };
            text.push_str(&format!("{letter}{sign}{:0least$}", exponent.abs()));
        }
        _ => {}
    }
}

fn write_fraction(
    pieces: &[Piece],
    digits: &[bool],
    fraction: &str,
    text: &mut String,
    exponent: i64,
) {
    let needed = digits.iter().rposition(|is_zero| *is_zero).map_or(0, |at| at + 1);
    let shown = fraction.trim_end_matches('0').len().max(needed);
    let mut rest = fraction.chars().take(shown);
    for piece in pieces {
        match piece {
            Piece::Point if shown > 0 => text.push('.'),
            Piece::Digit(_) => text.extend(rest.next()),
            other => write_piece(other, exponent, text),
        }
    }
}

/// A number divided by a power of ten.
fn divided(number: &Number, by: usize) -> Number {
    let padded = format!("{:0>width$}", number.whole, width = by + 1);
    let cut = padded.len() - by;
    let (whole, more) = padded.split_at_checked(cut).unwrap_or((&padded, ""));
    Number {
        whole: whole.trim_start_matches('0').to_owned(),
        fraction: format!("{more}{}", number.fraction),
        ..number.clone()
    }
}
