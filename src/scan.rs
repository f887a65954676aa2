//! Where the line ends are: bit masks over blocks of 64 bytes.
//!
//! Short lines are what streams are made of, and a search that starts anew at each line spends
//! most of its time on starting. A mask finds every line end of a block at once.
//!
//! There are two ways to make one, which a parser is compiled for both: [`Baseline`] is SSE2 on
//! x86-64, which every such processor has, and portable code elsewhere; [`Wide`] is AVX2, for
//! processors that turn out to have it. This is the only module of the core with `unsafe` code.

pub const BLOCK: usize = 64;

/// A way to make masks.
pub trait Scan: Copy {
    /// A bit for each byte of `block` that is LF or CR, the first byte's lowest.
    fn line_ends(self, block: &[u8; BLOCK]) -> u64;
}

/// What the target always has.
#[derive(Clone, Copy)]
pub struct Baseline;

impl Scan for Baseline {
    #[inline(always)]
    fn line_ends(self, block: &[u8; BLOCK]) -> u64 {
        let (pieces, _) = block.as_chunks::<16>();
        pieces
            .iter()
            .rev()
            .fold(0, |mask, piece| mask << 16 | line_ends_16(piece))
    }
}

/// Something to be done with the best scan there is.
pub trait Work {
    type Output;
    fn run(self, scan: impl Scan) -> Self::Output;
}

/// The best scan of this processor.
#[derive(Clone, Copy, Debug)]
pub struct Best {
    #[cfg(target_arch = "x86_64")]
    wide: Option<wide::Wide>,
}

impl Default for Best {
    fn default() -> Self {
        Best {
            #[cfg(target_arch = "x86_64")]
            wide: wide::Wide::detect(),
        }
    }
}

impl Best {
    /// Does the work in code that is compiled for the scan.
    #[inline(always)]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            return wide.run(work);
        }
        baseline(work)
    }
}

#[inline(never)]
fn baseline<W: Work>(work: W) -> W::Output {
    work.run(Baseline)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{BLOCK, Scan, Work};
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set1_epi8,
    };

    /// Proof that the processor has AVX2 and BMI1: only `detect` makes one.
    #[derive(Clone, Copy, Debug)]
    pub struct Wide(());

    impl Wide {
        pub fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1"))
                .then_some(Wide(()))
        }

        #[inline(always)]
        pub fn run<W: Work>(self, work: W) -> W::Output {
            // SAFETY: the processor has what the function is compiled for, or there were no Wide.
            unsafe { self.compiled(work) }
        }

        #[target_feature(enable = "avx2,bmi1")]
        unsafe fn compiled<W: Work>(self, work: W) -> W::Output {
            work.run(self)
        }
    }

    impl Scan for Wide {
        #[inline(always)]
        fn line_ends(self, block: &[u8; BLOCK]) -> u64 {
            // SAFETY: the processor has AVX2, or there were no Wide.
            unsafe { line_ends(block) }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn line_ends(block: &[u8; BLOCK]) -> u64 {
        let half = |start: usize| {
            let piece = block[start..start + 32].as_ptr().cast::<__m256i>();
            // SAFETY: the load reads 32 bytes at any alignment, and that many are there.
            let bytes = unsafe { _mm256_loadu_si256(piece) };
            let lf = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\n'.cast_signed()));
            let cr = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\r'.cast_signed()));
            _mm256_movemask_epi8(_mm256_or_si256(lf, cr)).cast_unsigned()
        };
        u64::from(half(0)) | u64::from(half(32)) << 32
    }
}

/// The same for fewer than [`BLOCK`] bytes.
#[inline]
pub fn line_ends_short(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    debug_assert!(n < BLOCK);
    if let Some(last) = bytes.last_chunk::<16>() {
        let (pieces, _) = bytes.as_chunks::<16>();
        // The last 16 bytes overlap the pieces before them, which does no harm to a mask.
        let tail = line_ends_16(last) << (n - 16);
        pieces
            .iter()
            .rev()
            .fold(0, |mask, piece| mask << 16 | line_ends_16(piece))
            | tail
    } else {
        line_ends_16(&padded(bytes))
    }
}

/// At most 16 bytes, followed by zeros (which end no line).
#[inline]
fn padded(bytes: &[u8]) -> [u8; 16] {
    let n = bytes.len();
    let joined = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        u128::from(first) | u128::from(last) << (8 * (n - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u128::from(first) | u128::from(last) << (8 * (n - 4))
    } else {
        bytes
            .iter()
            .rev()
            .fold(0, |joined, &byte| joined << 8 | u128::from(byte))
    };
    joined.to_le_bytes()
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
fn line_ends_16(piece: &[u8; 16]) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: the target has SSE2 (see the `cfg`); the load reads 16 bytes at any alignment, and
    // `piece` is a reference to 16 bytes.
    let mask = unsafe {
        let bytes = _mm_loadu_si128(piece.as_ptr().cast::<__m128i>());
        let lf = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n'.cast_signed()));
        let cr = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\r'.cast_signed()));
        _mm_movemask_epi8(_mm_or_si128(lf, cr))
    };
    u64::from(mask.cast_unsigned())
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline]
fn line_ends_16(piece: &[u8; 16]) -> u64 {
    portable::line_ends_16(piece)
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
mod portable {
    const LOW: u64 = u64::MAX / 255;
    const SEVEN: u64 = LOW * 0x7F;

    /// The top bit of each byte of `word` that is zero, exactly (no carry crosses a byte).
    fn zero_bytes(word: u64) -> u64 {
        !(((word & SEVEN) + SEVEN) | word | SEVEN)
    }

    fn line_ends_8(word: u64) -> u64 {
        let ends = zero_bytes(word ^ (LOW * 0x0A)) | zero_bytes(word ^ (LOW * 0x0D));
        // Gathers the eight top bits in the highest byte, in order.
        ((ends >> 7).wrapping_mul(0x0102_0408_1020_4080)) >> 56
    }

    pub fn line_ends_16(piece: &[u8; 16]) -> u64 {
        let word = u128::from_le_bytes(*piece);
        let (low, high) = (word as u64, (word >> 64) as u64);
        line_ends_8(low) | line_ends_8(high) << 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Mask<'a>(&'a [u8; BLOCK]);

    impl Work for Mask<'_> {
        type Output = u64;

        fn run(self, scan: impl Scan) -> u64 {
            scan.line_ends(self.0)
        }
    }

    fn naive(bytes: &[u8]) -> u64 {
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
        (0..bytes.len()).fold(0, |mask, i| mask | u64::from(ends(&bytes[i])) << i)
    }

    /// Bytes around CR and LF, and those that differ from them in the top bit.
    fn sample(seed: &mut u64) -> u8 {
        const BYTES: [u8; 12] = [9, 10, 11, 12, 13, 14, 0, 0x8A, 0x8D, 0xFF, b'a', b':'];
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        BYTES[(*seed >> 33) as usize % BYTES.len()]
    }

    #[test]
    fn masks_agree_with_the_naive_one() {
        let mut seed = 7;
        for _ in 0..20_000 {
            let block: [u8; BLOCK] = std::array::from_fn(|_| sample(&mut seed));
            assert_eq!(Baseline.line_ends(&block), naive(&block));
            assert_eq!(Best::default().run(Mask(&block)), naive(&block));
            assert_eq!(baseline(Mask(&block)), naive(&block));
            let piece = block.first_chunk::<16>().unwrap();
            assert_eq!(portable::line_ends_16(piece), naive(piece));
            let n = (seed >> 40) as usize % BLOCK;
            assert_eq!(line_ends_short(&block[..n]), naive(&block[..n]));
        }
    }

    #[test]
    fn every_byte_alone_at_every_place() {
        for place in 0..16 {
            for byte in 0..=255 {
                let mut piece = [b'x'; 16];
                piece[place] = byte;
                assert_eq!(line_ends_16(&piece), naive(&piece));
                assert_eq!(portable::line_ends_16(&piece), naive(&piece));
                assert_eq!(line_ends_short(&piece[..=place]), naive(&piece[..=place]));
            }
        }
    }
}
