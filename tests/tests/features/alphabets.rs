//! Tags outside ASCII: modules with the tag's own letters, in files that every system can hold.

use features_client::prelude::*;
use features_server::café::{CaféApi, CoffeeCountError, CoffeeCountRequest, CoffeeCountResponse};
use features_server::用户管理::{
    UserCountError, UserCountRequest, UserCountResponse, 用户管理Api,
};
use features_types::{Coffees, Count};

impl 用户管理Api for crate::Features {
    async fn user_count(&self, _: UserCountRequest) -> Result<UserCountResponse, UserCountError> {
        Ok(Count::new(3).into())
    }
}

impl CaféApi for crate::Features {
    async fn coffee_count(
        &self,
        _: CoffeeCountRequest,
    ) -> Result<CoffeeCountResponse, CoffeeCountError> {
        Ok(Coffees::new(2).into())
    }
}

pub async fn check(client: &Client, _: &str) {
    let users = client.user_count().send().await.expect("a success");
    assert_eq!(users.count, 3);
    let coffees = client.coffee_count().send().await.expect("a success");
    assert_eq!(coffees.cups, 2);
}
