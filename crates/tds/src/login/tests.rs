use super::*;

fn login() -> Login {
    Login {
        tds_version: 0x7400_0004,
        packet_bytes: 8000,
        program_version: 0x0102_0304,
        process_id: 77,
        flags: LoginFlags { option1: 0xE0, option2: 0x03, kind: 0x20, option3: 0 },
        time_zone_minutes: -60,
        lcid: 0x0409,
        host: "host".to_owned(),
        user: "sa".to_owned(),
        password: Password::new("pä$$w0rd"),
        application: "app".to_owned(),
        server: "server".to_owned(),
        library: "lib".to_owned(),
        language: "us_english".to_owned(),
        database: "master".to_owned(),
        client_id: [1, 2, 3, 4, 5, 6],
        ..Login::default()
    }
}

#[track_caller]
fn round_trip(login: &Login) -> Vec<u8> {
    let mut bytes = Vec::new();
    login.write(&mut bytes).unwrap();
    assert_eq!(Login::read(&bytes).as_ref(), Ok(login));
    bytes
}

#[test]
fn a_login_comes_back_in_every_version() {
    for version in TdsVersion::ALL {
        let login = Login { tds_version: version.raw(), ..login() };
        let bytes = round_trip(&login);
        assert_eq!(login.version(), Some(version));
        let fixed = if version == TdsVersion::V7_1 { 86 } else { 94 };
        assert_eq!(bytes[36..38], [fixed, 0], "the host name follows the fixed part");
    }
}

#[test]
fn features_come_back_also_unknown_ones() {
    let features = vec![
        Feature::new(FeatureId::Utf8Support, &[]),
        Feature { id: 0x7E, data: vec![1, 2, 3] },
        Feature::new(FeatureId::SessionRecovery, &[0; 300]),
    ];
    let mut login = Login { features: Some(features), ..login() };
    login.flags.option3 |= HAS_EXTENSION;
    round_trip(&login);
    assert!(login.feature(FeatureId::Utf8Support).is_some());
    assert!(login.feature(FeatureId::Vector).is_none());
    login.features = Some(Vec::new());
    round_trip(&login);
}

#[test]
fn an_extension_block_is_not_looked_for_before_7_4() {
    let mut bytes = Vec::new();
    Login { tds_version: 0x730B_0003, ..login() }.write(&mut bytes).unwrap();
    bytes[27] |= HAS_EXTENSION;
    assert_eq!(Login::read(&bytes).unwrap().features, None);
}

#[test]
fn integrated_security_is_recognised_with_tokens_of_any_length() {
    for length in [1, 0xFFFE, 0xFFFF, 100_000] {
        let mut login = Login { sspi: vec![9; length], user: String::new(), ..login() };
        login.flags.option2 |= 0x80;
        round_trip(&login);
        assert!(login.wants_integrated_security());
    }
}

#[test]
fn a_new_password_and_a_file_to_attach_come_back() {
    let mut login = Login {
        new_password: Password::new("next"),
        attach_file: "a.mdf".to_owned(),
        ..login()
    };
    login.flags.option3 |= 1;
    round_trip(&login);
    assert!(login.flags.changes_password());
}

#[test]
fn logins_before_7_1_are_refused_by_their_version() {
    let mut bytes = Vec::new();
    login().write(&mut bytes).unwrap();
    bytes[4..8].copy_from_slice(&0x7000_0000u32.to_le_bytes());
    let error = Login::read(&bytes).unwrap_err();
    assert_eq!(error, DecodeError { at: 4, cause: Cause::Version { raw: 0x7000_0000 } });
}

#[test]
fn lengths_past_the_end_are_refused() {
    let mut bytes = Vec::new();
    login().write(&mut bytes).unwrap();
    let mut long = bytes.clone();
    long[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Login::read(&long).unwrap_err().at, 0);
    let mut far = bytes.clone();
    far[38..40].copy_from_slice(&u16::MAX.to_le_bytes());
    assert!(Login::read(&far).unwrap_err().is_incomplete());
    for end in 0..bytes.len() {
        assert!(Login::read(&bytes[..end]).is_err(), "{end}");
    }
}
