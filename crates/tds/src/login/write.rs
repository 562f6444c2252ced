//! LOGIN7 as a client writes it.

use super::{FIXED_BYTES, FIXED_BYTES_7_1, HAS_EXTENSION, Login, SSPI_IS_LONG, features};
use crate::error::EncodeError;
use crate::version::TdsVersion;

/// The variable data, and the pairs that lead to it.
struct Layout {
    /// Offset of the next data.
    next: usize,
    pairs: Vec<u8>,
    data: Vec<u8>,
}

impl Layout {
    /// Adds data; `length` is what its pair says.
    fn add(&mut self, bytes: &[u8], length: usize) -> Result<(), EncodeError> {
        let too_long = |found| EncodeError::Length { wire: "LOGIN7", max: 0xFFFF, found };
        let offset = u16::try_from(self.next).map_err(|_| too_long(self.next))?;
        let length = u16::try_from(length).map_err(|_| too_long(length))?;
        self.pairs.extend(offset.to_le_bytes());
        self.pairs.extend(length.to_le_bytes());
        self.data.extend_from_slice(bytes);
        self.next += bytes.len();
        Ok(())
    }

    /// Adds data whose length is counted in characters.
    fn add_units(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.add(bytes, bytes.len() / 2)
    }

    fn add_text(&mut self, text: &str) -> Result<(), EncodeError> {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        self.add_units(&bytes)
    }
}

impl Login {
    /// Appends the message body in the form of [`Login::tds_version`].
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let not_supported = EncodeError::NotInVersion { what: "LOGIN7" };
        let version = TdsVersion::from_raw(self.tds_version).ok_or(not_supported)?;
        let fixed = if version.is_7_2_or_later() { FIXED_BYTES } else { FIXED_BYTES_7_1 };
        let mut layout = Layout { next: fixed, pairs: Vec::new(), data: Vec::new() };
        self.lay_out(version, &mut layout)?;
        let start = out.len();
        out.extend([0; 4]);
        self.write_numbers(version, out);
        out.append(&mut layout.pairs);
        out.append(&mut layout.data);
        self.write_features(version, start, out);
        let length = (out.len() - start) as u32;
        patch(start, length, out);
        Ok(())
    }

    fn has_extension(&self, version: TdsVersion) -> bool {
        self.features.is_some() && version.has_feature_extensions()
    }

    fn write_numbers(&self, version: TdsVersion, out: &mut Vec<u8>) {
        let mut flags = self.flags;
        flags.option3 &= !HAS_EXTENSION;
        if self.has_extension(version) {
            flags.option3 |= HAS_EXTENSION;
        }
        out.extend(self.tds_version.to_le_bytes());
        out.extend(self.packet_bytes.to_le_bytes());
        out.extend(self.program_version.to_le_bytes());
        out.extend(self.process_id.to_le_bytes());
        out.extend(self.connection_id.to_le_bytes());
        out.extend(flags.to_bytes());
        out.extend(self.time_zone_minutes.to_le_bytes());
        out.extend(self.lcid.to_le_bytes());
    }

    fn lay_out(&self, version: TdsVersion, layout: &mut Layout) -> Result<(), EncodeError> {
        layout.add_text(&self.host)?;
        layout.add_text(&self.user)?;
        layout.add_units(&self.password.to_wire())?;
        layout.add_text(&self.application)?;
        layout.add_text(&self.server)?;
        // The four bytes are filled in when the offset of the list is known.
        let extension: &[u8] = if self.has_extension(version) { &[0; 4] } else { &[] };
        layout.add(extension, extension.len())?;
        layout.add_text(&self.library)?;
        layout.add_text(&self.language)?;
        layout.add_text(&self.database)?;
        layout.pairs.extend(self.client_id);
        let sspi_pair = layout.pairs.len();
        layout.pairs.extend([0; 4]);
        layout.add_text(&self.attach_file)?;
        if version.is_7_2_or_later() {
            layout.add_units(&self.new_password.to_wire())?;
            let is_long = self.sspi.len() >= usize::from(SSPI_IS_LONG);
            let long = if is_long { self.sspi.len() as u32 } else { 0 };
            layout.pairs.extend(long.to_le_bytes());
        }
        self.lay_out_sspi(version, sspi_pair, layout)
    }

    /// The token is last: it may be longer than offsets of 16 bits reach.
    fn lay_out_sspi(
        &self,
        version: TdsVersion,
        pair: usize,
        layout: &mut Layout,
    ) -> Result<(), EncodeError> {
        let is_long = self.sspi.len() >= usize::from(SSPI_IS_LONG);
        if is_long && !version.is_7_2_or_later() {
            return Err(EncodeError::NotInVersion { what: "long SSPI data" });
        }
        let length = if is_long { SSPI_IS_LONG } else { self.sspi.len() as u16 };
        let too_far = EncodeError::Length { wire: "LOGIN7", max: 0xFFFF, found: layout.next };
        let offset = u16::try_from(layout.next).map_err(|_| too_far)?;
        let place = offset.to_le_bytes().into_iter().chain(length.to_le_bytes());
        for (to, from) in layout.pairs.iter_mut().skip(pair).zip(place) {
            *to = from;
        }
        layout.data.extend_from_slice(&self.sspi);
        Ok(())
    }

    fn write_features(&self, version: TdsVersion, start: usize, out: &mut Vec<u8>) {
        let Some(list) = self.features.as_ref().filter(|_| self.has_extension(version)) else {
            return;
        };
        let list_at = (out.len() - start) as u32;
        // The pair of the extension block is the sixth.
        let pair = start + 36 + 5 * 4;
        let offset = out.get(pair..).and_then(|bytes| bytes.first_chunk::<2>().copied());
        if let Some(offset) = offset {
            patch(start + usize::from(u16::from_le_bytes(offset)), list_at, out);
        }
        features::write(list, out);
    }
}

/// Writes a number over four bytes that are there.
fn patch(at: usize, value: u32, out: &mut [u8]) {
    for (to, from) in out.iter_mut().skip(at).zip(value.to_le_bytes()) {
        *to = from;
    }
}
