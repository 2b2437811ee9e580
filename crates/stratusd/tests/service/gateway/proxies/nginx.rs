//! nginx, with the page's locations in a server of its own.

use std::process::Command;

use super::{Kind, Start};

pub(super) const KIND: Kind = Kind {
    name: "nginx",
    // Debian has it where not every path leads.
    programs: &["nginx", "/usr/sbin/nginx"],
    installed: None,
    version: "-v",
    introduction: "nginx, in a `server`:\n",
    command,
    without_gateway: 503,
};

fn command(start: &Start) -> Command {
    let Start {
        port,
        configuration,
        ..
    } = start;
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {kind};\n"))
        .concat();
    let whole = format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\n    access_log off;\n{temporary}    server {{\n        listen 127.0.0.1:{port};\n{configuration}    }}\n}}\n"
    );
    let mut command = Command::new(start.program);
    command.arg("-p").arg(start.folder);
    command.arg("-c").arg(start.write("nginx.conf", &whole));
    command
}
