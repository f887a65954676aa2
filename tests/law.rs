//! The core against the judge: streams made at random, and what fuzzing found worth keeping.

mod core_judge;

use core_judge::check::{HEAD, check, random};

const PIECES: [&[u8]; 64] = [
    b"data",
    b"data:",
    b"data: ",
    b"data: x\n",
    b"data:  y",
    b"data\n",
    b"data: a\n\n",
    b"datas",
    b"event",
    b"event:",
    b"event: ",
    b"event: error\n",
    b"event: x",
    b"events: x\n",
    b"even",
    b"e",
    b"id",
    b"id:",
    b"id: ",
    b"id: 7\n",
    b"id: \0\n",
    b"ids: 7\n",
    b"i",
    b"id:aa\r\n",
    b"retry",
    b"retry: ",
    b"retry: 12\n",
    b"retry: 99999999999999999999\n",
    b"retry:0",
    b"retr",
    b"retry: 1x\n",
    b"retry: 9223372036854775807\n",
    b":",
    b": ",
    b": comment\n",
    b"::",
    b" ",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\r",
    b"\r\n\r\n",
    b"\n\r",
    b"\r\n\n",
    b"\xEF\xBB\xBF",
    b"\xEF",
    b"\xEF\xBB",
    b"\0",
    b"\xFF",
    b"\xC3",
    b"\xE2\x82",
    b"\xF0\x9F\x98",
    b"\xC3\xA9",
    b"\x02",
    b"\x03\n",
    b"x",
    b"7",
    b"a-b_c 9: v\n",
    b"Data: ",
    b"other\n",
    b"\xE2\x80\xA8",
    b"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
];

/// The four bytes that choose options and cutting, then pieces of streams.
fn example(seed: &mut u64) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..HEAD).map(|_| random(seed) as u8).collect();
    if !random(seed).is_multiple_of(4) {
        bytes[0] &= 0b111_1000; // nothing to tell but events: the fast ways
    }
    for _ in 0..random(seed) % 24 {
        bytes.extend_from_slice(PIECES[random(seed) as usize % PIECES.len()]);
        if random(seed).is_multiple_of(3) {
            bytes.extend_from_slice(b"\n");
        }
    }
    bytes
}

#[test]
fn random_streams() {
    let mut seed = 1;
    for _ in 0..8_000 {
        check(&example(&mut seed));
    }
}

#[test]
fn a_line_that_is_more_than_is_kept() {
    let mut seed = 2;
    for at in 0..24_u8 {
        let mut bytes = vec![at & 0b111 | 0b1100_0000, 0, 220 + at, at];
        bytes.extend_from_slice(
            [&b"data: \x04\n"[..], b"id:\x04\r", b"event: \x04\n"][at as usize % 3],
        );
        bytes.extend_from_slice(&example(&mut seed)[HEAD..]);
        check(&bytes);
    }
}

#[test]
fn the_corpus() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/parser");
    let mut found = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(file.unwrap().path()).unwrap());
        found += 1;
    }
    assert!(found > 40, "only {found} files in {folder}");
}
