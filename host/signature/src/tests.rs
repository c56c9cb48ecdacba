use minisign::KeyPair;

use super::*;

struct Keys {
    public: PublicKey,
    secret: String,
}

fn keys() -> Keys {
    let pair = KeyPair::generate_unencrypted_keypair().expect("a key");
    let secret = pair.sk.to_box(None).expect("a box").into_string();
    Keys { public: PublicKey::parse(&pair.pk.to_base64()).expect("a key"), secret }
}

fn statement(bytes: &[u8]) -> Statement {
    let text = format!("name=acme-echo version=1.2.0 sha256={}", digest(bytes));
    Statement::parse(&text).expect("a statement")
}

#[test]
fn what_was_signed_is_verified_with_the_key_and_with_no_other() {
    let keys = keys();
    let signature = sign(&keys.secret, None, b"bytes", &statement(b"bytes")).expect("a signature");
    assert_eq!(keys.public.verify_file(b"bytes", &signature), Ok(statement(b"bytes")));
    assert_eq!(keys.public.verify_statement(&signature), Ok(statement(b"bytes")));
    assert_eq!(keys.public.verify_file(b"other", &signature), Err(Unverified::Unfit));
    let other = self::keys();
    assert_eq!(other.public.verify_file(b"bytes", &signature), Err(Unverified::ByAnother));
    assert_eq!(other.public.verify_statement(&signature), Err(Unverified::ByAnother));
}

#[test]
fn a_key_that_claims_the_number_of_another_verifies_nothing() {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::STANDARD;
    let (keys, other) = (keys(), keys());
    let signature = sign(&keys.secret, None, b"bytes", &statement(b"bytes")).expect("a signature");
    let mut bytes = base64.decode(other.public.as_str()).expect("base64");
    bytes[2..10].copy_from_slice(&base64.decode(keys.public.as_str()).expect("base64")[2..10]);
    let forged = PublicKey::parse(&base64.encode(bytes)).expect("a key");
    assert!(forged.is_named_by(&signature));
    assert_eq!(forged.verify_file(b"bytes", &signature), Err(Unverified::Unfit));
    assert_eq!(forged.verify_statement(&signature), Err(Unverified::Unfit));
}

#[test]
fn a_comment_is_signed_too() {
    let keys = keys();
    let signature = sign(&keys.secret, None, b"bytes", &statement(b"bytes")).expect("a signature");
    let changed = signature.text().replace("version=1.2.0", "version=1.3.0");
    let changed = Signature::parse(&changed).expect("a signature");
    assert_eq!(keys.public.verify_file(b"bytes", &changed), Err(Unverified::Unfit));
    assert_eq!(keys.public.verify_statement(&changed), Err(Unverified::Unfit));
}

#[test]
fn a_comment_about_another_file_vouches_for_none() {
    let keys = keys();
    let signature = sign(&keys.secret, None, b"bytes", &statement(b"other")).expect("a signature");
    let said = keys.public.verify_file(b"bytes", &signature).expect_err("another file");
    assert!(matches!(said, Unverified::OtherFile { .. }), "{said}");
}

#[test]
fn a_statement_is_read_letter_by_letter() {
    let hash = digest(b"x");
    let good = format!("name=a-1 version=1.2.3-rc.1 sha256={hash}");
    assert_eq!(Statement::parse(&good).expect("a statement").to_string(), good);
    for bad in [
        String::new(),
        format!("{good} "),
        format!(" {good}"),
        format!("{good} more=1"),
        good.replace(' ', "  "),
        good.replace(' ', "\t"),
        good.replace("version=1.2.3-rc.1", "version=1.2"),
        good.replace("version=1.2.3-rc.1", "version=01.2.3"),
        good.replace("name=a-1", "name="),
        good.replace("name=a-1", "name=A"),
        good.replace("name=a-1", "name=a=b"),
        good.replace("name=a-1", &format!("name={}", "a".repeat(65))),
        good.replace("name=", "Name="),
        format!("version=1.2.3 name=a sha256={hash}"),
        format!("name=a name=a version=1.2.3 sha256={hash}"),
        good.replace(&hash, &hash.to_uppercase()),
        good.replace(&hash, &hash[1..]),
        "timestamp:1790000000\tfile:a\thashed".to_owned(),
    ] {
        assert!(Statement::parse(&bad).is_err(), "{bad:?}");
    }
}

#[test]
fn only_the_four_lines_of_a_hashed_signature_are_one() {
    let keys = keys();
    let signature = sign(&keys.secret, None, b"bytes", &statement(b"bytes")).expect("a signature");
    let text = signature.text();
    assert!(text.starts_with("untrusted comment: ") && text.lines().count() == 4);
    assert_eq!(Signature::parse(text.trim_end()).map(|_| ()), Ok(()));
    for bad in [
        String::new(),
        text.replace('\n', "\r\n"),
        format!("{text}more\n"),
        format!("\n{text}"),
        text.replace("untrusted comment: ", "comment: "),
        text.replace("\ntrusted comment: ", "\ntrusted: "),
        text.replace("\nRU", "\nXX"),
        text.lines().take(3).collect::<Vec<_>>().join("\n"),
        "x".repeat(5000),
    ] {
        assert!(matches!(Signature::parse(&bad), Err(SignatureError::Form(_))), "{bad:?}");
    }
    // Signature of the same key, marked as legacy.
    assert_eq!(Signature::parse(&text.replace("\nRU", "\nRW")), Err(SignatureError::Legacy));
}

#[test]
fn signatures_of_the_old_kind_do_not_count() {
    let legacy = include_str!("../../policy/tests/signatures/legacy.minisig");
    assert_eq!(Signature::parse(legacy), Err(SignatureError::Legacy));
}

#[test]
fn a_protected_key_signs_with_its_password_alone() {
    let pair = KeyPair::generate_encrypted_keypair(Some("open sesame".to_owned())).expect("a key");
    let secret = pair.sk.to_box(None).expect("a box").into_string();
    let public = PublicKey::parse(&pair.pk.to_base64()).expect("a key");
    assert_eq!(is_protected(&secret), Ok(true));
    let sign =
        |password: Option<&str>| sign(&secret, password.map(str::to_owned), b"bytes", &statement(b"bytes"));
    assert_eq!(sign(None), Err(SignError::NoPassword));
    assert_eq!(sign(Some("wrong")), Err(SignError::Password));
    let signature = sign(Some("open sesame")).expect("a signature");
    assert_eq!(public.verify_file(b"bytes", &signature), Ok(statement(b"bytes")));
}

#[test]
fn what_is_no_key_is_said() {
    let keys = keys();
    assert_eq!(is_protected(&keys.secret), Ok(false));
    for bad in ["", "one line", "a\nb\n", &format!("comment\n{}", keys.public.as_str())] {
        assert_eq!(is_protected(bad), Err(SignError::Key), "{bad:?}");
    }
    let written = keys.public.as_str();
    let file = format!("untrusted comment: minisign public key 1\n{written}\n");
    assert_eq!(PublicKey::parse_file(&file).expect("a key").as_str(), written);
    assert_eq!(PublicKey::parse_file(written).expect("a key").as_str(), written);
    for bad in ["", "RWQ", &format!("{written}\n{written}"), &written.replace("RW", "RX"), &keys.secret] {
        assert!(PublicKey::parse_file(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_new_key_signs_what_its_public_key_verifies() {
    for password in [None, Some("open sesame")] {
        let key = generate(password.map(str::to_owned)).expect("a key");
        assert_eq!(is_protected(&key.secret), Ok(password.is_some()));
        assert_eq!(PublicKey::parse_file(&key.public_file).expect("a key"), key.public);
        let made = sign(&key.secret, password.map(str::to_owned), b"bytes", &statement(b"bytes"));
        assert!(key.public.verify_file(b"bytes", &made.expect("a signature")).is_ok());
        let made = sign_text(&key.secret, password.map(str::to_owned), "text\n", "a hash").expect("signed");
        assert_eq!(key.public.verify(b"text\n", &made), Ok(()));
    }
}
