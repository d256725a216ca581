//! What do SQL statements and the commands of database shells do? `SELECT` and its kin read; statements and functions
//! that are not on a list of reading ones do not.

use super::say;
use crate::assess::reading::{Arg, Inflow, Invocation, Reading, Value};
use crate::assess::{Class, Code, Span};

/// Whose SQL it is: quoting, comments and shell commands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Duckdb,
    Postgres,
    Mysql,
}

/// Functions and keywords that may stand before `(` in a statement that reads.
const READING: &str = " abs acos age all and any any_value array array_agg array_length array_to_string as asin atan \
    atan2 avg between bit_count bit_length bool_and bool_or by case cast ceil ceiling char char_length character_length \
    chr coalesce col_description concat concat_ws convert cos count cume_dist curdate current_database current_date \
    current_schema current_setting current_time current_timestamp current_user database date date_add date_diff \
    date_format date_part date_sub date_trunc datediff datetime day dayname dayofweek decode degrees dense_rank distinct \
    else encode end ends_with epoch except exists exp explain extract field filter find_in_set first_value floor \
    format format_type from from_unixtime generate_series glob greatest group_concat grouping group having hex hour if ifnull \
    iif in instr intersect interval is isnull join json json_agg json_array json_array_length json_build_object json_each \
    json_extract json_extract_path json_extract_path_text json_group_array json_group_object json_length json_object \
    json_object_keys json_pretty json_quote json_tree json_type json_valid jsonb_agg jsonb_array_elements jsonb_each \
    jsonb_object_keys jsonb_pretty julianday key_column_usage lag last_day last_value lateral lcase lead least left \
    length like limit list ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_date max md5 median \
    mid min minute mod mode month monthname not now nth_value ntile nullif numeric obj_description octet_length offset \
    on or order over partition percent_rank percentile_cont percentile_disc pg_column_size pg_database_size \
    pg_get_constraintdef pg_get_functiondef pg_get_indexdef pg_get_userbyid pg_get_viewdef pg_indexes_size \
    pg_relation_size pg_size_pretty pg_table_size pg_total_relation_size pg_typeof position pow power pragma_index_info \
    pragma_index_list pragma_table_info pragma_table_list pragma_foreign_key_list printf quarter quote radians random \
    rank range recursive regexp regexp_count regexp_extract regexp_like regexp_match regexp_matches regexp_replace \
    regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right round row row_number rpad \
    rtrim schema second select sign sin some split_part sqlite_version sqrt starts_with std stddev str_to_date \
    strftime string_agg string_split string_to_array strpos struct_pack substr substring substring_index sum tan then time \
    timediff timestamp timestampdiff to_char to_date to_number to_timestamp total to_json to_jsonb translate trim trunc typeof ucase \
    union unicode unistr unix_timestamp unixepoch unnest upper user using uuid values var_pop variance varchar version \
    week weekday when where window with year zeroblob ";

/// Words that change something wherever they stand outside quotes.
const CHANGING: &str = " insert update delete merge replace into create drop alter truncate call execute exec grant \
    revoke attach detach load install copy export import vacuum reindex lock do set outfile dumpfile share ";

/// Pragmas that only report.
const PRAGMAS: &str = " collation_list compile_options database_list encoding foreign_key_check foreign_key_list \
    freelist_count function_list index_info index_list index_xinfo integrity_check module_list page_count page_size \
    pragma_list quick_check schema_version show_tables stats table_info table_list table_xinfo user_version version \
    show database_size storage_info ";

fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|row| row == word)
}

/// Reads SQL of `sqlite3`, with its dot commands.
pub fn sqlite(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    expression(Dialect::Sqlite, expr, at, out);
}

/// Reads SQL of `duckdb`, with its dot commands.
pub fn duckdb(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    expression(Dialect::Duckdb, expr, at, out);
}

/// Reads SQL of `psql`, with its backslash commands.
pub fn postgres(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    expression(Dialect::Postgres, expr, at, out);
}

/// Reads SQL of `mysql`, with its client commands.
pub fn mysql(expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    expression(Dialect::Mysql, expr, at, out);
}

fn expression(dialect: Dialect, expr: &Arg, at: &Invocation<'_>, out: &mut Reading) {
    let Some(text) = expr.text() else {
        return out.opaque(Class::Write, expr.span, "the SQL is not known before it runs: it could change data");
    };
    let mut reader = Reader { dialect, span: expr.span, at, out };
    if let Err(why) = reader.read(text) {
        out.lost(Class::Write, expr.span, format!("the SQL was not understood: {why}"));
    }
}

/// A piece of a statement.
#[derive(Debug)]
enum Piece<'a> {
    /// A bare word, in lower case.
    Word(String),
    /// A quoted name or text.
    Quoted(&'a str),
    Sign(char),
}

struct Reader<'a, 'b> {
    dialect: Dialect,
    span: Span,
    at: &'a Invocation<'b>,
    out: &'a mut Reading,
}

impl Reader<'_, '_> {
    fn read(&mut self, text: &str) -> Result<(), &'static str> {
        let mut statement: Vec<Piece<'_>> = Vec::new();
        let mut rest = text;
        let mut line_start = true;
        while let Some(c) = rest.chars().next() {
            let starts = std::mem::replace(&mut line_start, false);
            if statement.is_empty() && starts && c == '.' && self.has_dot_commands() {
                let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
                self.dot(line);
                rest = after;
                line_start = true;
                continue;
            }
            let taken = match c {
                '\n' => {
                    line_start = true;
                    1
                }
                _ if c.is_ascii_whitespace() => {
                    line_start = starts;
                    1
                }
                ';' => {
                    self.statement(&std::mem::take(&mut statement));
                    line_start = starts;
                    1
                }
                // MySQL wants a blank after the dashes, or they are two minus signs.
                '-' if rest.starts_with("--")
                    && (self.dialect != Dialect::Mysql || rest[2..].chars().next().is_none_or(char::is_whitespace)) =>
                {
                    line_length(rest)
                }
                '#' if self.dialect == Dialect::Mysql => line_length(rest),
                '/' if rest.starts_with("/*") => self.comment(rest)?,
                '\'' | '"' | '`' => self.quoted(rest, c, &mut statement)?,
                '[' if self.dialect == Dialect::Sqlite => {
                    let end = rest.find(']').ok_or("a `[` without `]`")?;
                    statement.push(Piece::Quoted(&rest[1..end]));
                    end + 1
                }
                '$' if self.dialect == Dialect::Postgres => dollar(rest, &mut statement)?,
                '\\' => self.backslash(rest, &mut statement)?,
                _ if c.is_alphanumeric() || c == '_' => {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                    statement.push(Piece::Word(rest[..end].to_lowercase()));
                    end
                }
                _ => {
                    statement.push(Piece::Sign(c));
                    c.len_utf8()
                }
            };
            rest = rest.get(taken..).ok_or("text that ends early")?;
        }
        self.statement(&statement);
        Ok(())
    }

    fn has_dot_commands(&self) -> bool {
        match self.dialect {
            Dialect::Sqlite | Dialect::Duckdb => true,
            Dialect::Postgres | Dialect::Mysql => false,
        }
    }

    fn comment(&self, rest: &str) -> Result<usize, &'static str> {
        if self.dialect == Dialect::Mysql
            && (rest.starts_with("/*!") || rest.starts_with("/*M!") || rest.starts_with("/*+"))
        {
            return Err("a comment that MySQL runs");
        }
        let inner = rest.get(2..).unwrap_or("");
        let end = inner.find("*/").ok_or("a comment has no end")?;
        // PostgreSQL nests comments, the others do not.
        if inner[..end].contains("/*") { Err("a comment inside a comment") } else { Ok(end + 4) }
    }

    fn quoted<'t>(&self, rest: &'t str, quote: char, statement: &mut Vec<Piece<'t>>) -> Result<usize, &'static str> {
        let body = &rest[1..];
        let mut from = 0;
        loop {
            let end = from + body[from..].find(quote).ok_or("a quoted text has no end")?;
            if body[from..end].contains('\\') && self.dialect != Dialect::Sqlite && self.dialect != Dialect::Duckdb {
                return Err("a backslash in a quoted text");
            }
            if body[end + 1..].starts_with(quote) {
                from = end + 2;
                continue;
            }
            statement.push(Piece::Quoted(&body[..end]));
            return Ok(end + 2);
        }
    }

    fn raise(&mut self, class: Class, text: String) {
        let code = if class == Class::Destructive { Code::Destroys } else { Code::ChangesState };
        self.out.raise(code, class, self.span, text);
    }

    fn statement(&mut self, pieces: &[Piece<'_>]) {
        let word = |i: usize| match pieces.get(i) {
            Some(Piece::Word(word)) => word.as_str(),
            Some(Piece::Quoted(_) | Piece::Sign(_)) | None => "",
        };
        if pieces.is_empty() {
            return;
        }
        let first = if matches!(pieces[0], Piece::Sign('(')) { word(1) } else { word(0) };
        let has = |wanted: &str| pieces.iter().any(|piece| matches!(piece, Piece::Word(word) if word == wanted));
        self.addresses(pieces);
        match first {
            "select" | "with" | "values" | "explain" | "show" | "desc" | "describe" | "table" | "from"
            | "summarize" => {
                self.reading(pieces);
            }
            "begin" | "commit" | "rollback" | "end" | "start" | "use" | "help" | "abort" => {}
            "pragma" => self.pragma(pieces),
            "drop" => {
                let what = word(1);
                let small = matches!(what, "index" | "view" | "trigger" | "function" | "procedure" | "sequence");
                let class = if small { Class::Write } else { Class::Destructive };
                self.raise(class, format!("`DROP {}` cannot be undone", what.to_uppercase()));
            }
            "truncate" => self.raise(Class::Destructive, "`TRUNCATE` empties a table".to_owned()),
            "delete" | "update" if !has("where") => {
                self.raise(Class::Destructive, format!("`{}` without WHERE changes every row", first.to_uppercase()));
            }
            "install" => {
                self.out.raise(Code::Installs, Class::Install, self.span, "`INSTALL` fetches an extension");
            }
            "copy" => self.copy(pieces),
            "system" | "source" | "tee" | "pager" | "edit" if self.dialect == Dialect::Mysql => {
                self.out.opaque(Class::Write, self.span, format!("the client command `{first}` runs or writes"));
            }
            "" => self.raise(Class::Write, "a statement that begins with no word".to_owned()),
            _ => self.raise(Class::Write, format!("`{}` is not a statement that only reads", first.to_uppercase())),
        }
    }

    /// Texts that name another machine: DuckDB reads and writes through them.
    fn addresses(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces {
            if let (Piece::Quoted(text), Dialect::Duckdb) = (piece, self.dialect)
                && text.contains("://")
            {
                self.out.reaches(&Value::Known((*text).to_owned()), self.span, "DuckDB");
            }
        }
    }

    fn reading(&mut self, pieces: &[Piece<'_>]) {
        for (i, piece) in pieces.iter().enumerate() {
            let next_opens = matches!(pieces.get(i + 1), Some(Piece::Sign('(')));
            match piece {
                Piece::Word(word) if listed(CHANGING, word) && !(next_opens && matches!(word.as_str(), "replace")) => {
                    // `FOR SHARE` and `FOR UPDATE` lock rows; a column of such a name is rare enough to ask.
                    self.raise(Class::Write, format!("`{}` in the statement changes data", word.to_uppercase()));
                }
                Piece::Word(word) if next_opens && !self.reads(word) => {
                    self.raise(Class::Write, format!("the function {} is not known to only read", say::cut(word)));
                }
                Piece::Quoted(name) if next_opens => {
                    self.raise(Class::Write, format!("the function {} is not known to only read", say::cut(name)));
                }
                Piece::Word(_) | Piece::Quoted(_) | Piece::Sign(_) => {}
            }
        }
    }

    fn reads(&self, word: &str) -> bool {
        let files = matches!(word, "read_csv" | "read_csv_auto" | "read_parquet" | "read_json" | "read_json_auto")
            && self.dialect == Dialect::Duckdb;
        files || word.bytes().all(|b| b.is_ascii_digit()) || listed(READING, word)
    }

    fn pragma(&mut self, pieces: &[Piece<'_>]) {
        let sets = pieces.iter().any(|piece| matches!(piece, Piece::Sign('=')));
        // `PRAGMA schema.name(…)`
        let names = pieces.iter().skip(1).take_while(|piece| !matches!(piece, Piece::Sign('(' | '=')));
        let last = names.filter_map(|piece| match piece {
            Piece::Word(word) => Some(word.as_str()),
            Piece::Quoted(_) | Piece::Sign(_) => None,
        });
        let name = last.last().unwrap_or("");
        let given = pieces.iter().any(|piece| matches!(piece, Piece::Sign('(')));
        let counts = given && matches!(name, "user_version" | "schema_version" | "encoding" | "page_size");
        if sets || counts || !listed(PRAGMAS, name) {
            self.raise(Class::Write, format!("`PRAGMA {name}` can change the database"));
        }
    }

    /// `COPY … TO 'f'`, `TO PROGRAM 'cmd'`, `TO STDOUT`
    fn copy(&mut self, pieces: &[Piece<'_>]) {
        let position =
            |wanted: &str| pieces.iter().position(|piece| matches!(piece, Piece::Word(word) if word == wanted));
        if let Some(at) = position("program") {
            if let Some(Piece::Quoted(command)) = pieces.get(at + 1) {
                let text = Arg::known(*command, self.span);
                self.out.runs_shell("COPY … PROGRAM", text, self.at, Inflow::Data);
            }
            return self.raise(Class::Write, "`COPY … PROGRAM` runs a command".to_owned());
        }
        match position("to").and_then(|at| pieces.get(at + 1)) {
            Some(Piece::Word(word)) if word == "stdout" => self.reading(&pieces[1..]),
            Some(Piece::Quoted(path)) => {
                self.out.writes(&Value::Known((*path).to_owned()), self.span, "`COPY … TO`");
                self.raise(Class::Write, "`COPY` writes a file".to_owned());
            }
            Some(_) | None => self.raise(Class::Write, "`COPY` changes data".to_owned()),
        }
    }

    /// One dot command of `sqlite3` or `duckdb`.
    fn dot(&mut self, line: &str) {
        const QUIET: &str = " .tables .schema .headers .header .mode .databases .indexes .indices .dump .fullschema .help \
            .show .width .separator .nullvalue .echo .timer .stats .quit .exit .bail .explain .eqp .print .prompt \
            .version .vfslist .limit .lint .changes .timeout .sha3sum .scanstats .progress .columns .maxrows \
            .maxwidth .rows .highlight .dbinfo .dbconfig_show ";
        let mut words = line.split_ascii_whitespace();
        let name = words.next().unwrap_or("");
        let value = line.trim_start().strip_prefix(name).unwrap_or("").trim();
        match name {
            _ if listed(QUIET, name) => {}
            ".output" | ".once" | ".log" | ".trace" => {
                if let Some(command) = value.strip_prefix('|') {
                    let text = Arg::known(command, self.span);
                    self.out.runs_shell(&format!("`{name}`"), text, self.at, Inflow::Data);
                } else if !matches!(value, "" | "stdout" | "stderr" | "off") {
                    let file = value.trim_matches(['"', '\'']).to_owned();
                    self.out.writes(&Value::Known(file), self.span, &format!("`{name}`"));
                }
            }
            ".shell" | ".system" => {
                self.out.runs_shell(&format!("`{name}`"), Arg::known(value, self.span), self.at, Inflow::Inherited);
            }
            ".read" | ".load" => {
                self.out.opaque(Class::Write, self.span, format!("`{name}` loads code that is not known"));
            }
            _ => self.raise(Class::Write, format!("{} is not a dot command that only shows", say::cut(name))),
        }
    }

    /// A backslash outside quotes: a command of the `psql` or `mysql` client.
    fn backslash(&mut self, rest: &str, statement: &mut Vec<Piece<'_>>) -> Result<usize, &'static str> {
        let end = line_length(rest);
        let line = &rest[..end];
        let name_end =
            line[1..].find(|c: char| c.is_ascii_whitespace() || c == '\\' || c == ';').map_or(line.len(), |at| at + 1);
        let name = &line[1..name_end];
        let value = line[name_end..].trim();
        match self.dialect {
            Dialect::Sqlite | Dialect::Duckdb => return Err("a backslash outside quotes"),
            Dialect::Mysql => match name.chars().next() {
                Some('G' | 'g' | 'q' | 'h' | '?' | 's' | 'c' | 'W' | 'w') if name.len() == 1 => {
                    self.statement(&std::mem::take(statement));
                    return Ok(2);
                }
                Some('!') => {
                    let command = line[2..].trim();
                    let text = Arg::known(command, self.span);
                    self.out.runs_shell("`\\!`", text, self.at, Inflow::Inherited);
                }
                Some(_) | None => return Err("a client command that runs, reads or writes files"),
            },
            Dialect::Postgres => {
                if let Some(command) = line.strip_prefix("\\!") {
                    let text = Arg::known(command.trim(), self.span);
                    self.out.runs_shell("`\\!`", text, self.at, Inflow::Inherited);
                    return Ok(end);
                }
                if line.contains('`') {
                    return Err("backquotes in a backslash command run a command");
                }
                if value.contains('\\') {
                    return Err("several backslash commands on one line");
                }
                self.meta(name, value, statement)?;
            }
        }
        Ok(end)
    }

    fn meta(&mut self, name: &str, value: &str, statement: &mut Vec<Piece<'_>>) -> Result<(), &'static str> {
        let base = name.trim_end_matches('+');
        let describes =
            base == "d" || base.starts_with('d') && base.len() <= 4 && base.bytes().all(|b| b.is_ascii_alphabetic());
        match base {
            "l" | "list" | "z" | "x" | "a" | "t" | "timing" | "conninfo" | "echo" | "qecho" | "q" | "h" | "?"
            | "encoding" | "sf" | "sv" | "p" | "r" | "pset" | "f" | "C" | "T" | "H" | "errverbose" | "copyright" => {}
            _ if describes => {}
            "g" | "gx" | "o" | "out" | "w" | "write" | "gdesc" | "watch" => {
                if let Some(command) = value.strip_prefix('|') {
                    let text = Arg::known(command, self.span);
                    self.out.runs_shell("psql `|`", text, self.at, Inflow::Data);
                } else if !value.is_empty() && base != "watch" {
                    self.out.writes(&Value::Known(value.to_owned()), self.span, "psql");
                }
                if base.starts_with('g') || base == "watch" {
                    self.statement(&std::mem::take(statement));
                }
            }
            "copy" => {
                let lower = value.to_ascii_lowercase();
                if lower.contains("program") {
                    return Err("`\\copy` with a program");
                }
                match lower.rfind(" to ") {
                    Some(at) if !matches!(lower[at + 4..].trim(), "stdout" | "pstdout") => {
                        let file = value[at + 4..].trim().split(['\'', ' ']).find(|word| !word.is_empty());
                        let file = file.unwrap_or("").to_owned();
                        self.out.writes(&Value::Known(file), self.span, "`\\copy`");
                        self.raise(Class::Write, "`\\copy` writes a file".to_owned());
                    }
                    Some(_) if !lower.contains("insert") && !lower.contains("delete") && !lower.contains("update") => {}
                    Some(_) | None => self.raise(Class::Write, "`\\copy` changes data".to_owned()),
                }
            }
            _ => return Err("a backslash command that runs or loads something"),
        }
        Ok(())
    }
}

fn line_length(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// `$tag$ … $tag$`, or a parameter `$1`.
fn dollar<'t>(rest: &'t str, statement: &mut Vec<Piece<'t>>) -> Result<usize, &'static str> {
    let tag_end = rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |at| at + 1);
    if !rest[tag_end..].starts_with('$') {
        return Ok(tag_end);
    }
    let tag = &rest[..=tag_end];
    let body = &rest[tag.len()..];
    let end = body.find(tag).ok_or("a dollar-quoted text has no end")?;
    statement.push(Piece::Quoted(&body[..end]));
    Ok(tag.len() + end + tag.len())
}

#[cfg(test)]
mod tests {
    use crate::assess::Class;
    use crate::assess::analyzers::testing::{language_class as class, language_reading as reading, nested};

    #[test]
    fn selecting_only_observes() {
        for (language, text) in [
            ("sqlite", "select count(*) from t where name = 'drop table x'"),
            ("sqlite", ".tables"),
            ("sqlite", ".mode box\nselect * from \"update\";"),
            ("sqlite", "pragma table_info(t)"),
            ("sqlite", "-- delete\nSELECT replace(a, 'x', 'y') FROM t; ; "),
            ("postgres", "SELECT now(); \\dt+ public.*"),
            ("postgres", "\\l"),
            ("postgres", "explain select 1"),
            ("postgres", "select $$drop table x$$"),
            ("mysql", "show tables; desc t\\G"),
            ("mysql", "select 1 # delete\n"),
            ("duckdb", "from 'a.csv' limit 3"),
            ("duckdb", "summarize select * from read_csv('a.csv')"),
            ("postgres", "copy t to stdout"),
            ("sqlite", "with a as (select 1) select * from a"),
            ("sqlite", ""),
        ] {
            assert_eq!(class(language, text), Class::Read, "{language}: {text}");
        }
    }

    #[test]
    fn everything_else_does_not() {
        for (language, text) in [
            ("sqlite", "insert into t values(1)"),
            ("sqlite", "select 1; update t set a=1 where b"),
            ("sqlite", "select writefile('f', x)"),
            ("sqlite", "select load_extension('x')"),
            ("sqlite", "attach 'y' as z"),
            ("sqlite", ".shell touch x"),
            ("sqlite", ".output f"),
            ("sqlite", ".once |sh"),
            ("sqlite", ".read f"),
            ("sqlite", ".sh id"),
            ("sqlite", "pragma journal_mode=wal"),
            ("sqlite", "pragma user_version(3)"),
            ("sqlite", "vacuum into 'f'"),
            ("sqlite", "select 'a"),
            ("sqlite", "select \"writefile\"('f', 1)"),
            ("postgres", "\\! touch x"),
            ("postgres", "\\o f"),
            ("postgres", "select 1 \\g f"),
            ("postgres", "copy t to program 'sh'"),
            ("postgres", "copy t to '/x'"),
            ("postgres", "\\set x `id`"),
            ("postgres", "\\i f"),
            ("postgres", "select pg_terminate_backend(1)"),
            ("postgres", "select 'a\\' ; drop table x --'"),
            ("postgres", "with a as (delete from t returning *) select * from a"),
            ("postgres", "select * into b from a"),
            ("postgres", "select 1 \\gexec"),
            ("mysql", "/*! drop table x */"),
            ("mysql", "select 1 into outfile 'f'"),
            ("mysql", "\\! id"),
            ("mysql", "source f"),
            ("mysql", "select 5--1; drop table x"),
            ("duckdb", "copy t to 'f'"),
        ] {
            assert!(class(language, text) >= Class::Write, "{language}: {text}");
        }
        for text in
            ["drop table x", "DROP DATABASE y", "truncate t", "delete from t", "select 1; drop schema s cascade"]
        {
            assert_eq!(class("postgres", text), Class::Destructive, "{text}");
        }
        assert_eq!(class("duckdb", "from 'https://h/a.csv'"), Class::Network);
        assert_eq!(class("duckdb", "install httpfs"), Class::Install);
        assert_eq!(nested(&reading("sqlite", ".shell rm -rf /")), ["sh: rm -rf /"]);
        assert_eq!(nested(&reading("postgres", "copy t from program 'id'")), ["sh: id"]);
    }
}
