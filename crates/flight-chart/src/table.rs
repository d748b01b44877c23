//! Tables with escaped cells.

use crate::text::escape;

/// What a column holds, which decides how its cells are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column<'a> {
    /// The head of a column of words.
    Text(&'a str),
    /// The head of a column of numbers, set to the right.
    Number(&'a str),
}

impl Column<'_> {
    /// The attribute that sets the cells of this column.
    fn class(self) -> &'static str {
        match self {
            Self::Text(_) => "",
            Self::Number(_) => " class=\"number\"",
        }
    }

    fn head(self) -> String {
        let (Self::Text(name) | Self::Number(name)) = self;
        format!("<th scope=\"col\"{}>{}</th>", self.class(), escape(name))
    }
}

/// A table under `title`; a row's missing cells are empty, and cells beyond the columns left out.
pub fn table(title: &str, columns: &[Column<'_>], rows: &[Vec<String>]) -> String {
    let heads: String = columns.iter().map(|column| column.head()).collect();
    let body: String = rows.iter().map(|row| body_row(columns, row)).collect();
    let body = if rows.is_empty() {
        format!("<tr><td colspan=\"{}\" class=\"empty\">No data</td></tr>\n", columns.len().max(1))
    } else {
        body
    };
    format!(
        "<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>{heads}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n",
        escape(title)
    )
}

fn body_row(columns: &[Column<'_>], row: &[String]) -> String {
    let cell = |(index, column): (usize, &Column<'_>)| {
        let text = row.get(index).map_or("", String::as_str);
        format!("<td{}>{}</td>", column.class(), escape(text))
    };
    format!("<tr>{}</tr>\n", columns.iter().enumerate().map(cell).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: &[&[&str]], body: &str) {
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        let html = table("<t>", &[Column::Text("a&b"), Column::Number("n")], &rows);
        assert_eq!(
            html,
            format!(
                "<div class=\"scroll\"><table>\n<caption>&lt;t&gt;</caption>\n\
                 <thead><tr><th scope=\"col\">a&amp;b</th>\
                 <th scope=\"col\" class=\"number\">n</th></tr></thead>\n\
                 <tbody>\n{body}</tbody>\n</table></div>\n"
            )
        );
    }

    #[test]
    fn cells_are_escaped_and_numbers_set_to_the_right() {
        check(
            &[&["<script>", "1"]],
            "<tr><td>&lt;script&gt;</td><td class=\"number\">1</td></tr>\n",
        );
    }

    #[test]
    fn every_row_has_as_many_cells_as_there_are_columns() {
        let one = "<tr><td>x</td><td class=\"number\"></td></tr>\n";
        let three = "<tr><td>x</td><td class=\"number\">y</td></tr>\n";
        check(&[&["x"], &["x", "y", "z"]], &format!("{one}{three}"));
    }

    #[test]
    fn no_rows_are_said_in_words() {
        check(&[], "<tr><td colspan=\"2\" class=\"empty\">No data</td></tr>\n");
    }
}
