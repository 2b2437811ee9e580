//! The operations tagged `private_subnet`.

use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectOk,
    PrivateSubnetConnectRequest, PrivateSubnetConnectResponse, PrivateSubnetCreateError,
    PrivateSubnetCreateOk, PrivateSubnetCreateRequest, PrivateSubnetCreateResponse,
    PrivateSubnetViewError, PrivateSubnetViewOk, PrivateSubnetViewRequest,
    PrivateSubnetViewResponse,
};
use api_types::{Name, PrivateSubnetFields, PrivateSubnetState};

use super::{
    Caller, Memory, State, admit, admit_change, admit_conditional, entity_tag, invalid, not_found,
};

impl PrivateSubnetApi<Caller> for Memory {
    async fn private_subnet_view(
        &self,
        caller: Caller,
        request: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewResponse, PrivateSubnetViewError> {
        admit::<PrivateSubnetViewError>(
            &caller,
            request.project_id.as_str(),
            Some(request.location.as_str()),
        )?;
        let found =
            find(&self.state(), request.private_subnet_reference.as_str()).ok_or_else(not_found)?;
        Ok(PrivateSubnetViewOk::new(found, entity_tag()).into())
    }

    async fn private_subnet_create(
        &self,
        caller: Caller,
        request: PrivateSubnetCreateRequest,
    ) -> Result<PrivateSubnetCreateResponse, PrivateSubnetCreateError> {
        let location = Some(request.location.as_str());
        admit_change::<PrivateSubnetCreateError>(&caller, request.project_id.as_str(), location)?;
        let name = Name::try_from(request.private_subnet_reference.as_str())
            .map_err(|_| invalid("name", "is not the name of a private subnet"))?;
        let mut state = self.state();
        if find(&state, name.as_str()).is_some() {
            return Err(invalid("name", "there is a private subnet of this name already").into());
        }
        let number = state.subnets.len() + 1;
        let made = api_types::PrivateSubnet::from(PrivateSubnetFields {
            firewalls: Vec::new(),
            id: format!("ps{number:024}")
                .parse()
                .expect("digits make an id"),
            location: request.location,
            name,
            net4: format!("10.0.{number}.0/26")
                .parse()
                .expect("the text is an IPv4 network"),
            net6: format!("fd00:0:0:{number:x}::/64")
                .parse()
                .expect("the text is an IPv6 network"),
            nics: Vec::new(),
            state: PrivateSubnetState::Creating,
        });
        state.subnets.push(made.clone());
        Ok(PrivateSubnetCreateOk::new(made, entity_tag()).into())
    }

    async fn private_subnet_connect(
        &self,
        caller: Caller,
        request: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectResponse, PrivateSubnetConnectError> {
        let location = Some(request.location.as_str());
        admit_conditional::<PrivateSubnetConnectError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let state = self.state();
        let found =
            find(&state, request.private_subnet_reference.as_str()).ok_or_else(not_found)?;
        let other = request.body.connected_subnet_id;
        match other.and_then(|other| find(&state, other.as_str())) {
            Some(other) if other.id != found.id => {
                Ok(PrivateSubnetConnectOk::new(found, entity_tag()).into())
            }
            _ => Err(invalid(
                "connected-subnet-id",
                "must be the id of another private subnet",
            )
            .into()),
        }
    }
}

fn find(state: &State, reference: &str) -> Option<api_types::PrivateSubnet> {
    let mut all = state.subnets.iter();
    all.find(|subnet| subnet.id.as_str() == reference || subnet.name.as_str() == reference)
        .cloned()
}
