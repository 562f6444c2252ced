//! What the server says it is: version, edition, names. Clients choose their ways by it.

/// Identity of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Major, minor, build and revision of the product version that is followed.
    pub version: [u16; 4],
    /// `SERVERPROPERTY('Edition')`.
    pub edition: String,
    /// `@@SERVERNAME` and `SERVERPROPERTY('ServerName')`.
    pub server_name: String,
    /// Name of the machine.
    pub machine_name: String,
    /// Process id.
    pub process_id: u32,
}

impl Default for Product {
    fn default() -> Product {
        Product {
            version: [16, 0, 4165, 0],
            edition: "Developer Edition (64-bit)".to_owned(),
            server_name: "EXTENTDB".to_owned(),
            machine_name: "EXTENTDB".to_owned(),
            process_id: 0,
        }
    }
}

impl Product {
    /// `SERVERPROPERTY('ProductVersion')`.
    #[must_use]
    pub fn version_text(&self) -> String {
        let [major, minor, build, revision] = self.version;
        format!("{major}.{minor}.{build}.{revision}")
    }

    /// `@@VERSION`. It begins as clients expect it and names this program.
    #[must_use]
    pub fn banner(&self) -> String {
        format!(
            "Microsoft SQL Server 2022 compatible (ExtentDB {}) - {} ({}) \n\t{}",
            env!("CARGO_PKG_VERSION"),
            self.version_text(),
            if cfg!(target_arch = "aarch64") { "ARM64" } else { "X64" },
            self.edition,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Product;

    #[test]
    fn the_banner_begins_as_clients_expect_and_names_the_program() {
        let banner = Product::default().banner();
        assert!(banner.starts_with("Microsoft SQL Server 2022"), "{banner}");
        assert!(banner.contains("ExtentDB") && banner.contains(" - 16.0.4165.0 "), "{banner}");
    }
}
