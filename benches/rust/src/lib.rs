//! See `benches/core.rs`.
