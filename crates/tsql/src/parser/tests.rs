use super::*;

#[test]
fn smoke() {
    parse("SELECT 1", Options::default()).unwrap();
}
