//! The memory of this process, which holds the service and little else, with a million rows.

use crate::support::peak_kibibytes;
use crate::world::{EMPTY, Service, fill};

pub async fn run() {
    let service = Service::sqlite(EMPTY).await;
    fill(&service).await;
    for round in 0..200 {
        let after = format!("vm{:024}", round * 5000);
        for query in [
            format!("page_size=1000&start_after={after}"),
            "page_size=1000&order_column=name".to_owned(),
        ] {
            let response = service
                .call(1, "GET", &format!("/location/eu-central-h1/vm?{query}"))
                .await;
            assert_eq!(response.status(), 200);
            axum::body::to_bytes(response.into_body(), usize::MAX)
                .await
                .expect("the body can be collected");
            let response = service.call(1, "POST", "/inference-api-key").await;
            assert_eq!(response.status(), 200);
        }
    }
    println!(
        "\nmemory with 1,000,000 rows on SQLite, at most: {:.0} MiB",
        peak_kibibytes() / 1024.0
    );
}
