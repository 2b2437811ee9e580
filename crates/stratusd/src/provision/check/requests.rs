//! Rules about single requests.

use provisioner_types as wire;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::caller::{PAUSE, body, is_missing};
use super::{Broken, Check, Checked, Shapes, Subject};

/// The bytes of a body that is much larger than the contract allows.
const LARGE: usize = 2 << 20;

/// The steps of a database that must exist, with what they need beside it.
fn steps() -> [(&'static str, Value); 7] {
    [
        ("observe", json!({})),
        ("resize", json!({})),
        ("restart", json!({ "number": 1 })),
        ("promote", json!({ "number": 1 })),
        ("restrict", json!({})),
        ("set-password", json!({ "password": "Example-Passw0rd" })),
        ("connection", json!({})),
    ]
}

impl Check {
    pub(super) async fn view(&mut self) -> Checked {
        let request = self.request(Method::GET, "/provisioner");
        let answer = self.send(request.bearer_auth(&*self.token)).await?;
        let about: wire::Provisioner = answer.read(200)?;
        let names: Vec<String> = about.versions.iter().map(ToString::to_string).collect();
        let mut once = names.clone();
        once.sort();
        once.dedup();
        if once.len() != names.len() {
            return Err(format!("a version is listed twice: {}", names.join(", ")).into());
        }
        let sizes = about.sizes.as_deref().unwrap_or_default();
        let mut names: Vec<&str> = sizes.iter().map(|it| it.vm_size.as_str()).collect();
        names.sort_unstable();
        let mut pairs = names.windows(2);
        if let Some([twice, _]) = pairs.find(|pair| matches!(pair, [one, other] if one == other)) {
            return Err(format!("the size {twice} is listed twice").into());
        }
        self.shapes = Shapes::choose(&self.config, Some(&about));
        self.about = Some(about);
        Ok(())
    }

    pub(super) async fn no_token(&mut self) -> Checked {
        let subject = self.subject();
        let request = self.request(Method::GET, "/provisioner");
        self.send(request)
            .await?
            .code(401)
            .map_err(|found| format!("GET /provisioner: {found}"))?;
        let others = [("create", json!({})), ("delete", json!({}))];
        for (step, more) in steps().into_iter().chain(others) {
            let path = format!("/database/{}/{step}", subject.id);
            let request = self
                .request(Method::POST, &path)
                .json(&body(&subject, more));
            let answer = self.send(request).await?;
            answer
                .code(401)
                .map_err(|found| format!("{step}: {found}"))?;
        }
        Ok(())
    }

    pub(super) async fn wrong_token(&mut self) -> Checked {
        let subject = self.subject();
        self.made.push(subject.clone());
        let path = format!("/database/{}/create", subject.id);
        // One that begins as the right one does, one that is longer, and none that is right.
        let begins: String = self.token.chars().take(self.token.len() - 1).collect();
        let wrong = [
            "wrong-wrong-wrong-wrong".to_owned(),
            format!("{}x", *self.token),
            begins,
        ];
        for token in wrong {
            let request = self
                .request(Method::POST, &path)
                .json(&body(&subject, json!({})));
            let answer = self.send(request.bearer_auth(token)).await?;
            answer.code(401)?;
        }
        match self.observed(&subject).await? {
            None => Ok(()),
            Some(_) => Err("it has created the database all the same".to_owned().into()),
        }
    }

    pub(super) async fn unknown_path(&mut self) -> Checked {
        let subject = self.subject();
        let answer = self.call("no-such-step", &subject, json!({})).await?;
        let code = answer.code(404)?;
        if code == wire::ProblemCode::DatabaseNotFound {
            return Err("its code is DatabaseNotFound".to_owned().into());
        }
        Ok(())
    }

    /// Sends a body to the step `observe`, and checks that it is refused.
    async fn is_refused(&self, subject: &Subject, text: String) -> Checked {
        let path = format!("/database/{}/observe", subject.id);
        let request = self
            .request(Method::POST, &path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(text);
        let answer = self.send(request.bearer_auth(&*self.token)).await?;
        answer.code(400)?;
        Ok(())
    }

    pub(super) async fn no_json(&mut self) -> Checked {
        self.is_refused(&self.subject(), "{ \"wanted\": ".to_owned())
            .await
    }

    pub(super) async fn missing_property(&mut self) -> Checked {
        let mut subject = self.subject();
        self.is_refused(&subject, "{}".to_owned()).await?;
        if let Some(wanted) = subject.wanted.as_object_mut() {
            wanted.remove("shape");
        }
        self.is_refused(&subject, body(&subject, json!({})).to_string())
            .await
    }

    pub(super) async fn wrong_type(&mut self) -> Checked {
        let mut subject = self.subject();
        subject.wanted["shape"]["storage_size_gib"] = json!("64");
        self.is_refused(&subject, body(&subject, json!({})).to_string())
            .await
    }

    pub(super) async fn unknown_property(&mut self) -> Checked {
        let mut subject = self.subject();
        subject.wanted["of_a_later_version"] = json!({ "any": [1, null] });
        let more = json!({ "of_a_later_version": true });
        let answer = self.call("observe", &subject, more).await?;
        Ok(is_missing("observe", &answer)?)
    }

    pub(super) async fn large_body(&mut self) -> Checked {
        let subject = self.subject();
        let more = json!({ "of_a_later_version": "x".repeat(LARGE) });
        let latest = self.latest();
        loop {
            let begun = Instant::now();
            match self.call_apart("observe", &subject, more.clone()).await {
                Ok(answer) if answer.status == 503 && begun < latest => sleep(PAUSE).await,
                Ok(answer) if !(400..500).contains(&answer.status) => {
                    return Err(format!("it responds with {}", answer.status).into());
                }
                Err(_) if begun.elapsed() >= self.timeout => {
                    let wrong = format!("it does not respond within {:?}", self.timeout);
                    return Err(wrong.into());
                }
                // The provisioner may close the connection while the body is being sent.
                Ok(_) | Err(_) => break,
            }
        }
        let answer = self.call("observe", &subject, json!({})).await?;
        Ok(is_missing("the next call", &answer)?)
    }

    pub(super) async fn unknown_database(&mut self) -> Checked {
        let subject = self.subject();
        for (step, more) in steps() {
            let answer = self.call(step, &subject, more).await?;
            is_missing(step, &answer)?;
        }
        Ok(())
    }

    pub(super) async fn unknown_delete(&mut self) -> Checked {
        let subject = self.subject();
        Ok(self.until_done("delete", &subject, json!({})).await?)
    }

    pub(super) async fn lost(&mut self) -> Checked {
        if self.is_simulated() {
            let why = "a simulator may take over what the service has recorded";
            return Err(Broken::Skipped(why.to_owned()));
        }
        let subject = self.subject();
        let known = json!({
            "is_available": true,
            "shape": subject.wanted["shape"],
            "used_bytes": 0,
            "latest_restore_time": "2026-03-02T17:42:10Z",
        });
        let answer = self
            .call("observe", &subject, json!({ "known": known }))
            .await?;
        if answer.status < 400 {
            return Err(answer.words().into());
        }
        Ok(())
    }
}
