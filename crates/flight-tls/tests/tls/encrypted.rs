//! Private keys under a password: those that open, and those that do not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use flight_pki::{Host, KeyKind};
use flight_tls::{ClientIdentity, KeyPassword, ServerIdentity};
use pkcs8::der::pem::LineEnding;
use pkcs8::pkcs5::pbes2::{EncryptionScheme, Kdf, Parameters, Pbkdf2Params, ScryptParams};
use pkcs8::{PrivateKeyInfoRef, SecretDocument};

use crate::folder::{Folder, authority, client, server};
use crate::key_forms::sec1;

/// The key under `password`, with so few iterations that it is fast.
fn sealed(key_pem: &str, password: &str) -> String {
    let scheme = Parameters::generate_pbkdf2_sha256_aes256cbc(100, b"saltsalt", [7; 16]);
    sealed_with(key_pem, password, scheme.unwrap())
}

fn sealed_with(key_pem: &str, password: &str, scheme: Parameters) -> String {
    let (_, der) = SecretDocument::from_pem(key_pem).unwrap();
    let info = PrivateKeyInfoRef::try_from(der.as_bytes()).unwrap();
    let sealed = info.encrypt_with_params(scheme, password).unwrap();
    sealed.to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF).unwrap().to_string()
}

/// Loads a server's pair; the password file has these contents.
fn load(cert: &str, key: &str, password: impl AsRef<[u8]>) -> Result<(), String> {
    let folder = Folder::new();
    let (cert, key) = (folder.write("server.pem", cert), folder.write("server.key", key));
    let file = folder.write("password", password);
    let loaded = KeyPassword::read(&file)
        .and_then(|password| ServerIdentity::load_with(&cert, &key, Some(&password)));
    loaded.map(|_| ()).map_err(|error| folder.without_path(&error))
}

#[test]
fn the_first_line_of_the_password_file_opens_a_key() {
    let root = authority();
    for kind in [KeyKind::P256, KeyKind::Rsa2048, KeyKind::Ed25519] {
        let issued = root.server(&Host::loopback(), kind).unwrap();
        let key = sealed(&issued.key_pem, "open sesame");
        for line in ["open sesame", "open sesame\n", "open sesame\r\n", "open sesame\nmore\n"] {
            assert_eq!(load(&issued.cert_pem, &key, line), Ok(()), "{kind} {line:?}");
        }
    }
}

#[test]
fn bytes_of_a_password_are_taken_as_they_are() {
    let issued = server(&authority());
    for password in [" x ", "pässwörd", "\t"] {
        assert_eq!(load(&issued.cert_pem, &sealed(&issued.key_pem, password), password), Ok(()));
    }
}

#[test]
fn a_key_that_is_not_encrypted_needs_no_password_and_minds_none() {
    let issued = server(&authority());
    assert_eq!(load(&issued.cert_pem, &issued.key_pem, "any"), Ok(()));
}

#[test]
fn certificates_and_an_encrypted_key_may_share_a_file() {
    let issued = server(&authority());
    let both = sealed(&issued.key_pem, "p") + &issued.cert_pem;
    assert_eq!(load(&both, &both.replace('\n', "\r\n"), "p"), Ok(()));
}

#[test]
fn a_client_key_may_be_encrypted_too() {
    let folder = Folder::new();
    let issued = client(&authority());
    let cert = folder.write("client.pem", &issued.cert_pem);
    let key = folder.write("client.key", sealed(&issued.key_pem, "p"));
    let password = KeyPassword::read(&folder.write("password", "p")).unwrap();
    assert!(ClientIdentity::load_with(&cert, &key, Some(&password)).is_ok());
    let sentence = folder.without_path(&ClientIdentity::load(&cert, &key).unwrap_err());
    assert_eq!(
        sentence,
        "the private key in client.key is encrypted; give its password with \
         --tls-key-password-file FILE, or decrypt it into a file that only this user may read: \
         openssl pkey -in client.key -out client.key.new"
    );
}

#[test]
fn a_wrong_password_is_told_from_a_damaged_key_every_time() {
    let issued = server(&authority());
    let key = sealed(&issued.key_pem, "right");
    // In one of 256 the padding looks right.
    for attempt in 0..1_000 {
        assert_eq!(
            load(&issued.cert_pem, &key, format!("wrong {attempt}")),
            Err("the password in password does not open the private key in server.key; give the \
                 one that it was encrypted with"
                .to_owned())
        );
    }
}

#[test]
fn password_files_that_will_not_do() {
    let issued = server(&authority());
    let key = sealed(&issued.key_pem, "p");
    let check = |password: &[u8], expected: &str| {
        assert_eq!(load(&issued.cert_pem, &key, password), Err(expected.to_owned()));
    };
    let empty = "the first line of password is empty; write the password there";
    check(b"", empty);
    check(b"\np\n", empty);
    check(b"\r\np\n", empty);
    check(
        &[b'p'; 4_097],
        "password is larger than 4096 bytes; give a file whose first line is the password",
    );
    let missing = KeyPassword::read(Path::new("/nowhere/password")).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read /nowhere/password: No such file"), "{missing}");
}

#[test]
fn a_password_that_others_may_read_is_warned_about() {
    let folder = Folder::new();
    let file = folder.write("password", "p");
    let check = |mode: u32, expected: Option<&str>| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let warning = KeyPassword::warning(&file).map(|it| folder.without_path(&it));
        assert_eq!(warning.as_deref(), expected);
    };
    check(0o600, None);
    check(0o400, None);
    check(
        0o640,
        Some(
            "the password in password can be read by others than its owner (mode 640); \
             run: chmod 600 password",
        ),
    );
    check(
        0o604,
        Some(
            "the password in password can be read by others than its owner (mode 604); \
             run: chmod 600 password",
        ),
    );
    let shown = format!("{:?}", KeyPassword::read(&folder.write("password", "sesame")).unwrap());
    assert!(!shown.contains("sesame") && !shown.contains("115"), "{shown}");
}

#[test]
fn work_that_a_key_asks_for_is_refused_before_it_is_done() {
    let issued = server(&authority());
    let cheap = sealed(&issued.key_pem, "p");
    let (_, der) = SecretDocument::from_pem(&cheap).unwrap();
    // The iterations, 100, grow to 2^31 - 1: two lengths around the number grow with it.
    let small = [0x02, 0x01, 100];
    let at = der.as_bytes().windows(3).position(|it| it == small).unwrap();
    let large = [0x02, 0x04, 0x7f, 0xff, 0xff, 0xff];
    let mut der = der.as_bytes().to_vec();
    der.splice(at..at + 3, large);
    let before = |der: &mut [u8], offset: usize| der[at - offset] += 3;
    // The salt's 8 bytes with their header, then the header of the sequence that holds them.
    before(&mut der, 11);
    let pbkdf2 = at - 12;
    assert_eq!(der[pbkdf2], 0x30);
    // Before it the object identifier of PBKDF2 (11 bytes), and the sequence around both.
    der[pbkdf2 - 12] += 3;
    der[pbkdf2 - 14] += 3;
    der[pbkdf2 - 27] += 3;
    der[2] += 3;
    let key = crate::key_forms::pem("ENCRYPTED PRIVATE KEY", &der);
    assert_eq!(
        load(&issued.cert_pem, &key, "p"),
        Err("the private key in server.key asks for 2147483647 iterations of PBKDF2, not 1 to \
             10000000; encrypt it anew: openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf \
             hmacWithSHA256 -in server.key -out server.key.new"
            .to_owned())
    );
}

#[test]
fn scrypt_opens_within_its_bounds_and_no_further() {
    let issued = server(&authority());
    let scheme = |cost_parameter| {
        let cheap = Pbkdf2Params::hmac_sha256(1, b"saltsalt").unwrap();
        let kdf = Kdf::Scrypt(ScryptParams {
            salt: cheap.salt,
            cost_parameter,
            block_size: 8,
            parallelization: 1,
            key_length: None,
        });
        Parameters { kdf, encryption: EncryptionScheme::Aes256Cbc { iv: [7; 16] } }
    };
    let key = sealed_with(&issued.key_pem, "p", scheme(16));
    assert_eq!(load(&issued.cert_pem, &key, "p"), Ok(()));
    // 16 becomes 17, which scrypt has not; the bytes that follow it are the block size.
    let (_, der) = SecretDocument::from_pem(&key).unwrap();
    let mut der = der.as_bytes().to_vec();
    let at = der.windows(6).position(|it| it == [0x02, 0x01, 16, 0x02, 0x01, 8]).unwrap();
    der[at + 2] = 17;
    let key = crate::key_forms::pem("ENCRYPTED PRIVATE KEY", &der);
    let sentence = load(&issued.cert_pem, &key, "p").unwrap_err();
    assert!(sentence.contains("scrypt with N=17, r=8, p=1, which does not exist"), "{sentence}");
}

#[test]
fn an_encrypted_key_cut_or_changed_anywhere_is_refused() {
    let issued = server(&authority());
    let (_, whole) = SecretDocument::from_pem(&sealed(&issued.key_pem, "p")).unwrap();
    let whole = whole.as_bytes();
    let folder = Folder::new();
    let cert = folder.write("server.pem", &issued.cert_pem);
    let password = KeyPassword::read(&folder.write("password", "p")).unwrap();
    let refused = |der: &[u8]| {
        let key = crate::key_forms::pem("ENCRYPTED PRIVATE KEY", der);
        let key = folder.write("server.key", key);
        ServerIdentity::load_with(&cert, &key, Some(&password)).is_err()
    };
    for length in 0..whole.len() {
        assert!(refused(&whole[..length]), "cut to {length}");
    }
    for index in 0..whole.len() {
        let mut changed = whole.to_vec();
        changed[index] ^= 0x40;
        assert!(refused(&changed), "byte {index} changed");
    }
}

#[test]
fn the_old_way_of_openssl_is_told_with_the_command_that_converts() {
    let issued = server(&authority());
    let headers = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC\n";
    let key = sec1(&issued.key_pem).replace("-----BEGIN EC PRIVATE KEY-----\n", headers);
    assert_eq!(
        load(&issued.cert_pem, &key, "p"),
        Err("the private key in server.key is encrypted in OpenSSL's old way (Proc-Type: \
             4,ENCRYPTED), which is not read; convert it: openssl pkcs8 -topk8 -v2 aes-256-cbc \
             -v2prf hmacWithSHA256 -in server.key -out server.key.new"
            .to_owned())
    );
}

/// Runs openssl in the folder; `None` where there is none.
#[allow(clippy::print_stderr, reason = "a test that did not run says so")]
fn openssl(folder: &Folder, line: &str) -> Option<()> {
    let ran = Command::new("openssl").args(line.split(' ')).current_dir(folder.path()).output();
    let Ok(output) = ran else {
        eprintln!("did not run: there is no openssl");
        return None;
    };
    assert!(output.status.success(), "{line}: {output:?}");
    Some(())
}

/// A key that `line` makes of `plain.key`, loaded with the password `sesame`.
fn check_openssl(line: &str, expected: Result<(), &str>) {
    let folder = Folder::new();
    let issued = server(&authority());
    folder.write("plain.key", &issued.key_pem);
    // OpenSSL takes the second line for the key that it writes.
    folder.write("password", "sesame\nsesame\n");
    let cert = folder.write("server.pem", &issued.cert_pem);
    if openssl(&folder, line).is_none() {
        return;
    }
    let load = |key: PathBuf| {
        let password = KeyPassword::read(&folder.path().join("password")).unwrap();
        let loaded = ServerIdentity::load_with(&cert, &key, Some(&password));
        loaded.map(|_| ()).map_err(|error| folder.without_path(&error))
    };
    let found = load(folder.path().join("server.key"));
    match expected {
        Ok(()) => assert_eq!(found, Ok(()), "{line}"),
        Err(part) => {
            let sentence = found.unwrap_err();
            assert!(sentence.contains(part), "{line}: {sentence}");
            // The way out that the sentence gives does what it says.
            let (_, command) = sentence.split_once(": openssl ").unwrap();
            let ways = "-passin file:password -passout file:password";
            openssl(&folder, &format!("{command} {ways}")).unwrap();
            assert_eq!(load(folder.path().join("server.key.new")), Ok(()), "{line}");
        }
    }
}

#[test]
fn keys_that_openssl_encrypted_are_opened() {
    let to = "-topk8 -in plain.key -out server.key -passout file:password";
    check_openssl(&format!("pkcs8 {to}"), Ok(()));
    check_openssl(&format!("pkcs8 -v2 aes-128-cbc -v2prf hmacWithSHA512 {to}"), Ok(()));
    check_openssl(&format!("pkcs8 -iter 100000 {to}"), Ok(()));
    check_openssl(&format!("pkcs8 -scrypt {to}"), Ok(()));
}

#[test]
fn keys_that_openssl_encrypted_badly_are_told_with_a_command_that_works() {
    let to = "-topk8 -in plain.key -out server.key -passout file:password";
    check_openssl(&format!("pkcs8 -v2 des3 {to}"), Err("is encrypted with"));
    check_openssl(&format!("pkcs8 -v2prf hmacWithSHA1 {to}"), Err("is encrypted with"));
    check_openssl(&format!("pkcs8 -iter 10000001 {to}"), Err("asks for 10000001 iterations"));
    let old = "ec -aes128 -in plain.key -out server.key -passout file:password";
    check_openssl(old, Err("in OpenSSL's old way"));
}
