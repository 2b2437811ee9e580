//! The operations tagged `private_subnet`.

use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectOk,
    PrivateSubnetConnectRequest, PrivateSubnetConnectResponse, PrivateSubnetCreateError,
    PrivateSubnetCreateOk, PrivateSubnetCreateRequest, PrivateSubnetCreateResponse,
    PrivateSubnetDeleteError, PrivateSubnetDeleteRequest, PrivateSubnetDeleteResponse,
    PrivateSubnetDisconnectError, PrivateSubnetDisconnectOk, PrivateSubnetDisconnectRequest,
    PrivateSubnetDisconnectResponse, PrivateSubnetListError, PrivateSubnetListRequest,
    PrivateSubnetListResponse, PrivateSubnetViewError, PrivateSubnetViewOk,
    PrivateSubnetViewRequest, PrivateSubnetViewResponse, ProjectPrivateSubnetListError,
    ProjectPrivateSubnetListRequest, ProjectPrivateSubnetListResponse,
};
use api_server::responses::BadRequest;
use api_types::{
    Name, OrderColumn, PageSize, PrivateSubnetFields, PrivateSubnetPage, PrivateSubnetState,
    PrivateSubnetSummary, PrivateSubnetSummaryFields, StartAfter,
};

use super::{
    Caller, Memory, State, admit, admit_change, admit_conditional, admit_delete,
    admit_guarded_delete, entity_tag, invalid, not_found, page,
};

impl PrivateSubnetApi<Caller> for Memory {
    async fn private_subnet_list(
        &self,
        caller: Caller,
        request: PrivateSubnetListRequest,
    ) -> Result<PrivateSubnetListResponse, PrivateSubnetListError> {
        let location = Some(request.location.as_str());
        admit::<PrivateSubnetListError>(&caller, request.project_id.as_str(), location)?;
        let (order, after) = (&request.order_column, request.start_after.as_ref());
        Ok(listed(&self.state(), order, after, request.page_size)?.into())
    }

    async fn project_private_subnet_list(
        &self,
        caller: Caller,
        request: ProjectPrivateSubnetListRequest,
    ) -> Result<ProjectPrivateSubnetListResponse, ProjectPrivateSubnetListError> {
        admit::<ProjectPrivateSubnetListError>(&caller, request.project_id.as_str(), None)?;
        let (order, after) = (&request.order_column, request.start_after.as_ref());
        Ok(listed(&self.state(), order, after, request.page_size)?.into())
    }

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

    async fn private_subnet_disconnect(
        &self,
        caller: Caller,
        request: PrivateSubnetDisconnectRequest,
    ) -> Result<PrivateSubnetDisconnectResponse, PrivateSubnetDisconnectError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_delete::<PrivateSubnetDisconnectError>(&caller, project, location)?;
        let state = self.state();
        let found =
            find(&state, request.private_subnet_reference.as_str()).ok_or_else(not_found)?;
        if find(&state, request.private_subnet_id.as_str()).is_none() {
            return Err(invalid("private_subnet_id", "there is no such private subnet").into());
        }
        Ok(PrivateSubnetDisconnectOk::new(found, entity_tag()).into())
    }

    async fn private_subnet_delete(
        &self,
        caller: Caller,
        request: PrivateSubnetDeleteRequest,
    ) -> Result<PrivateSubnetDeleteResponse, PrivateSubnetDeleteError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_guarded_delete::<PrivateSubnetDeleteError>(&caller, project, location)?;
        let mut state = self.state();
        if let Some(found) = find(&state, request.private_subnet_reference.as_str()) {
            state.subnets.retain(|subnet| subnet.id != found.id);
        }
        Ok(PrivateSubnetDeleteResponse::NoContent)
    }
}

/// Returns a page of all subnets.
fn listed(
    state: &State,
    order: &OrderColumn,
    after: Option<&StartAfter>,
    size: PageSize,
) -> Result<PrivateSubnetPage, BadRequest> {
    let key = |subnet: &api_types::PrivateSubnet, by_name: bool| {
        if by_name {
            subnet.name.to_string()
        } else {
            subnet.id.to_string()
        }
    };
    let (count, items) = page(&state.subnets, key, order, after, size)?;
    let item = |subnet: api_types::PrivateSubnet| {
        PrivateSubnetSummary::from(PrivateSubnetSummaryFields {
            id: subnet.id,
            location: subnet.location,
            name: subnet.name,
            net4: subnet.net4,
            net6: subnet.net6,
            state: subnet.state,
        })
    };
    Ok(PrivateSubnetPage::new(
        count,
        items.into_iter().map(item).collect(),
    ))
}

fn find(state: &State, reference: &str) -> Option<api_types::PrivateSubnet> {
    let mut all = state.subnets.iter();
    all.find(|subnet| subnet.id.as_str() == reference || subnet.name.as_str() == reference)
        .cloned()
}
