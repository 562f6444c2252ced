//! The rules of the house as ordinary tests, so that `cargo test --workspace` keeps them.

use xtask::house::House;

#[test]
fn the_house_is_tidy() {
    let house = House::read(&xtask::house::root()).unwrap();
    let complaints: Vec<String> =
        xtask::tidy::complaints(&house).iter().map(ToString::to_string).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_manifests_keep_to_the_floor_table() {
    let complaints = xtask::deps::complaints(&xtask::house::root()).unwrap();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
