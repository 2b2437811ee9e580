//! Properties that are only read or only written, null, and a secret.

use features_client::prelude::*;
use features_server::one_way_properties::{
    AccountCreateError, AccountCreateRequest, AccountCreateResponse, OneWayPropertiesApi,
};
use features_types::Account;

impl OneWayPropertiesApi for crate::Features {
    async fn account_create(
        &self,
        request: AccountCreateRequest,
    ) -> Result<AccountCreateResponse, AccountCreateError> {
        assert_eq!(
            request
                .body
                .password
                .as_ref()
                .map(|password| password.expose()),
            Some("hidden")
        );
        assert!(!format!("{request:?}").contains("hidden"));
        Ok(Account::new(request.body.name).with_id(7).into())
    }
}

pub async fn check(client: &Client, _: &str) {
    for name in [None, Some("a".to_owned())] {
        let account = Account::new(name.clone()).with_password("hidden".into());
        let response = client
            .account_create()
            .body(account)
            .send()
            .await
            .expect("a success")
            .into_inner();
        assert_eq!(
            (response.id, response.name, response.password),
            (Some(7), name, None)
        );
    }
}
