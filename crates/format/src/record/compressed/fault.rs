//! What can be wrong with the structures of a compressed page.

/// Why a CD record does not add up. Offsets count from its first byte; `limit` is where the page
/// ends for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CdFault {
    /// Bit 0 of the header is not set: a record of another format.
    NotCompressed {
        /// The header byte; 0 when there is none.
        header: u8,
    },
    /// Header, count or stub reach past the page.
    Header {
        /// Bytes there are.
        limit: usize,
    },
    /// The descriptors reach past the page.
    Descriptors {
        /// Where they would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// A descriptor without a meaning: 13, 14 or 15.
    Descriptor {
        /// The column, from 0.
        column: u16,
        /// The four bits.
        code: u8,
    },
    /// The short values reach past the page.
    ShortData {
        /// Where they would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// The stored length of a cluster is not the sum of its values.
    ShortCluster {
        /// The cluster, from 0.
        cluster: u16,
        /// Value as stored.
        stored: u8,
        /// By the descriptors.
        computed: u16,
    },
    /// The header bit and the descriptors disagree about long values.
    LongRegion {
        /// Long values by the descriptors.
        columns: u16,
    },
    /// The long data region's offsets have an unknown size.
    LongFlags {
        /// Its flag byte.
        found: u8,
    },
    /// The arrays of the long data region reach past the page.
    LongArrays {
        /// Where they would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// There are fewer or more long values than descriptors say.
    LongCount {
        /// Value as stored.
        stored: u16,
        /// By the descriptors.
        computed: u16,
    },
    /// The stored number of long values of a cluster is not what the descriptors say.
    LongCluster {
        /// The cluster, from 0.
        cluster: u16,
        /// Value as stored.
        stored: u8,
        /// By the descriptors.
        computed: u16,
    },
    /// A long value ends before it begins or past the page.
    LongOffset {
        /// The value, from 0.
        entry: u16,
        /// Where it would end.
        end: usize,
        /// The smallest end there could be.
        start: usize,
        /// End of the page for this record.
        limit: usize,
    },
    /// The versioning tag reaches past the page.
    VersionTag {
        /// Where it would end.
        end: usize,
        /// End of the page for this record.
        limit: usize,
    },
}

/// Why the compression information of a page does not add up. Offsets count from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CiFault {
    /// The page header promises compression information, but the flag byte is none of those known.
    Flags {
        /// Byte as stored.
        found: u8,
    },
    /// Its end, or that of its anchor record, lies past the page or before its beginning.
    Size {
        /// The stored offset.
        found: u16,
        /// The smallest there could be.
        start: usize,
        /// Largest value that the page allows.
        limit: usize,
    },
    /// The anchor record does not add up.
    Anchor(CdFault),
    /// The anchor record is longer than its place.
    AnchorLength {
        /// Bytes of the record.
        found: usize,
        /// Bytes of its place.
        expected: usize,
    },
    /// The end offsets of the dictionary do not fit.
    DictionaryArray {
        /// Entries it claims.
        count: u16,
        /// Bytes there are.
        limit: usize,
    },
    /// A dictionary entry ends before it begins or after the dictionary.
    DictionaryEntry {
        /// The entry, from 0.
        entry: u16,
        /// Its end offset.
        end: usize,
        /// The smallest there could be.
        start: usize,
        /// Bytes there are.
        limit: usize,
    },
}
