//! Where do decisions come from? From bytes: a fuzzer's, a property test's or those of a seed. The same bytes make the
//! same program, and where they end every further decision is the plainest one.

/// A reader of decisions.
#[derive(Debug)]
pub struct Choice<'a> {
    bytes: &'a [u8],
    names: u32,
}

impl<'a> Choice<'a> {
    pub const fn of(bytes: &'a [u8]) -> Choice<'a> {
        Choice { bytes, names: 0 }
    }

    fn byte(&mut self) -> usize {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first.into()
    }

    /// A number below `end`, 0 where there is no choice.
    pub fn below(&mut self, end: usize) -> usize {
        let drawn = if end > 256 { self.byte() * 256 + self.byte() } else { self.byte() };
        if end == 0 { 0 } else { drawn % end }
    }

    /// One of these; the first where the bytes have ended.
    ///
    /// # Panics
    /// There is none to choose.
    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// True in so many of 256 cases; never where the bytes have ended.
    pub fn often(&mut self, of_256: usize) -> bool {
        self.byte() + of_256 > 255
    }

    /// A name that the program does not use yet.
    pub fn name(&mut self) -> String {
        self.names += 1;
        format!("{}{}", self.one(&["v", "Q", "_x", "tmp", "LINE_"]), self.names)
    }
}

/// Decisions of a numbered program: equal numbers, equal bytes.
pub fn bytes_of(seed: u64) -> [u8; 192] {
    let mut state = seed;
    let mut out = [0; 192];
    for eight in out.chunks_mut(8) {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        eight.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
    }
    out
}
