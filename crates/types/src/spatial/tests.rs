use proptest::prelude::*;

use super::*;

fn header(srid: i32, version: u8, properties: u8) -> Vec<u8> {
    let mut bytes = srid.to_le_bytes().to_vec();
    bytes.extend([version, properties]);
    bytes
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Points, figures (attribute, first point) and shapes (parent, first figure, type).
fn complex(points: &[(f64, f64)], figures: &[(u8, i32)], shapes: &[(i32, i32, u8)]) -> Vec<u8> {
    let mut bytes = header(0, 1, 0x04);
    bytes.extend((points.len() as u32).to_le_bytes());
    for (x, y) in points {
        bytes.extend(floats(&[*x, *y]));
    }
    bytes.extend((figures.len() as u32).to_le_bytes());
    for (attribute, first) in figures {
        bytes.push(*attribute);
        bytes.extend(first.to_le_bytes());
    }
    bytes.extend((shapes.len() as u32).to_le_bytes());
    for (parent, figure, kind) in shapes {
        bytes.extend(parent.to_le_bytes());
        bytes.extend(figure.to_le_bytes());
        bytes.push(*kind);
    }
    bytes
}

fn geometry(bytes: &[u8]) -> Option<String> {
    to_text(SpatialKind::Geometry, bytes).map(|value| value.text)
}

#[test]
fn a_single_point_has_srid_and_swapped_coordinates_on_the_globe() {
    let bytes = [header(4326, 1, 0x0C), floats(&[47.65100, -122.34900])].concat();
    let value = to_text(SpatialKind::Geography, &bytes).unwrap();
    assert_eq!(value, Spatial { srid: 4326, text: "POINT (-122.349 47.651)".to_owned() });
    assert_eq!(geometry(&bytes).unwrap(), "POINT (47.651 -122.349)");
    let with_z_m = [header(0, 1, 0x0F), floats(&[1.0, 2.0, 3.0, 4.5])].concat();
    assert_eq!(geometry(&with_z_m).unwrap(), "POINT (1 2 3 4.5)");
    let with_m = [header(0, 1, 0x0E), floats(&[1.0, 2.0, 4.5])].concat();
    assert_eq!(geometry(&with_m).unwrap(), "POINT (1 2 NULL 4.5)");
    let line = [header(0, 1, 0x14), floats(&[0.0, 1.0, 2.0, 3.0])].concat();
    assert_eq!(geometry(&line).unwrap(), "LINESTRING (0 1, 2 3)");
}

#[test]
fn shapes_are_written_with_their_figures() {
    let ring = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 0.0)];
    let hole = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 1.0)];
    let both = [ring, hole].concat();
    assert_eq!(
        geometry(&complex(&both, &[(2, 0), (0, 4)], &[(-1, 0, 3)])).unwrap(),
        "POLYGON ((0 0, 4 0, 4 4, 0 0), (1 1, 2 1, 2 2, 1 1))"
    );
    assert_eq!(
        geometry(&complex(&both, &[(2, 0), (2, 4)], &[(-1, 0, 6), (0, 0, 3), (0, 1, 3)])).unwrap(),
        "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((1 1, 2 1, 2 2, 1 1)))"
    );
    assert_eq!(
        geometry(&complex(
            &[(1.0, 2.0), (3.0, 4.0)],
            &[(1, 0), (1, 1)],
            &[(-1, 0, 4), (0, 0, 1), (0, 1, 1)]
        ))
        .unwrap(),
        "MULTIPOINT ((1 2), (3 4))"
    );
    assert_eq!(geometry(&complex(&[], &[], &[(-1, -1, 7)])).unwrap(), "GEOMETRYCOLLECTION EMPTY");
    assert_eq!(geometry(&complex(&[], &[], &[(-1, -1, 1)])).unwrap(), "POINT EMPTY");
}

#[test]
fn collections_nest() {
    let points = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 4.0)];
    let figures = [(1, 0), (1, 1), (1, 3)];
    let shapes = [(-1, 0, 7), (0, 0, 1), (0, 1, 7), (2, 1, 2), (0, 2, 1), (0, -1, 3)];
    assert_eq!(
        geometry(&complex(&points, &figures, &shapes)).unwrap(),
        "GEOMETRYCOLLECTION (POINT (1 1), GEOMETRYCOLLECTION (LINESTRING (2 2, 3 3)), POINT (4 4), POLYGON EMPTY)"
    );
}

#[test]
fn what_is_not_certain_is_refused() {
    let point = [header(0, 1, 0x0C), floats(&[1.0, 2.0])].concat();
    let cases: [Vec<u8>; 9] = [
        Vec::new(),
        point[..20].to_vec(),
        [point.clone(), vec![0]].concat(),
        [header(0, 3, 0x0C), floats(&[1.0, 2.0])].concat(),
        [header(0, 1, 0x1C), floats(&[1.0, 2.0])].concat(),
        [header(0, 1, 0x04), u32::MAX.to_le_bytes().to_vec()].concat(),
        complex(&[(1.0, 1.0)], &[(1, 0)], &[(-1, 0, 9)]),
        complex(&[(1.0, 1.0)], &[(1, 2)], &[(-1, 0, 1)]),
        complex(&[(1.0, 1.0)], &[(1, 0)], &[(0, 0, 1)]),
    ];
    for bytes in cases {
        assert_eq!(geometry(&bytes), None, "{bytes:02X?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = to_text(SpatialKind::Geography, &bytes);
    }

    #[test]
    fn no_structure_makes_it_panic(
        points in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..5),
        figures in proptest::collection::vec((0u8..4, -1i32..6), 0..5),
        shapes in proptest::collection::vec((-1i32..6, -1i32..6, 0u8..12), 0..6),
    ) {
        let _ = geometry(&complex(&points, &figures, &shapes));
    }
}
