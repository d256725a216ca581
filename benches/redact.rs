//! What does redaction cost on output, and on the lines that cost most?

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write as _;
use std::hint::black_box;
use tollgate::record::redact::Stream;
use tollgate::record::{Context, Redactor};

/// One megabyte of what builds, listings, logs and sources print.
fn output() -> String {
    let mut text = String::new();
    for n in 0u64.. {
        let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(text, "   Compiling crate-{n} v1.{}.{} (/src/crates/crate-{n})", n % 40, n % 7)
            .expect("a string grows");
        writeln!(text, "checksum = \"{hash:016x}{hash:016x}{hash:016x}{hash:016x}\"").expect("a string grows");
        writeln!(text, "-rw-r--r-- 1 root root {:>8} Dec  1 12:{:02} module_{n}.rs", hash % 99_999, n % 60)
            .expect("a string grows");
        writeln!(text, "    let value = self.table.get(index + {n}).map_or(0, |row| row.len());")
            .expect("a string grows");
        writeln!(
            text,
            "2026-12-01T10:11:12.123Z INFO worker{{id={n}}}: request served path=/api/v1/items/{n} ms={}",
            n % 90
        )
        .expect("a string grows");
        writeln!(text, "test module::tests::case_{n} ... ok").expect("a string grows");
        if text.len() >= 1 << 20 {
            return text;
        }
    }
    text
}

fn redacting(c: &mut Criterion) {
    let redactor = Redactor::new(Context { home: Some("/home/ann".into()), ..Context::default() });
    let text = output();
    let mut group = c.benchmark_group("redact");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("output", |b| {
        let mut out = Vec::with_capacity(2 * text.len());
        b.iter(|| {
            out.clear();
            let mut stream = Stream::new(&redactor);
            black_box(&text).as_bytes().chunks(64 * 1024).for_each(|chunk| stream.push(chunk, &mut out));
            stream.finish(&mut out);
            out.len()
        });
    });
    for piece in ["password=", "eyJ-", "-----BEGIN ", "+1", "\"token\":", "a@b.c", "4111 ", "x y: "] {
        let line = piece.repeat(64 * 1024 / piece.len());
        group.throughput(Throughput::Bytes(line.len() as u64));
        group
            .bench_function(format!("64 KiB of {piece:?}"), |b| b.iter(|| redactor.output(black_box(line.as_bytes()))));
    }
    group.finish();
}

criterion_group!(benches, redacting);
criterion_main!(benches);
