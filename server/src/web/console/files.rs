use std::path::Path;

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use tower::ServiceExt;
use tower_http::services::ServeDir;

use super::missing;

/// The location of the console's files.
#[derive(Clone, Debug)]
pub(in crate::web) enum Files {
    /// In a directory.
    Folder(ServeDir),
    /// In the binary.
    #[cfg_attr(not(feature = "embed"), expect(dead_code, reason = "needs the feature `embed`"))]
    Embedded(Router),
    /// There are no files.
    #[cfg_attr(
        feature = "embed",
        expect(dead_code, reason = "a console that is built in is never missing")
    )]
    Missing,
}

impl Files {
    /// The directory if one is configured, otherwise the files in the binary.
    pub(in crate::web) fn find(dist: Option<&Path>) -> Self {
        match dist {
            Some(dist) => Self::Folder(ServeDir::new(dist).append_index_html_on_directories(true)),
            None => embedded(),
        }
    }

    /// The response to a request for a file; 404 if there is none at that path.
    pub(in crate::web) async fn get(&self, request: Request) -> Response {
        match self {
            Self::Folder(folder) => match folder.clone().oneshot(request).await {
                Ok(response) => response.into_response(),
                Err(never) => match never {},
            },
            Self::Embedded(router) => match router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Self::Missing => missing::answer(request.uri().path()),
        }
    }
}

#[cfg(feature = "embed")]
#[expect(unused_qualifications, reason = "the generated list of files spells its paths out")]
fn embedded() -> Files {
    use memory_serve::CacheControl;
    // The console's own cache rule replaces these headers.
    let files = memory_serve::load!()
        .index_file(Some("/index.html"))
        .html_cache_control(CacheControl::NoCache)
        .cache_control(CacheControl::NoCache);
    Files::Embedded(files.into_router())
}

#[cfg(not(feature = "embed"))]
fn embedded() -> Files {
    Files::Missing
}
