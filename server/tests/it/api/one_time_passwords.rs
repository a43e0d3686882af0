//! Every field of the schema, queried by an administrator who has signed in with a one-time password.

use carillon::access::{Grants, Viewer, ViewerKind};
use entity::user::Role;
use serde_json::json;
use uuid::Uuid;

use super::{
    desk::Desk,
    walk::{Asked, Walk},
    walking::first_event,
};
use crate::support::{TestDatabase, on_both};

on_both!(nothing_but_the_question_who_i_am_is_answered_to_a_one_time_password);

const REQUIRED: &str = "PASSWORD_CHANGE_REQUIRED";

async fn nothing_but_the_question_who_i_am_is_answered_to_a_one_time_password(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let grants = Grants::everywhere(Role::Admin);
    let ada = Viewer::new(Uuid::from_u128(8), "ada", ViewerKind::User, grants, "192.0.2.8");
    let ada = ada.before_password_change();
    let me = desk.send_as(&ada, "{ me { name role mustChangePassword } }", json!({})).await;
    let expected = json!({ "me": { "name": "ada", "role": "VIEWER", "mustChangePassword": true } });
    assert_eq!(me.data.into_json().unwrap(), expected);

    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for Asked { name, text } in walk.fields(root).iter().filter(|asked| asked.name != "me") {
            let code = desk.code_for(&ada, &format!("{operation} {{ {text} }}"), json!({})).await;
            // Ada is not in the database, so she has no password to change.
            let expected = if name == "changePassword" { "NOT_FOUND" } else { REQUIRED };
            assert_eq!(code, expected, "{text}");
        }
    }
    for Asked { name, text } in walk.fields("Subscription") {
        let errors = first_event(&desk, Some(&ada), &text).await;
        assert_eq!(errors[0]["extensions"]["code"], REQUIRED, "{name}: {errors}");
    }
}
