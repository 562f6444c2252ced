use extentdb_synth::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let size = if let Some(r) = a[3].strip_prefix("rows=") {
        Size::Rows(r.parse().unwrap())
    } else {
        Size::Bytes(a[3].parse::<u64>().unwrap() << 20)
    };
    let paths: Vec<std::path::PathBuf> = a[4..].iter().map(|p| p.into()).collect();
    let refs: Vec<&std::path::Path> = paths.iter().map(|p| p.as_path()).collect();
    let t = std::time::Instant::now();
    let r = make(&MakeOptions { shape: a[1].clone(), size, seed: a[2].parse().unwrap() }, &refs, &mut |_| {})
        .unwrap();
    let b: u64 = r.files.iter().map(|f| f.1).sum();
    println!(
        "{:?}\n{} MB in {:?} = {:.2} GB/min",
        r,
        b >> 20,
        t.elapsed(),
        b as f64 / 1e9 / t.elapsed().as_secs_f64() * 60.0
    );
}
