//! Traefik, with an entry point, and the page's text as the file of its provider.

use std::process::Command;

use super::{Kind, Start};

pub(super) const KIND: Kind = Kind {
    name: "Traefik",
    programs: &["traefik"],
    installed: Some("bin/traefik"),
    version: "version",
    introduction: "Traefik, in a file of its `file` provider:\n",
    command,
    without_gateway: 500,
};

fn command(start: &Start) -> Command {
    let file = start.write("inference.yaml", &start.configuration);
    let mut command = Command::new(start.program);
    command.args([
        format!("--entryPoints.web.address=127.0.0.1:{}", start.port),
        format!("--providers.file.filename={}", file.display()),
        "--providers.file.watch=false".to_owned(),
        "--log.level=ERROR".to_owned(),
        "--global.checkNewVersion=false".to_owned(),
        "--global.sendAnonymousUsage=false".to_owned(),
    ]);
    command
}
