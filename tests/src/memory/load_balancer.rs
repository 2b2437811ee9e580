//! The operations tagged `load_balancer`.

use api_server::load_balancer::{
    LoadBalancerApi, LoadBalancerDetachVmError, LoadBalancerDetachVmOk,
    LoadBalancerDetachVmRequest, LoadBalancerDetachVmResponse, LoadBalancerListError,
    LoadBalancerListRequest, LoadBalancerListResponse, LoadBalancerUpdateError,
    LoadBalancerUpdateOk, LoadBalancerUpdateRequest, LoadBalancerUpdateResponse,
    ProjectLoadBalancerListError, ProjectLoadBalancerListRequest, ProjectLoadBalancerListResponse,
};
use api_server::responses;
use api_types::{
    LoadBalancerPage, LoadBalancerSummary, LoadBalancerSummaryFields, OrderColumn, PageSize,
    Reference, StartAfter, Vm,
};

use super::{
    Caller, Memory, State, admit, admit_conditional, entity_tag, invalid, not_found, page,
};

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
