use serde_json::{Value, json};

use super::NamedAuditEvent;

/// The first line of the CSV form.
pub const CSV_HEAD: &str =
    "at,actor,source,namespace,action,subject,subject_id,reason,before,after,id\r\n";

/// An entry as a line of JSON.
pub fn json_line(entry: &NamedAuditEvent) -> String {
    let row = &entry.row;
    let line = json!({
        "id": row.id,
        "at": row.at.utc(),
        "actor": row.actor,
        "source": row.source,
        "namespace": entry.namespace,
        "action": row.action,
        "subject": row.subject,
        "subjectId": row.subject_id,
        "reason": row.reason,
        "before": row.before,
        "after": row.after,
    });
    format!("{line}\n")
}

/// An entry as a line of CSV (RFC 4180), safe to open in a spreadsheet.
pub fn csv_line(entry: &NamedAuditEvent) -> String {
    let row = &entry.row;
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
    let cells = [
        row.at.utc().to_rfc3339(),
        row.actor.clone(),
        row.source.clone(),
        entry.namespace.clone().unwrap_or_default(),
        row.action.clone(),
        row.subject.clone(),
        row.subject_id.map(|id| id.to_string()).unwrap_or_default(),
        row.reason.clone().unwrap_or_default(),
        json(&row.before),
        json(&row.after),
        row.id.to_string(),
    ];
    let line: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    line.join(",") + "\r\n"
}

/// A cell that a spreadsheet treats as text. An apostrophe precedes everything that could begin a
/// formula. That includes formulas inside the text, because a program that splits at another
/// character would see a new cell there.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut begins = true;
    for c in text.chars() {
        if begins && FORMULA.contains(&c) {
            safe.push('\'');
        }
        begins = ENDS.contains(&c);
        if c == '"' {
            safe.push(c);
        }
        safe.push(c);
    }
    if text.starts_with(['\t', '\r', '\n']) {
        safe.insert(0, '\'');
    }
    let needs_quotes = safe != text || text.contains(ENDS);
    if needs_quotes { format!("\"{safe}\"") } else { safe }
}

/// The characters with which formulas begin, including full-width ones.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
/// The characters that end a cell or line in some program.
const ENDS: [char; 5] = [',', ';', '\t', '\r', '\n'];

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_formula_becomes_text() {
        for bad in ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＋1", "－1", "＠a"] {
            assert_eq!(cell(bad), format!("\"'{bad}\""));
        }
        assert_eq!(cell("\t=1"), "\"'\t'=1\"");
        assert_eq!(cell("a;=1,＝2\n-3"), "\"a;'=1,'＝2\n'-3\"");
        let link = cell("=HYPERLINK(\"http://evil\")");
        assert_eq!(link, "\"'=HYPERLINK(\"\"http://evil\"\")\"");
    }

    #[test]
    fn a_cell_stays_one_cell() {
        assert_eq!(cell("plain"), "plain");
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("a\r\n1"), "\"a\r\n1\"");
        assert_eq!(cell("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
