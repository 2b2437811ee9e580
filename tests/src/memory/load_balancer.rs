//! The operations tagged `load_balancer`.

use api_server::load_balancer::{
    LoadBalancerApi, LoadBalancerAttachVmError, LoadBalancerAttachVmOk,
    LoadBalancerAttachVmRequest, LoadBalancerAttachVmResponse, LoadBalancerCreateError,
    LoadBalancerCreateOk, LoadBalancerCreateRequest, LoadBalancerCreateResponse,
    LoadBalancerDeleteError, LoadBalancerDeleteRequest, LoadBalancerDeleteResponse,
    LoadBalancerDetachVmError, LoadBalancerDetachVmOk, LoadBalancerDetachVmRequest,
    LoadBalancerDetachVmResponse, LoadBalancerListError, LoadBalancerListRequest,
    LoadBalancerListResponse, LoadBalancerUpdateError, LoadBalancerUpdateOk,
    LoadBalancerUpdateRequest, LoadBalancerUpdateResponse, LoadBalancerViewError,
    LoadBalancerViewOk, LoadBalancerViewRequest, LoadBalancerViewResponse,
    ProjectLoadBalancerListError, ProjectLoadBalancerListRequest, ProjectLoadBalancerListResponse,
};
use api_server::responses;
use api_types::{
    LoadBalancerFields, LoadBalancerPage, LoadBalancerSummary, LoadBalancerSummaryFields, Name,
    OrderColumn, PageSize, Reference, StartAfter, Vm,
};

use super::{
    Caller, Memory, State, admit, admit_change, admit_conditional, admit_delete, entity_tag,
    invalid, not_found, page,
};

/// The id of a load balancer that [`Memory`] creates.
const NEW: &str = "1bz6v0qsk4hd8trc2mx9wyf1ge";

impl LoadBalancerApi<Caller> for Memory {
    async fn load_balancer_list(
        &self,
        caller: Caller,
        request: LoadBalancerListRequest,
    ) -> Result<LoadBalancerListResponse, LoadBalancerListError> {
        admit::<LoadBalancerListError>(
            &caller,
            request.project_id.as_str(),
            Some(request.location.as_str()),
        )?;
        Ok(self
            .page(
                &request.order_column,
                request.start_after.as_ref(),
                request.page_size,
            )?
            .into())
    }

    async fn project_load_balancer_list(
        &self,
        caller: Caller,
        request: ProjectLoadBalancerListRequest,
    ) -> Result<ProjectLoadBalancerListResponse, ProjectLoadBalancerListError> {
        admit::<ProjectLoadBalancerListError>(&caller, request.project_id.as_str(), None)?;
        Ok(self
            .page(
                &request.order_column,
                request.start_after.as_ref(),
                request.page_size,
            )?
            .into())
    }

    async fn load_balancer_view(
        &self,
        caller: Caller,
        request: LoadBalancerViewRequest,
    ) -> Result<LoadBalancerViewResponse, LoadBalancerViewError> {
        let location = Some(request.location.as_str());
        admit::<LoadBalancerViewError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.load_balancer_reference)?;
        Ok(LoadBalancerViewOk::new(found.clone(), entity_tag()).into())
    }

    async fn load_balancer_create(
        &self,
        caller: Caller,
        request: LoadBalancerCreateRequest,
    ) -> Result<LoadBalancerCreateResponse, LoadBalancerCreateError> {
        let location = Some(request.location.as_str());
        admit_change::<LoadBalancerCreateError>(&caller, request.project_id.as_str(), location)?;
        let name = Name::try_from(request.load_balancer_reference.as_str())
            .map_err(|_| invalid("name", "is not the name of a load balancer"))?;
        let mut state = self.state();
        if find(&mut state, &request.load_balancer_reference).is_ok() {
            return Err(invalid("name", "there is a load balancer of this name already").into());
        }
        let body = request.body;
        let mut subnets = state.subnets.iter();
        let subnet = subnets
            .find(|subnet| subnet.id.as_str() == body.private_subnet_id.as_str())
            .ok_or_else(|| invalid("private_subnet_id", "there is no such private subnet"))?;
        let mut made = api_types::LoadBalancer::from(LoadBalancerFields {
            algorithm: body.algorithm,
            dst_port: body.dst_port,
            health_check_endpoint: body.health_check_endpoint,
            health_check_protocol: body.health_check_protocol,
            hostname: format!("{name}.stratus.example")
                .parse()
                .expect("a name begins a host name"),
            id: NEW.parse().expect("the text is an id"),
            location: request.location,
            name,
            src_port: body.src_port,
            subnet: subnet.name.clone(),
            vms: Vec::new(),
        });
        made.stack = Some(body.stack);
        made.cert_enabled = Some(body.cert_enabled);
        state.load_balancers.push(made.clone());
        Ok(LoadBalancerCreateOk::new(made, entity_tag()).into())
    }

    async fn load_balancer_delete(
        &self,
        caller: Caller,
        request: LoadBalancerDeleteRequest,
    ) -> Result<LoadBalancerDeleteResponse, LoadBalancerDeleteError> {
        let location = Some(request.location.as_str());
        admit_delete::<LoadBalancerDeleteError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.load_balancer_reference).ok();
        let found = found.map(|found| found.id.clone());
        let balancers = &mut state.load_balancers;
        balancers.retain(|balancer| Some(&balancer.id) != found.as_ref());
        Ok(LoadBalancerDeleteResponse::NoContent)
    }

    async fn load_balancer_attach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerAttachVmRequest,
    ) -> Result<LoadBalancerAttachVmResponse, LoadBalancerAttachVmError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_conditional::<LoadBalancerAttachVmError>(&caller, project, location)?;
        let mut state = self.state();
        let vm = vm(&state, request.body.vm_id.as_str())
            .ok_or_else(|| invalid("vm_id", "there is no such virtual machine"))?;
        let found = find(&mut state, &request.load_balancer_reference)?;
        if !found.vms.contains(&vm) {
            found.vms.push(vm);
        }
        Ok(LoadBalancerAttachVmOk::new(found.clone(), entity_tag()).into())
    }

    async fn load_balancer_update(
        &self,
        caller: Caller,
        request: LoadBalancerUpdateRequest,
    ) -> Result<LoadBalancerUpdateResponse, LoadBalancerUpdateError> {
        let location = Some(request.location.as_str());
        admit_conditional::<LoadBalancerUpdateError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let mut state = self.state();
        let mut vms = Vec::new();
        for id in &request.body.vms {
            vms.push(
                vm(&state, id.as_str())
                    .ok_or_else(|| invalid("vms", "there is no such virtual machine"))?,
            );
        }
        let found = find(&mut state, &request.load_balancer_reference)?;
        found.algorithm = request.body.algorithm;
        found.src_port = request.body.src_port;
        found.dst_port = request.body.dst_port;
        found.health_check_endpoint = request.body.health_check_endpoint;
        found.vms = vms;
        found.stack = request.body.stack.or(found.stack.take());
        // Null leaves the value as it is.
        found.cert_enabled = request.body.cert_enabled.flatten().or(found.cert_enabled);
        Ok(LoadBalancerUpdateOk::new(found.clone(), entity_tag()).into())
    }

    async fn load_balancer_detach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerDetachVmRequest,
    ) -> Result<LoadBalancerDetachVmResponse, LoadBalancerDetachVmError> {
        let location = Some(request.location.as_str());
        admit_conditional::<LoadBalancerDetachVmError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let mut state = self.state();
        let id = request.body.vm_id.as_str();
        if vm(&state, id).is_none() {
            return Err(invalid("vm_id", "there is no such virtual machine").into());
        }
        let found = find(&mut state, &request.load_balancer_reference)?;
        found.vms.retain(|vm| vm.id.as_str() != id);
        Ok(LoadBalancerDetachVmOk::new(found.clone(), entity_tag()).into())
    }
}

impl Memory {
    fn page(
        &self,
        order: &OrderColumn,
        after: Option<&StartAfter>,
        size: PageSize,
    ) -> Result<LoadBalancerPage, responses::BadRequest> {
        let key = |item: &api_types::LoadBalancer, by_name: bool| {
            if by_name {
                item.name.to_string()
            } else {
                item.id.to_string()
            }
        };
        let (count, items) = page(&self.state().load_balancers, key, order, after, size)?;
        Ok(LoadBalancerPage::new(
            count,
            items.iter().map(summary).collect(),
        ))
    }
}

fn vm(state: &State, id: &str) -> Option<Vm> {
    state.vms.iter().find(|vm| vm.id.as_str() == id).cloned()
}

fn find<'s>(
    state: &'s mut State,
    reference: &Reference,
) -> Result<&'s mut api_types::LoadBalancer, responses::NotFound> {
    let reference = reference.as_str();
    let mut all = state.load_balancers.iter_mut();
    all.find(|found| found.id.as_str() == reference || found.name.as_str() == reference)
        .ok_or_else(not_found)
}

fn summary(full: &api_types::LoadBalancer) -> LoadBalancerSummary {
    let full = full.clone();
    let mut summary = LoadBalancerSummary::from(LoadBalancerSummaryFields {
        algorithm: full.algorithm,
        dst_port: full.dst_port,
        health_check_endpoint: full.health_check_endpoint,
        health_check_protocol: full.health_check_protocol,
        hostname: full.hostname,
        id: full.id,
        location: full.location,
        name: full.name,
        src_port: full.src_port,
    });
    summary.stack = full.stack;
    summary.cert_enabled = full.cert_enabled;
    summary
}
